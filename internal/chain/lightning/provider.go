package lightning

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"chequer/internal/chain/lightning/bolt11"
	"chequer/internal/format"
	"chequer/internal/guard"
)

// Provider makes payment requests and looks them up. All methods are safe for concurrent use. They return
// the errors of this package, among others. No error contains a secret.
type Provider interface {
	// Make makes a payment request. The caller checks it with Check.
	Make(ctx context.Context, ask Ask) (Made, error)
	// Look looks up a payment request that Make returned.
	Look(ctx context.Context, sought Sought) (Status, error)
	// Access returns the calls that the connection allows. It asks the provider, so it is also a sign of life.
	Access(ctx context.Context) (Access, error)
}

// ProviderConfig is the configuration of a Provider.
type ProviderConfig struct {
	Connection Connection
	Dialer     guard.Connector
	// TLS is the configuration of connections with TLS; nil trusts the certificates of the system. It is not used if
	// the connection names a certificate.
	TLS *tls.Config
	Now func() time.Time
	Log *slog.Logger
}

// UnusedHash is the payment hash of no request: the SHA-256 of the empty text. A preimage has 32 bytes.
const UnusedHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// CheckUnused checks the error of a lookup of UnusedHash, by which a provider shows that it answers lookups. It
// returns nil for ErrUnknown.
func CheckUnused(err error) error {
	switch {
	case errors.Is(err, ErrUnknown):
		return nil
	case err == nil:
		return errors.New("the server shows a request that does not exist")
	}
	return err
}

// maxQuoted bounds the length of a text of a provider in an error, in characters.
const maxQuoted = 120

// Quote returns the beginning of a text of a provider, in one line, for an error.
func Quote(text string) string { return format.OneLine(text, maxQuoted) }

// Waker is a Provider that signals payments. A signal is a hint to look up requests: it may be missing, and it
// credits nothing.
type Waker interface {
	// Run receives notifications until the context ends.
	Run(ctx context.Context) error
	// Wake returns the channel of the signals.
	Wake() <-chan struct{}
	// Notified returns the payment hashes of the payments that were notified since the last call. all is true if other payments
	// may have been missed.
	Notified() (hashes []string, all bool)
	// Subscribed reports whether notifications are received now.
	Subscribed() bool
}

// Ask describes a payment request to be made.
type Ask struct {
	MilliSatoshi int64
	// Memo is the description for the payer. A Lightning address has its own.
	Memo string
	// Expiry is the time until the request ends. A Lightning address chooses its own.
	Expiry time.Duration
}

// Made is a payment request that a provider made.
type Made struct {
	Text string
	// Hash is the payment hash in hexadecimal digits, as the provider names it. It is empty if the provider does
	// not name it.
	Hash string
	// LookupURL is the URL of LUD-21 for a Lightning address, else empty.
	LookupURL string
}

// Sought is a payment request to be looked up.
type Sought struct {
	Hash      string // payment hash, in hexadecimal digits
	Text      string // the request; may be empty
	LookupURL string // see Made
}

// Status is the state of a payment request. The zero Status is not settled.
type Status struct {
	Settled bool
	// MilliSatoshi is the amount received, 0 if the provider does not name it.
	MilliSatoshi int64
	// SettledAt is the provider's time of the settlement, zero if the provider does not name it.
	SettledAt time.Time
}

// Access is the set of calls that a connection allows.
type Access struct {
	// Spending is the permission by which the connection may spend, "" if it may only receive.
	Spending string
	// Least and Most bound the amounts of requests, in millisatoshi; 0 if there is no bound.
	Least, Most int64
}

// minLife is the least time that a payment request must last.
const minLife = time.Minute

// Check returns the payment request that a provider made for an ask, or an error if shoppers cannot use it.
// network is the currency prefix of the requests, such as "bc".
func Check(made Made, ask Ask, network string, now time.Time) (bolt11.Request, error) {
	r, err := bolt11.Parse(made.Text)
	if err != nil {
		return bolt11.Request{}, err
	}
	switch hash := hex.EncodeToString(r.PaymentHash[:]); {
	case made.Hash != "" && !strings.EqualFold(made.Hash, hash):
		return bolt11.Request{}, fmt.Errorf("%w: the payment request has another payment hash than named", ErrFault)
	case r.Network != network:
		return bolt11.Request{}, fmt.Errorf("the payment request is for the network %q, want %q", "ln"+r.Network, "ln"+network)
	case r.MilliSatoshi != ask.MilliSatoshi:
		return bolt11.Request{}, fmt.Errorf("the payment request asks %d msat, want %d msat", r.MilliSatoshi, ask.MilliSatoshi)
	case r.Ends().Before(now.Add(minLife)):
		err := fmt.Errorf("the payment request ends at %s, in less than %s", r.Ends().Format(time.RFC3339), minLife)
		if lag := now.Sub(r.Time).Round(time.Second); lag > minLife {
			err = fmt.Errorf("%w: it states that it was made %s ago; compare the clocks of the provider and of this computer", err, lag)
		}
		return bolt11.Request{}, err
	}
	return r, nil
}

// CheckPreimage returns an error if the preimage of a settled request does not belong to its payment hash. Both
// are in hexadecimal digits. An empty preimage is not checked. The error does not contain the preimage.
func CheckPreimage(preimage, hash string) error {
	if preimage == "" {
		return nil
	}
	raw, err := hex.DecodeString(preimage)
	if sum := sha256.Sum256(raw); err != nil || !strings.EqualFold(hex.EncodeToString(sum[:]), hash) {
		return fmt.Errorf("%w: the preimage of the settled request %s does not have its payment hash", ErrFault, hash)
	}
	return nil
}

// Canceller is a Provider that can cancel payment requests.
type Canceller interface {
	// Cancel makes a payment request that is not paid unpayable.
	Cancel(ctx context.Context, hash string) error
}
