package watcher

import (
	"context"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// Storage is what a watcher keeps.
type Storage interface {
	// AcquireLease takes or renews the lease of a network for a holder. It returns
	// the epoch, which grows with every new holder, or invoice.ErrFenced while
	// another holder renews the lease. The lease is taken over when the caller's
	// calls saw no renewal for ttl: now is only compared with the times of the same
	// holder's earlier calls, never with another process's clock.
	AcquireLease(ctx context.Context, network chain.ID, holder string, now time.Time, ttl time.Duration) (epoch int64, err error)
	// ReleaseLease gives up the lease of a network, if it is still the epoch's, so
	// that the next holder takes it without waiting.
	ReleaseLease(ctx context.Context, network chain.ID, epoch int64) error
	// SaveProgress writes how far a network was scanned, if the lease still holds
	// and its sequence is newer than the saved one; else invoice.ErrFenced.
	SaveProgress(ctx context.Context, lease invoice.Lease, p invoice.Progress) error
	// Progress tells how far each network was scanned.
	Progress(ctx context.Context) (map[chain.ID]invoice.Progress, error)
	// Destinations tells one by one, perhaps more than once, what was committed
	// since the marks of the last call, by merchant; nil marks tell all that is
	// still watched at the scanned time. The new marks are for the next call.
	Destinations(ctx context.Context, network chain.ID, since Marks, scanned time.Time, add func(Destination)) (Marks, error)
	// Rises tells one by one which rises of balances are recorded for destinations that
	// are still watched at the scanned time.
	Rises(ctx context.Context, network chain.ID, scanned time.Time, add func(Rise)) error
	// TransfersAbove lists the transfers that are recorded in blocks above a height.
	TransfersAbove(ctx context.Context, network chain.ID, height int64) ([]chain.Transfer, error)
	// RecordedTransfers lists unfinished transfers, for the outpoints to watch.
	RecordedTransfers(ctx context.Context, network chain.ID, above int64) ([]invoice.Recorded, error)
}

// Marks are positions in each merchant's feed of events, up to which
// destinations are loaded.
type Marks map[string]int64

// Destination is a script to look for.
type Destination struct {
	Script string
	invoice.Owner
	// Until is when it is dropped: the network's scanned time past it.
	Until time.Time
	// Account is set where the network's own coin is expected and seen by balances.
	Account *Account
}

// Account is what is known of a destination whose balance is looked at.
type Account struct {
	Born  int64        // position in the merchant's feed
	Birth chain.Cursor // the network's tip then
}

// Rise is a recorded rise of a balance; without a block it is not on the network any
// more.
type Rise struct {
	chain.Transfer
	Old bool // not younger than its invoice
}
