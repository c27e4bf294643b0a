package invoice

import (
	"context"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Storage stores invoices durably. Every method is safe for concurrent use, and a change survives a
// crash once the method has returned without an error. The functions passed to it are pure: they
// may run more than once, each time on newly read data, and must not call storage.
type Storage interface {
	ListStorage
	// CreateInvoice runs a creation in one transaction: indexes, invoice, destinations and events
	// are written together or not at all. If the idempotency key was used before, it returns
	// the invoice of that request with replayed true, or ErrConflict if the body was different. It
	// also returns the invoice that OrderedInvoice finds, with replayed true, unless that is
	// Order.After. Otherwise it returns ErrNonceUsed if the nonce was used before, and ErrLinkUsed
	// if the link has reached its limit of invoices.
	CreateInvoice(ctx context.Context, c Creation) (inv *Invoice, replayed bool, err error)
	// CheckCreation returns what CreateInvoice would return now, without a change: an existing invoice with replayed true, or
	// an error. If CreateInvoice would build a new invoice, CheckCreation returns false and no error.
	CheckCreation(ctx context.Context, c Creation) (inv *Invoice, replayed bool, err error)
	// OrderedInvoice returns an invoice of an order: an invoice that is paid at the order's price,
	// otherwise another paid invoice, otherwise the newest invoice. It returns ErrNotFound if there is
	// none. Order.After is ignored.
	OrderedInvoice(ctx context.Context, o Order) (*Invoice, error)
	// Replay returns the invoice that was created with the creation's idempotency key. The errors are
	// ErrNotFound and ErrConflict.
	Replay(ctx context.Context, c Creation) (*Invoice, error)
	// Evidence returns the source data of prices by its name, or ErrNotFound.
	Evidence(ctx context.Context, name string) (string, error)
	// Invoice returns an invoice, or ErrNotFound, or an *UnreadableError.
	Invoice(ctx context.Context, id string) (*Invoice, error)
	// UpdateInvoice locks an invoice, lets decide change it, and writes it with its Events and
	// Evidence. If decide adds no events, only the facts are written; if it returns an error,
	// nothing is written. If the lease is not zero, UpdateInvoice returns ErrFenced unless it is
	// still held and its snapshot is newer than the saved snapshot.
	UpdateInvoice(ctx context.Context, id string, lease Lease, decide func(*Invoice) error) (*Invoice, error)
	// InvoiceTo returns the ID of the invoice with the destination script, or ErrNotFound.
	InvoiceTo(ctx context.Context, network chain.ID, script string) (id string, err error)
	// HasScript reports whether an invoice has a destination with a script on any network.
	HasScript(ctx context.Context, script string) (bool, error)
	// DueInvoices lists the invoices whose next check is at or before a time, most overdue first.
	DueInvoices(ctx context.Context, at time.Time, limit int) ([]string, error)
	UnreadableStorage
	// RecordedTransfers lists the transfers on a network that a new scan may change: present
	// transfers that are unconfirmed, not deep enough, or in a block above the height.
	RecordedTransfers(ctx context.Context, network chain.ID, above int64) ([]Recorded, error)
	// RecordedRefunds lists the payments of refunds on a network that a new scan may change: those that are unconfirmed, not deep
	// enough, or in a block above the height.
	RecordedRefunds(ctx context.Context, network chain.ID, above int64) ([]RecordedRefund, error)
	// RefundsPaidBy returns the invoice of each of the transfers on a network, by ID, that is recorded as the payment of a refund.
	RefundsPaidBy(ctx context.Context, network chain.ID, transfers []string) (map[string]string, error)
	// Progress returns the progress of each network.
	Progress(ctx context.Context) (map[chain.ID]Progress, error)
	// RecentProgress is Progress from a cache. It includes all saves of this process, and the saves
	// of other processes until 100 ms ago. The caller must not change the map.
	RecentProgress(ctx context.Context) (map[chain.ID]Progress, error)
}

// Creation describes a new invoice to be written.
type Creation struct {
	MerchantID string
	Mode       Mode
	Key        IdempotencyKey
	BodyHash   string // hash of the body of the request with this key
	At         time.Time
	Order      Order
	Link       LinkUse
	// Nonce is the nonce of a signed request. It counts as used only if the invoice is created.
	Nonce Nonce
	// UnpaidLimits are checked and counted in the transaction that writes the invoice;
	// CreateInvoice returns *TooManyUnpaidError for the first limit that is reached.
	UnpaidLimits []UnpaidLimit
	// Evidence is the source data of the prices, stored once under EvidenceName; "" means none.
	EvidenceName, Evidence string
	// PluginMetadata is stored as the PluginData of the invoice; empty means none.
	PluginMetadata []byte
	// Build returns the new invoice. It allocates indexes of wallet keys with next. If it returns an
	// error, no index is allocated.
	Build func(next NextIndex) (*Invoice, error)
}

// PluginData is the data that a shop plug-in keeps with an invoice. The rules do not use it.
type PluginData struct {
	Metadata   []byte    // JSON as the plug-in sent it; empty = none
	ArchivedAt time.Time // zero = not archived
}

// IdempotencyKey identifies a repeatable request of a merchant. Namespace is the kind of caller, so
// that keys from the merchant's API calls and keys from shoppers' browsers never collide. The zero value
// is no key.
type IdempotencyKey struct{ Namespace, Value string }

// IsZero reports whether there is no key.
func (k IdempotencyKey) IsZero() bool { return k.Value == "" }

// Order is an order named in a checkout link, unique for the key that signed the link. An order may
// have several invoices, one after the other. The zero value is no order.
type Order struct {
	KeyID string
	ID    string
	After string // ID of the newest invoice of the order that the caller knows; "" means none
	// Price is the price in the link. An invoice paid at this price is preferred to other paid
	// invoices of the order.
	Price money.Amount
}

// IsZero reports whether there is no order.
func (o Order) IsZero() bool { return o.ID == "" }

// LinkUse is the use of a merchant's checkout link by a creation. The zero value is no link.
type LinkUse struct {
	Slug string
	Max  int // largest number of invoices of the link that are paid or can still be paid; 0 means no limit
}

// Nonce is a value that a caller may use only once. The zero value is no nonce.
type Nonce struct {
	Key   string // ID of the caller's API key
	Value string
	TTL   time.Duration // time for which the nonce is remembered
}

// NextIndex allocates the next unused index of a wallet's key.
type NextIndex func(counter string) (uint32, error)

// Lease is the right of one process to record the facts of a network, for one snapshot. The zero Lease is
// for changes that need no such right: decisions and the expirer.
type Lease struct {
	Network  chain.ID
	Epoch    int64
	Sequence int64 // number of the snapshot that is recorded
}

// IsZero reports whether l is the zero lease.
func (l Lease) IsZero() bool { return l.Network == "" }

// Recorded is the part of a recorded transfer that a scan needs.
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
	Firm          bool
	Contested     bool
}

// UnpaidWindow is the age up to which an unpaid invoice counts towards an UnpaidLimit.
const UnpaidWindow = 15 * time.Minute

// UnpaidLimit limits the invoices created by callers that do not sign with the merchant's key. An
// invoice counts while its status is Created and it is younger than UnpaidWindow.
type UnpaidLimit struct {
	Group string // group of callers that are counted together; "" = all callers
	Max   int
}
