package sale

import (
	"context"
	"errors"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// ErrNothing means that no sale is due.
var ErrNothing = errors.New("no sale is due")

// Claim is a claim on a sale and its account. Until its end no other worker can claim either.
type Claim struct {
	Account   merchant.ExchangeAccount
	InvoiceID string
	Coin      string
	// Nonce is higher than all nonces of earlier calls, and identifies the claim.
	Nonce int64
	Until time.Time
}

// Storage stores sales. It is safe for concurrent use, also by several processes.
type Storage interface {
	// ClaimSale claims the sale that has been due longest, with its merchant's account,
	// until a time. It returns ErrNothing if none is due. A sale with an open order is always
	// due. Others are due only while their invoice is paid, their merchant sells, and no order for
	// the same coin is open.
	ClaimSale(ctx context.Context, now, until time.Time) (Claim, error)
	// ReleaseSale ends a claim, unless it has expired.
	ReleaseSale(ctx context.Context, c Claim) error
	invoice.UnreadableStorage
}

// Invoices changes sales. *invoice.Service implements it.
type Invoices interface {
	Invoice(ctx context.Context, id string) (*invoice.Invoice, error)
	// UpdateSales changes an invoice's sales with decide, and stores them together with the
	// events that decide returns.
	UpdateSales(ctx context.Context, id string, decide func(*invoice.Invoice) ([]invoice.EventType, error)) (*invoice.Invoice, error)
}
