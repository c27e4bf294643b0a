package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// A lease is renewed by incrementing a counter in the database. A process that waits for the lease
// of another one polls the counter, and takes the lease over when the counter has not changed for
// the lease's duration on its own clock. Each process compares only readings of its own clock, so
// the clocks of several processes may differ by any amount.

// renewal is the state of a lease: a change means that its holder is alive.
type renewal struct{ epoch, count int64 }

// waiter identifies a process that waits for a lease.
type waiter struct {
	network chain.ID
	holder  string
}

// observation is a lease of another holder and the time at which this process first
// read it in this state.
type observation struct {
	renewal
	since time.Time
}

// observations holds the leases that processes wait for. The zero value is empty and ready to use.
// It is safe for concurrent use.
type observations struct {
	mu   sync.Mutex
	seen map[waiter]observation
}

// expired returns the state in which a lease may be taken over, or the zero renewal, which no lease
// has, if it must not be.
func (o *observations) expired(w waiter, now time.Time, ttl time.Duration) renewal {
	o.mu.Lock()
	defer o.mu.Unlock()
	if seen, ok := o.seen[w]; ok && now.Sub(seen.since) >= ttl {
		return seen.renewal
	}
	return renewal{}
}

// note records the state in which a lease of another holder was read. If the clock
// went back, the wait begins again.
func (o *observations) note(w waiter, state renewal, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if seen, ok := o.seen[w]; ok && seen.renewal == state && !now.Before(seen.since) {
		return
	}
	if o.seen == nil {
		o.seen = map[waiter]observation{}
	}
	o.seen[w] = observation{state, now}
}

// forget deletes the observation of a lease.
func (o *observations) forget(w waiter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, w)
}

// AcquireLease implements watcher.Storage.
func (s *Storage) AcquireLease(ctx context.Context, network chain.ID, holder string, now time.Time, ttl time.Duration) (int64, error) {
	w := waiter{network, holder}
	expired := s.leases.expired(w, now, ttl)
	type lease struct {
		renewal
		held bool
	}
	current, err := answer(ctx, s.write, func(ctx context.Context, q querier) (current lease, err error) {
		current.renewal, err = s.takeLease(ctx, q, w, expired)
		if current.held = err == nil; current.held || !errors.Is(err, sql.ErrNoRows) {
			return current, err
		}
		err = q.QueryRowContext(ctx, "SELECT epoch, renewals FROM networks WHERE network = $1", string(network)).Scan(&current.epoch, &current.count)
		return current, err
	})
	if err != nil {
		return 0, fmt.Errorf("acquire lease of %s: %w", network, err)
	}
	if !current.held {
		s.leases.note(w, current.renewal, now)
		return 0, invoice.ErrFenced
	}
	s.leases.forget(w)
	return current.epoch, nil
}

// takeLease takes a lease that is free, already held by the caller or in the expired state;
// otherwise it returns sql.ErrNoRows.
func (s *Storage) takeLease(ctx context.Context, q querier, w waiter, expired renewal) (current renewal, err error) {
	err = q.QueryRowContext(ctx, `
		INSERT INTO networks (network, epoch, holder, renewals, clock_skew, sequence, cursor_height, cursor_hash, tip_height, tip_hash)
		VALUES ($1, 1, $2, 1, $3, 0, 0, '', 0, '')
		ON CONFLICT (network) DO UPDATE SET
			epoch = CASE WHEN networks.holder = excluded.holder THEN networks.epoch ELSE networks.epoch + 1 END,
			holder = excluded.holder, renewals = networks.renewals + 1, clock_skew = excluded.clock_skew
		WHERE networks.holder = excluded.holder OR networks.holder = ''
			OR (networks.epoch = $4 AND networks.renewals = $5)
		RETURNING epoch, renewals`,
		string(w.network), w.holder, s.skew.Load(), expired.epoch, expired.count).Scan(&current.epoch, &current.count)
	return current, err
}

// ReleaseLease implements watcher.Storage. The lease has no holder afterwards, so the next holder
// gets a new epoch, even if it is the same process.
func (s *Storage) ReleaseLease(ctx context.Context, network chain.ID, epoch int64) error {
	return s.change(ctx, "release lease of "+string(network), nil, "UPDATE networks SET holder = '' WHERE network = $1 AND epoch = $2", string(network), epoch)
}

// checkLease locks the lease of a network until the transaction ends, so that it cannot be taken
// over and the cursor cannot be saved in the meantime. It returns ErrFenced if the lease was lost
// or its snapshot is not newer than the saved one.
func (s *Storage) checkLease(ctx context.Context, q querier, lease invoice.Lease) error {
	if lease.IsZero() {
		return nil
	}
	var epoch int64
	err := q.QueryRowContext(ctx, "SELECT epoch FROM networks WHERE network = $1 AND epoch = $2 AND sequence < $3"+s.engine.ForShare,
		string(lease.Network), lease.Epoch, lease.Sequence).Scan(&epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return invoice.ErrFenced
	}
	if err != nil {
		return fmt.Errorf("check lease of %s: %w", lease.Network, err)
	}
	return nil
}
