package invoice_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/invoice"
	"chequer/internal/invoice/invoicetest"
	"chequer/internal/storage"
)

// fakeChanges is an invoice.Changes that connects the services of a test.
type fakeChanges struct {
	mu             sync.Mutex
	versions       map[string]int64
	reads          int
	dataVersion    int64
	readInvoices   int // number of invoices in all reads
	announced      [][]invoice.Change
	silent         bool // announcements are unsupported
	listeners      []chan []invoice.Change
	connectionLost chan struct{}
}

func newFakeChanges() *fakeChanges {
	return &fakeChanges{versions: map[string]int64{}, connectionLost: make(chan struct{})}
}

func (c *fakeChanges) set(id string, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions[id] = version
}

func (c *fakeChanges) DataVersion(context.Context) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dataVersion, nil
}

func (c *fakeChanges) Versions(_ context.Context, ids []string) (changes []invoice.Change, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	c.readInvoices += len(ids)
	for _, id := range ids {
		if version := c.versions[id]; version != 0 {
			changes = append(changes, invoice.Change{ID: id, Version: version})
		}
	}
	return changes, nil
}

func (c *fakeChanges) Announce(_ context.Context, changes []invoice.Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announced = append(c.announced, changes)
	for _, l := range c.listeners {
		l <- changes
	}
	return nil
}

func (c *fakeChanges) Listen(ctx context.Context, connected func(), changed func([]invoice.Change)) error {
	c.mu.Lock()
	if c.silent {
		c.mu.Unlock()
		return errors.ErrUnsupported
	}
	received := make(chan []invoice.Change, 10)
	c.listeners = append(c.listeners, received)
	connectionLost := c.connectionLost
	c.mu.Unlock()
	connected()
	for {
		select {
		case list := <-received:
			changed(list)
		case <-connectionLost:
			return errors.New("connection lost")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// addListener returns a channel that gets later announcements, which may be at most 10.
func (c *fakeChanges) addListener() <-chan []invoice.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	received := make(chan []invoice.Change, 10)
	c.listeners = append(c.listeners, received)
	return received
}

// loseConnections closes the connections for announcements.
func (c *fakeChanges) loseConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.connectionLost)
	c.connectionLost, c.listeners = make(chan struct{}), nil
}

// following is a service with a Follower within a synctest bubble.
type following struct {
	*invoice.Service
	notified []int64 // the versions that subscribe's functions were called with
	mu       sync.Mutex
}

func follow(t *testing.T, changes *fakeChanges, networks ...chain.Network) *following {
	t.Helper()
	f := &following{Service: invoice.NewService(invoice.Config{
		Storage: invoicetest.New(), Changes: changes, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Networks: map[invoice.Mode][]chain.Network{invoice.Live: networks},
	})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- invoice.NewFollower(f.Service, slog.New(slog.DiscardHandler)).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return f
}

func (f *following) subscribe(id string) (cancel func()) {
	return f.Subscribe(id, func(version int64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.notified = append(f.notified, version)
	})
}

func (f *following) wantNotified(t *testing.T, versions ...int64) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if diff := cmp.Diff(versions, f.notified); diff != "" {
		t.Errorf("versions notified (-want +got):\n%s", diff)
	}
}

func (c *fakeChanges) wantReads(t *testing.T, reads, invoices int) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads != reads || c.readInvoices != invoices {
		t.Errorf("%d reads of %d versions, want %d of %d", c.reads, c.readInvoices, reads, invoices)
	}
}

func TestFollower_reads_all_versions_at_once(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newFakeChanges()
		changes.silent = true
		f := follow(t, changes)
		time.Sleep(time.Minute)
		changes.wantReads(t, 0, 0) // there are no subscribers
		changes.set("a", 1)
		changes.set("b", 1)
		defer f.subscribe("a")()
		defer f.subscribe("a")()
		leave := f.subscribe("b")
		time.Sleep(3 * time.Second)
		f.wantNotified(t, 1, 1, 1)
		changes.wantReads(t, 1, 2)
		changes.set("b", 2)
		time.Sleep(3 * time.Second)
		f.wantNotified(t, 1, 1, 1, 2)
		leave()
		changes.set("b", 3)
		time.Sleep(3 * time.Second)
		f.wantNotified(t, 1, 1, 1, 2)
		changes.wantReads(t, 3, 5)
	})
}

func TestFollower_reads_nothing_while_no_other_process_writes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newFakeChanges()
		changes.silent, changes.dataVersion = true, 1
		f := follow(t, changes)
		defer f.subscribe("a")()
		time.Sleep(time.Minute)
		changes.wantReads(t, 1, 1)
		changes.mu.Lock()
		changes.dataVersion, changes.versions["a"] = 2, 2
		changes.mu.Unlock()
		time.Sleep(3 * time.Second)
		f.wantNotified(t, 2)
		changes.wantReads(t, 2, 2)
	})
}

func TestFollower_notifies_of_announcements_without_a_read(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newFakeChanges()
		f := follow(t, changes)
		defer f.subscribe("a")()
		for range 2 { // the second is a repetition
			if err := changes.Announce(t.Context(), []invoice.Change{{ID: "a", Version: 2}, {ID: "other", Version: 9}}); err != nil {
				t.Fatal(err)
			}
			f.wantNotified(t, 2)
		}
		time.Sleep(27 * time.Second)
		changes.wantReads(t, 0, 0)
		changes.set("a", 3) // the announcement is lost
		time.Sleep(3 * time.Second)
		changes.wantReads(t, 1, 1)
		f.wantNotified(t, 2, 3)
	})
}

func TestFollower_reads_again_when_announcements_were_lost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newFakeChanges()
		f := follow(t, changes)
		defer f.subscribe("a")()
		changes.loseConnections()
		synctest.Wait()
		changes.wantReads(t, 1, 1)
		changes.set("a", 2)
		time.Sleep(time.Second) // the next connection
		f.wantNotified(t, 2)
		if err := changes.Announce(t.Context(), []invoice.Change{{ID: "a", Version: 3}}); err != nil {
			t.Fatal(err)
		}
		f.wantNotified(t, 2, 3)
		changes.wantReads(t, 2, 2)
	})
}

// Pages show that a network is behind, although the invoice has no new version then.
func TestFollower_notifies_when_a_network_is_behind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changes := newFakeChanges()
		f := follow(t, changes, &evm{Network: ethereum.New(ethereum.Base), now: time.Now})
		defer f.subscribe("a")()
		time.Sleep(20 * time.Second)
		f.wantNotified(t)
		time.Sleep(3 * time.Second)
		f.wantNotified(t, 0)
		time.Sleep(time.Minute)
		f.wantNotified(t, 0)
	})
}

func TestChanges_are_announced(t *testing.T) {
	t.Parallel()
	shop := openShop(t, table)
	changes := newFakeChanges()
	service := invoice.NewService(invoice.Config{
		Storage: shop.store, Changes: changes, Now: shop.clock.Now, NewID: shop.newID, Log: slog.New(slog.DiscardHandler),
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
	cancel := func() invoice.Change {
		inv := shop.create("40")
		changed, err := service.Cancel(t.Context(), inv.ID, 0)
		shop.must(err)
		return invoice.Change{ID: inv.ID, Version: changed.Version}
	}
	want := []invoice.Change{cancel()} // without a Follower, as in a command
	if diff := cmp.Diff([][]invoice.Change{want}, changes.announced); diff != "" {
		t.Fatalf("announced (-want +got):\n%s", diff)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- invoice.NewFollower(service, slog.New(slog.DiscardHandler)).Run(ctx) }()
	notified := make(chan int64, 10)
	defer service.Subscribe(want[0].ID, func(version int64) { notified <- version })()
	changes.set(want[0].ID, 7)
	<-notified // the Follower runs
	announced := changes.addListener()
	for range 3 {
		want = append(want, cancel())
	}
	for len(changes.all()) < len(want) {
		<-announced
	}
	stop()
	shop.must(<-done)
	if diff := cmp.Diff(want, changes.all(), cmpopts.SortSlices(func(a, b invoice.Change) bool { return a.ID < b.ID })); diff != "" {
		t.Errorf("announced (-want +got):\n%s", diff)
	}
}

// all returns every announced change.
func (c *fakeChanges) all() (changes []invoice.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range c.announced {
		changes = append(changes, list...)
	}
	return changes
}

// unversioned is a database without a data version, like PostgreSQL.
type unversioned struct{ *storage.Storage }

func (unversioned) DataVersion(context.Context) (int64, error) { return 0, nil }

// Two processes share a database. The second finds a change of the first by the version of the invoice.
func TestStep_finds_the_change_of_another_process(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	other := invoice.NewService(invoice.Config{Storage: s.store, Changes: unversioned{s.store}, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler)})
	follower := invoice.NewFollower(other, slog.New(slog.DiscardHandler))
	inv := s.create("40")
	var notified []int64
	defer other.Subscribe(inv.ID, func(version int64) { notified = append(notified, version) })()
	s.must(follower.Step(t.Context()))
	s.pay(inv, "BTC", "0.0005")
	s.step()
	s.must(follower.Step(t.Context()))
	s.must(follower.Step(t.Context()))
	if diff := cmp.Diff([]int64{1, 2}, notified); diff != "" {
		t.Errorf("versions notified (-want +got):\n%s", diff)
	}
}
