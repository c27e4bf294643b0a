package watcher

import (
	"context"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Storage is the storage of a watcher.
type Storage interface {
	// AcquireLease takes or renews the lease of a network for a holder. It returns the epoch, which
	// grows with every new holder, or invoice.ErrFenced while another holder renews the lease. A
	// caller takes over the lease of another holder when the caller's own calls have seen no renewal for ttl. now
	// is compared only with the times of the same caller's earlier calls, never with another
	// process's clock.
	AcquireLease(ctx context.Context, network chain.ID, holder string, now time.Time, ttl time.Duration) (epoch int64, err error)
	// ReleaseLease releases the lease of a network, if it still has the epoch, so that the next
	// holder gets it without waiting.
	ReleaseLease(ctx context.Context, network chain.ID, epoch int64) error
	// SaveProgress stores the progress of a network. It returns invoice.ErrFenced if the lease
	// is lost, or if the sequence of the lease is not greater than the stored one.
	SaveProgress(ctx context.Context, lease invoice.Lease, p invoice.Progress) error
	// Progress returns the progress of each network.
	Progress(ctx context.Context) (map[chain.ID]invoice.Progress, error)
	// Destinations calls add with each destination that was committed after the marks, possibly more
	// than once. With nil marks it calls add with all destinations that are still watched at the
	// scanned time. It returns the marks for the next call.
	Destinations(ctx context.Context, network chain.ID, since Marks, scanned time.Time, add func(Destination)) (Marks, error)
	// Rises calls add with each recorded rise of the balance of a destination that is still watched
	// at the scanned time.
	Rises(ctx context.Context, network chain.ID, scanned time.Time, add func(Rise)) error
	// StatedRefunds returns the newest transactions that merchants stated for refunds in a network's native coin and that are not
	// confirmed, while the refunds are still watched at the scanned time.
	StatedRefunds(ctx context.Context, network chain.ID, asset string, scanned time.Time) ([]chain.SentCoin, error)
	// TransfersAbove returns the transfers that are recorded in blocks above a height.
	TransfersAbove(ctx context.Context, network chain.ID, height int64) ([]chain.Transfer, error)
	// RecordedTransfers returns the transfers that a new scan may change, among them all in blocks above a height, see
	// invoice.Storage. The watcher must watch the outpoints that the unconfirmed transfers spend.
	RecordedTransfers(ctx context.Context, network chain.ID, above int64) ([]invoice.Recorded, error)
}

// Marks are positions in each merchant's feed of events up to which destinations are loaded.
type Marks map[string]int64

// Destination is a watched script.
type Destination struct {
	Script string
	invoice.Owner
	// Until is the scanned time of the network after which the destination is dropped.
	Until time.Time
	// Account is set if the network's native coin is expected and observed by balances.
	Account *Account
	// Refund is the ID of the refund of the invoice that is paid to the script; "" for the destinations of the invoice itself. Other
	// refunds may have the same script.
	Refund string
	// Request is set if the destination is a payment request whose payment is not recorded.
	Request *chain.PendingRequest
}

// Account describes a destination whose balance is watched.
type Account struct {
	Position int64        // position in the merchant's feed of the event that created the destination
	Birth    chain.Cursor // tip of the network when the invoice was created
}

// Rise is a recorded rise of a balance. If it has no block, it is no longer on the network.
type Rise struct {
	chain.Transfer
	Old bool // not newer than its invoice, see invoice.Transfer
}
