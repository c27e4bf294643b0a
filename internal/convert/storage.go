package convert

import (
	"context"
	"errors"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// ErrNothing means that nothing is due.
var ErrNothing = errors.New("nothing is to be sold")

// Claim is a conversion that is ours to work at, with the account that nobody else
// uses meanwhile.
type Claim struct {
	Account   merchant.ExchangeAccount
	InvoiceID string
	Coin      string
	// Nonce is higher than all numbers of calls before, and names the claim.
	Nonce int64
	Until time.Time
}

// Storage keeps what is to be sold. It is safe for concurrent use, by several
// processes too.
type Storage interface {
	// ClaimConversion takes the conversion that is due longest, with its merchant's
	// account, which nobody else gets until a time; ErrNothing. One whose order is on
	// its way is due whatever happens, others only while their invoice is paid, their
	// merchant sells, and no order for the same coin is on its way.
	ClaimConversion(ctx context.Context, now, until time.Time) (Claim, error)
	// ReleaseConversion ends a claim, unless it ran out.
	ReleaseConversion(ctx context.Context, c Claim) error
}

// Invoices changes conversions; *invoice.Service does.
type Invoices interface {
	Invoice(ctx context.Context, id string) (*invoice.Invoice, error)
	// Convert lets decide change an invoice's conversions, and makes that lasting with
	// the events that it tells of.
	Convert(ctx context.Context, id string, decide func(*invoice.Invoice) ([]invoice.EventType, error)) (*invoice.Invoice, error)
}
