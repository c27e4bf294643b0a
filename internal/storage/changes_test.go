package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

func TestVersions_returns_the_versions_of_known_invoices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for i := range 12 {
			create(t, s, creation(fmt.Sprintf("i%02d", i), "shop"))
		}
		if _, err := s.UpdateInvoice(t.Context(), "i03", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Version++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, ids := range [][]string{nil, {"i03"}, {"i00", "i03", "none"}, {"i00", "i01", "i02", "i03", "i04", "i05", "i06", "i07", "i08", "i09", "i10", "i11"}} {
			want := []string{}
			for _, id := range ids {
				switch id {
				case "none":
				case "i03":
					want = append(want, "i03:2")
				default:
					want = append(want, id+":1")
				}
			}
			changes, err := s.Versions(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, c := range changes {
				got = append(got, fmt.Sprintf("%s:%d", c.ID, c.Version))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("versions of %v (-want +got):\n%s", ids, diff)
			}
		}
	})
}

// subscribe returns a channel with the announcements that a process receives.
func subscribe(t *testing.T, s *storage.Storage) <-chan invoice.Change {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	connected, changes, done := make(chan struct{}), make(chan invoice.Change, 1000), make(chan error, 1)
	go func() {
		done <- s.Listen(ctx, func() { close(connected) }, func(list []invoice.Change) {
			for _, c := range list {
				changes <- c
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case <-connected:
	case err := <-done:
		done <- err
		t.Fatal(err)
	}
	return changes
}

func TestAnnounce_reaches_other_processes(t *testing.T) {
	t.Parallel()
	url := storagetest.Postgres(t)
	sender, receiver := open(t, url), subscribe(t, open(t, url))
	var want []invoice.Change
	for i := range 250 {
		want = append(want, invoice.Change{ID: strings.Repeat("x", 29) + fmt.Sprintf("%03d", i), Version: int64(1000000 + i)})
	}
	if err := sender.Announce(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		select {
		case got := <-receiver:
			if got != want[i] {
				t.Fatalf("announcement %d is %v, want %v", i, got, want[i])
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("announcement %d did not arrive", i)
		}
	}
}

// SQLite has no announcements. Behind a connection pooler a listener may not receive them; sending
// works.
func TestListen_is_unsupported_on_SQLite_and_behind_a_pooler(t *testing.T) {
	t.Parallel()
	direct := storagetest.Postgres(t)
	pooled := open(t, storagetest.Pooler(t, direct))
	for name, s := range map[string]*storage.Storage{"pooler": pooled, "SQLite": open(t, storagetest.Engines["sqlite"](t))} {
		err := s.Listen(t.Context(), func() { t.Error(name + " is connected") }, func([]invoice.Change) {})
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got error %v, want ErrUnsupported", name, err)
		}
		if err := s.Announce(t.Context(), []invoice.Change{{ID: "x", Version: 2}}); err != nil {
			t.Errorf("%s: announce: %v", name, err)
		}
	}
	receiver := subscribe(t, open(t, direct))
	if err := pooled.Announce(t.Context(), []invoice.Change{{ID: "y", Version: 3}}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-receiver:
		if want := (invoice.Change{ID: "y", Version: 3}); got != want {
			t.Errorf("announcement through the pooler is %v, want %v", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Error("the announcement through the pooler did not arrive")
	}
}

func TestListen_returns_an_error_when_the_connection_is_lost(t *testing.T) {
	t.Parallel()
	url := storagetest.Postgres(t)
	s := open(t, url)
	err := s.Listen(t.Context(), func() {
		database(t, url).ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()")
	}, func([]invoice.Change) {})
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got error %v, want that of the lost connection", err)
	}
}

func TestListen_omits_texts_that_it_cannot_parse(t *testing.T) {
	t.Parallel()
	url := storagetest.Postgres(t)
	receiver := subscribe(t, open(t, url))
	if _, err := database(t, url).ExecContext(t.Context(), "SELECT pg_notify('chequer_changes', 'a b: c:x d:-1 e:0 :: f:7')"); err != nil {
		t.Fatal(err)
	}
	if got, want := <-receiver, (invoice.Change{ID: "f", Version: 7}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDataVersion_changes_with_writes_of_other_processes(t *testing.T) {
	t.Parallel()
	url := storagetest.Engines["sqlite"](t)
	s, other := open(t, url), open(t, url)
	addMerchants(t, s)
	version := func() int64 {
		t.Helper()
		got, err := s.DataVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := version()
	create(t, s, creation("own", "shop"))
	if got := version(); got != first || first == 0 {
		t.Errorf("after a write of this process the version is %d, want %d as before", got, first)
	}
	create(t, other, creation("other", "shop"))
	second := version()
	if second == first {
		t.Error("a write of another process does not change the version")
	}
	if got := version(); got != second {
		t.Errorf("without a write the version changes from %d to %d", second, got)
	}
	if got, err := open(t, storagetest.Postgres(t)).DataVersion(t.Context()); got != 0 || err != nil {
		t.Errorf("PostgreSQL has the version %d, %v, want none", got, err)
	}
}
