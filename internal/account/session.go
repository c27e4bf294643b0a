package account

import "time"

// Method is the sign-in method of a session.
type Method string

// The methods.
const (
	ByPasskey  Method = "passkey"
	ByPassword Method = "password and code"
	ByRecovery Method = "password and recovery code"
	ByTicket   Method = "link"
)

const (
	idleTimeout  = 12 * time.Hour
	totalTimeout = 14 * 24 * time.Hour
	stepUpTTL    = 10 * time.Minute
	// touchInterval is the smallest interval between two stored uses of a session.
	touchInterval = time.Minute
)

// Session is a signed-in browser. Only the hash of its token is stored.
type Session struct {
	Hash      string
	AccountID string
	Method    Method
	Client    Client
	CreatedAt time.Time
	UsedAt    time.Time // accurate to about a minute
	// SteppedUpAt is when the account last confirmed its sign-in; zero if it has not.
	SteppedUpAt time.Time
}

// Client is the browser of a session.
type Client struct {
	Address string // network address
	Browser string // short description
}

// Valid reports whether the session has not timed out.
func (s Session) Valid(now time.Time) bool {
	return now.Sub(s.UsedAt) < idleTimeout && now.Sub(s.CreatedAt) < totalTimeout
}

// Expiry returns the times that decide which sessions have timed out: those last used at lastUse or before, and those
// created at created or before.
func Expiry(now time.Time) (lastUse, created time.Time) {
	return now.Add(-idleTimeout), now.Add(-totalTimeout)
}

// SteppedUp reports whether the account confirmed its sign-in shortly before.
func (s Session) SteppedUp(now time.Time) bool {
	return !s.SteppedUpAt.IsZero() && now.Sub(s.SteppedUpAt) < stepUpTTL
}

// ID identifies the session in lists. It does not reveal the token.
func (s Session) ID() string { return s.Hash[:16] }
