package invoice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
)

// Wait returns an invoice once its version differs from the given one, or ErrNotModified after the
// given time.
func (s *Service) Wait(ctx context.Context, id string, version int64, wait time.Duration) (*Invoice, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	changed := make(chan struct{}, 1)
	defer s.Subscribe(id, func(int64) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	for {
		inv, err := s.storage.Invoice(context.WithoutCancel(ctx), id)
		if err != nil {
			return nil, err
		}
		if inv.Version != version {
			return inv, nil
		}
		select {
		case <-ctx.Done():
			return nil, ErrNotModified
		case <-changed:
		}
	}
}

// Subscribe registers a function that is called with the new version when an invoice changes, and
// with 0 when another part of its resource may have changed. A call is a hint: it can be repeated,
// and one call can be under way while cancel returns. The function must not block. Changes by other
// processes are noticed while a Follower runs.
func (s *Service) Subscribe(id string, changed func(version int64)) (cancel func()) {
	return s.subscriptions.add(id, changed)
}

// subscriptions holds the functions that are called when an invoice changes.
type subscriptions struct {
	mu   sync.Mutex
	byID map[string]*subscription
}

// subscription holds the functions of the subscribers of one invoice.
type subscription struct {
	version int64 // newest version that the subscribers were called with; 0 before the first call
	calls   map[*func(version int64)]bool
}

func (s *subscriptions) add(id string, changed func(version int64)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*subscription{}
	}
	sub, ok := s.byID[id]
	if !ok {
		sub = &subscription{calls: map[*func(int64)]bool{}}
		s.byID[id] = sub
	}
	sub.version = 0 // a new subscriber knows no version
	sub.calls[&changed] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(sub.calls, &changed)
		if len(sub.calls) == 0 && s.byID[id] == sub {
			delete(s.byID, id)
		}
	}
}

// notify calls the subscribers of an invoice, unless they know this version or a newer one. The
// version 0 is always new.
func (s *subscriptions) notify(id string, version int64) {
	for _, changed := range s.toCall(id, version) {
		changed(version)
	}
}

// toCall returns the functions that notify calls. They are called without the lock, because they may
// call cancel.
func (s *subscriptions) toCall(id string, version int64) (calls []func(version int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.byID[id]
	if !ok || version != 0 && version <= sub.version {
		return nil
	}
	sub.version = max(sub.version, version)
	for changed := range sub.calls {
		calls = append(calls, *changed)
	}
	return calls
}

// ids returns the invoices with subscribers.
func (s *subscriptions) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	return ids
}

// Change is a new version of an invoice.
type Change struct {
	ID      string
	Version int64
}

// Changes exchanges new versions of invoices between the processes of one database. It is safe for
// concurrent use.
type Changes interface {
	// DataVersion returns a number that changes when another process writes to the database. It returns 0 if
	// the database has no such number.
	DataVersion(ctx context.Context) (int64, error)
	// Versions returns the versions of the invoices with the given identifiers.
	Versions(ctx context.Context, ids []string) ([]Change, error)
	// Announce announces changes to the other processes. It does nothing if the database has no
	// announcements. An announcement is a hint and may be lost.
	Announce(ctx context.Context, changes []Change) error
	// Listen calls changed with announcements of all processes until the context ends or the
	// connection to the database is lost. It calls connected before the first announcement. It returns
	// errors.ErrUnsupported if the database has no announcements, or if a connection pooler does not
	// deliver them.
	Listen(ctx context.Context, connected func(), changed func([]Change)) error
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
	service         *Service
	changes         Changes
	log             *slog.Logger
	connected       chan bool  // reports that announcements arrive, or that they do not arrive any more
	lastDataVersion int64      // at the last reading of versions; 0 before the first
	behind          []chain.ID // networks that were behind at the last interval; nil before the first
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
// database has a data version, Step reads no versions while no other process writes.
func (f *Follower) Step(ctx context.Context) error {
	ids := f.service.subscriptions.ids()
	if len(ids) == 0 {
		return nil
	}
	version, err := f.changes.DataVersion(ctx)
	if err != nil {
		return fmt.Errorf("follow changes: %w", err)
	}
	if version != 0 && version == f.lastDataVersion {
		return nil
	}
	changes, err := f.changes.Versions(ctx, ids)
	if err != nil {
		return fmt.Errorf("follow changes: %w", err)
	}
	f.lastDataVersion = version
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
		err := f.changes.Listen(ctx, func() { f.setConnected(ctx, true) }, f.notify)
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
		case <-f.service.outgoing.ready:
		}
		if err := f.changes.Announce(ctx, f.service.outgoing.takeChanges()); err != nil && ctx.Err() == nil {
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
	for _, network := range slices.AppendSeq(s.connections.Networks(), maps.Keys(s.scanned)) {
		if s.isBehind(network, progress) {
			behind = append(behind, network)
		}
	}
	slices.SortFunc(behind, func(a, b chain.ID) int { return strings.Compare(string(a), string(b)) })
	return behind, nil
}

// outgoing holds the changes of this process that are not announced yet. It is safe for concurrent
// use.
type outgoing struct {
	ready chan struct{} // receives a value when there are changes

	mu      sync.Mutex
	running bool // a Follower takes the changes
	changes map[string]int64
}

func newOutgoing() *outgoing {
	return &outgoing{ready: make(chan struct{}, 1), changes: map[string]int64{}}
}

// start makes add keep changes until takeChanges is called.
func (o *outgoing) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running = true
}

// add adds a change. It returns false if no Follower runs in this process, as in a command.
func (o *outgoing) add(c Change) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.running {
		return false
	}
	o.changes[c.ID] = max(o.changes[c.ID], c.Version)
	select {
	case o.ready <- struct{}{}:
	default:
	}
	return true
}

// takeChanges returns the changes since the last call.
func (o *outgoing) takeChanges() (changes []Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, version := range o.changes {
		changes = append(changes, Change{id, version})
	}
	clear(o.changes)
	return changes
}
