package invoice

import (
	"context"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Storage makes invoices lasting. Every method is safe for concurrent use, and
// what a method returned without an error survives a crash. The functions given
// to it are pure: they may run more than once, each time on fresh data, and
// must not call storage.
type Storage interface {
	// CreateInvoice runs a creation in one transaction: indexes, invoice,
	// destinations and events are written together or not at all. When the
	// idempotency key is known, the invoice made then is returned and replayed is
	// true, as is the invoice that the creation's order leads to unless Order.After
	// is it; ErrConflict means that it was used with another body. Otherwise the
	// nonce must be unused: ErrNonceUsed. ErrLinkUsed means that the creation's link makes no
	// more invoices.
	CreateInvoice(ctx context.Context, c Creation) (inv *Invoice, replayed bool, err error)
	// OrderedInvoice returns the invoice that an order leads to: one that is paid at
	// the order's price, else one that is paid, else the newest; ErrNotFound. After is
	// ignored.
	OrderedInvoice(ctx context.Context, o Order) (*Invoice, error)
	// Replay finds the invoice that was made with the creation's idempotency key;
	// ErrNotFound, ErrConflict.
	Replay(ctx context.Context, c Creation) (*Invoice, error)
	// Evidence reads evidence by its name; ErrNotFound.
	Evidence(ctx context.Context, name string) (string, error)
	// Invoice reads an invoice; ErrNotFound.
	Invoice(ctx context.Context, id string) (*Invoice, error)
	// UpdateInvoice locks an invoice, lets decide change it, and writes it with
	// its Events and Evidence. When decide leaves it without events, only its facts are
	// written; an error of decide writes nothing. A lease that is not zero must
	// still hold, and its snapshot be newer than the saved one: ErrFenced.
	UpdateInvoice(ctx context.Context, id string, lease Lease, decide func(*Invoice) error) (*Invoice, error)
	// Invoices lists the invoices of a filter behind a place, newest first.
	Invoices(ctx context.Context, f Filter, after Place, limit int) ([]*Invoice, error)
	// InvoiceTo finds the invoice that a script is the destination of; ErrNotFound.
	InvoiceTo(ctx context.Context, network chain.ID, script string) (id string, err error)
	// DueInvoices lists invoices whose next check is not after a time, most
	// overdue first.
	DueInvoices(ctx context.Context, at time.Time, limit int) ([]string, error)
	// RecordedTransfers lists the transfers on a network that a new scan may
	// change: present ones that are unconfirmed, not deep enough, or in a block
	// above the height.
	RecordedTransfers(ctx context.Context, network chain.ID, above int64) ([]Recorded, error)
	// Progress tells how far each network was scanned.
	Progress(ctx context.Context) (map[chain.ID]Progress, error)
	// RecentProgress is Progress as it was when this process last saved any or
	// later, and where others save, at most 100 ms ago. It must not be changed.
	RecentProgress(ctx context.Context) (map[chain.ID]Progress, error)
}

// Creation is a new invoice to be written.
type Creation struct {
	MerchantID string
	Key        IdempotencyKey
	BodyHash   string // of the request the key was used with
	At         time.Time
	Order      Order
	Link       LinkUse
	// Nonce of a signed request is used up with the creation, or not at all.
	Nonce Nonce
	// UnpaidLimits are checked and counted in the transaction that writes the
	// invoice; CreateInvoice returns *TooManyUnpaidError for the first one reached.
	Mode         Mode
	UnpaidLimits []UnpaidLimit
	// Evidence is what the prices rest on, kept once under its name; "" = nothing.
	EvidenceName, Evidence string
	// Build makes the invoice. It takes the indexes it needs from next, which
	// counts per wallet key; an error uses none of them up.
	Build func(next NextIndex) (*Invoice, error)
}

// IdempotencyKey identifies a request that may be repeated, among those of its
// merchant. Namespace is the kind of caller: keys of the merchant's API and keys that
// shoppers' browsers send never meet. The zero value is no key.
type IdempotencyKey struct{ Namespace, Value string }

// IsZero reports whether k is no key.
func (k IdempotencyKey) IsZero() bool { return k.Value == "" }

// Order is one that a checkout link names, among those of the key that signed it.
// An order has one invoice after the other. The zero value is none.
type Order struct {
	KeyID string
	ID    string
	After string // its invoice that may have a follower; "" = none yet
	// Price is what the link asks. Of several paid invoices of an order, the one of
	// this price comes first.
	Price money.Amount
}

// IsZero tells whether there is no order.
func (o Order) IsZero() bool { return o.ID == "" }

// LinkUse is the use of a merchant's checkout link by a creation. The zero value is
// none.
type LinkUse struct {
	Slug string
	Max  int // invoices of the link that are paid or can still be; 0 any number
}

// Nonce is a number that a caller uses once, kept for a time. The zero value is
// none.
type Nonce struct {
	Key   string // of the caller
	Value string
	For   time.Duration
}

// NextIndex hands out the next unused index of a wallet's key.
type NextIndex func(counter string) (uint32, error)

// Lease is the right of one process to record what a network shows, for one
// snapshot. The zero lease is no claim: decisions of people and the clock.
type Lease struct {
	Network  chain.ID
	Epoch    int64
	Sequence int64 // of the snapshot being observed
}

// IsZero tells whether l claims nothing.
func (l Lease) IsZero() bool { return l.Network == "" }

// Recorded is what is known of a transfer, as far as a scan needs it.
type Recorded struct {
	InvoiceID     string
	ID            string
	Tx            string
	Script        string
	Asset         string
	Amount        money.Amount
	Spends        []string
	FirstSeen     time.Time // on the invoice's own clock
	BlockHash     string    // "" while unconfirmed
	BlockHeight   int64
	Confirmations int
	Required      int
	Folded        int // see Transfer
}
