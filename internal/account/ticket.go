package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"
)

// TicketKind is the purpose of a ticket.
type TicketKind string

// The kinds of tickets.
const (
	StartTicket      TicketKind = "start"      // creates the first owner
	InvitationTicket TicketKind = "invitation" // creates an account with fixed roles
	RecoveryTicket   TicketKind = "recovery"   // adds a sign-in method to an account
)

// lifetimes are the times for which tickets are valid.
var lifetimes = map[TicketKind]time.Duration{StartTicket: 30 * time.Minute, InvitationTicket: 48 * time.Hour, RecoveryTicket: 30 * time.Minute}

// Ticket is a link that is used once. Only the hash of its token is stored.
type Ticket struct {
	Hash      string
	ID        string // for lists
	Kind      TicketKind
	AccountID string          // of a recovery
	Roles     map[string]Role // of a start or an invitation
	CreatedBy string          // name of the actor
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Valid reports whether the ticket can be used at a time.
func (t Ticket) Valid(now time.Time) bool { return now.Before(t.ExpiresAt) }

const (
	ticketSize  = 16 // bytes
	sessionSize = 32
)

// newSecret returns a random token.
func newSecret(size int) string {
	b := make([]byte, size)
	rand.Read(b) // never fails; see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b)
}

// HashToken returns the hash with which the token of a ticket or a session is stored. A fast hash
// suffices, because tokens are random.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
