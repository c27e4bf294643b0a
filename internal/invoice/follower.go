package invoice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
)

// Change is a new version of an invoice.
type Change struct {
	ID      string
	Version int64
}

// Changes exchanges new versions of invoices between the processes of one database. It is safe for
// concurrent use.
type Changes interface {
	// Mark returns a number that changes when another process writes to the database. It returns 0 if
	// the database has no such number.
	Mark(ctx context.Context) (int64, error)
	// Versions returns the versions of the invoices with the given identifiers.
	Versions(ctx context.Context, ids []string) ([]Change, error)
	// Announce announces changes to the other processes. It does nothing if the database has no
	// announcements. An announcement is a hint and may be lost.
	Announce(ctx context.Context, changes []Change) error
	// Announced calls changed with announcements of all processes until the context ends or the
	// connection to the database is lost. It calls connected before the first announcement. It returns
	// errors.ErrUnsupported if the database has no announcements, or if a connection pooler does not
	// deliver them.
	Announced(ctx context.Context, connected func(), changed func([]Change)) error
}

// Intervals of a Follower.
const (
	// followInterval is the interval at which the versions of the invoices with subscribers are read.
	followInterval = 3 * time.Second
	// quietTicks is the number of intervals between two such reads while announcements arrive. The
	// reads find the changes whose announcements were lost.
	quietTicks = 10
	// reconnectInterval is the pause before announcements are subscribed to again.
	reconnectInterval = time.Second
)

// Follower finds the changes that other processes make to invoices with subscribers, and announces
// the changes of this process.
type Follower struct {
	service   *Service
	changes   Changes
	log       *slog.Logger
	connected chan bool  // reports that announcements arrive, or that they do not arrive any more
	mark      int64      // at the last reading of versions; 0 before the first
	behind    []chain.ID // networks that were behind at the last interval; nil before the first
}

// NewFollower returns a new Follower of a service whose configuration has Changes.
func NewFollower(s *Service, log *slog.Logger) *Follower {
	return &Follower{service: s, changes: s.changes, log: log, connected: make(chan bool)}
}

// Run follows other processes until the context ends, and returns nil then.
func (f *Follower) Run(ctx context.Context) error {
	f.service.outgoing.start()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.poll(ctx) })
	group.Go(func() error { return f.listen(ctx) })
	group.Go(func() error { return f.announce(ctx) })
	return group.Wait()
}

// poll reads the versions of the invoices with subscribers at each interval or, while announcements
// arrive, every quietTicks intervals.
func (f *Follower) poll(ctx context.Context) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	connected, quiet := false, 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case connected = <-f.connected:
			quiet = 0 // announcements before now may be lost
		case <-tick.C:
			if err := f.noticeBehind(ctx); err != nil && ctx.Err() == nil {
				f.log.Warn("scans not read", "error", err)
			}
		}
		if quiet--; connected && quiet > 0 {
			continue
		}
		quiet = quietTicks
		if err := f.Step(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("changes not read", "error", err)
		}
	}
}

// Step notifies the subscribers of the invoices that other processes changed since the last call. If the
// database has a Mark, Step reads no versions while no other process writes.
func (f *Follower) Step(ctx context.Context) error {
	ids := f.service.subscriptions.ids()
	if len(ids) == 0 {
		return nil
	}
	mark, err := f.changes.Mark(ctx)
	if err != nil {
		return fmt.Errorf("follow changes: %w", err)
	}
	if mark != 0 && mark == f.mark {
		return nil
	}
	changes, err := f.changes.Versions(ctx, ids)
	if err != nil {
		return fmt.Errorf("follow changes: %w", err)
	}
	f.mark = mark
	f.notify(changes)
	return nil
}

func (f *Follower) notify(changes []Change) {
	for _, c := range changes {
		f.service.subscriptions.notify(c.ID, c.Version)
	}
}

// noticeBehind notifies all subscribers when a network falls behind or is scanned again, because that
// changes the resources of open invoices without a new version.
func (f *Follower) noticeBehind(ctx context.Context) error {
	behind, err := f.service.allBehind(ctx)
	if err != nil || f.behind != nil && slices.Equal(behind, f.behind) {
		return err
	}
	first := f.behind == nil
	f.behind = behind
	if first {
		return nil
	}
	for _, id := range f.service.subscriptions.ids() {
		f.service.subscriptions.notify(id, 0)
	}
	return nil
}

// listen notifies subscribers of the changes that other processes announce.
func (f *Follower) listen(ctx context.Context) error {
	for {
		err := f.changes.Announced(ctx, func() { f.setConnected(ctx, true) }, f.notify)
		if ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		f.log.Warn("announcements of changes lost", "error", err)
		f.setConnected(ctx, false)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectInterval):
		}
	}
}

func (f *Follower) setConnected(ctx context.Context, connected bool) {
	select {
	case f.connected <- connected:
	case <-ctx.Done():
	}
}

// announce announces the changes of this process. Changes during an announcement are part of the next
// announcement.
func (f *Follower) announce(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.service.outgoing.some:
		}
		if err := f.changes.Announce(ctx, f.service.outgoing.take()); err != nil && ctx.Err() == nil {
			f.log.Warn("changes not announced", "error", err)
		}
	}
}

// allBehind returns the networks that are watched but were not scanned recently, sorted.
func (s *Service) allBehind(ctx context.Context) ([]chain.ID, error) {
	progress, err := s.storage.RecentProgress(ctx)
	if err != nil {
		return nil, fmt.Errorf("read progress: %w", err)
	}
	behind := []chain.ID{}
	for network := range s.scanned {
		if s.isBehind(network, progress) {
			behind = append(behind, network)
		}
	}
	slices.SortFunc(behind, func(a, b chain.ID) int { return strings.Compare(string(a), string(b)) })
	return behind, nil
}
