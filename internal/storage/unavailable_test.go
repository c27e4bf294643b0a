package storage_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

func TestStorage_reports_a_locked_SQLite(t *testing.T) {
	t.Parallel()
	url := engines["sqlite"](t)
	s, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{BusyTimeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addMerchants(t, s)
	other, err := database(t, url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreateInvoice(t.Context(), creation("a", "shop")); !errors.Is(err, invoice.ErrUnavailable) {
		t.Errorf("create: got error %v, want %v", err, invoice.ErrUnavailable)
	}
	if _, err := s.UseNonce(t.Context(), "key", "nonce", noon, time.Minute); !errors.Is(err, invoice.ErrUnavailable) {
		t.Errorf("use nonce: got error %v, want %v", err, invoice.ErrUnavailable)
	}
	if _, err := s.Merchant(t.Context(), "shop"); err != nil {
		t.Errorf("read: %v", err)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	create(t, s, creation("a", "shop"))
}

func TestStorage_hides_the_end_of_idle_connections(t *testing.T) {
	t.Parallel()
	url := engines["postgres"](t)
	s := open(t, url)
	addMerchants(t, s)
	create(t, s, creation("a", "shop"))
	end := func() {
		t.Helper()
		terminated := rows(t, url, "SELECT pg_terminate_backend(pid, 5000)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if len(terminated) == 0 {
			t.Error("there was no connection to end")
		}
	}
	end()
	create(t, s, creation("b", "shop"))
	end()
	if _, err := s.Merchant(t.Context(), "shop"); err != nil {
		t.Errorf("read: %v", err)
	}
	end()
	if _, err := s.Invoice(t.Context(), "b"); err != nil {
		t.Errorf("snapshot: %v", err)
	}
}

func TestStorage_loses_no_commit_when_PostgreSQL_restarts(t *testing.T) {
	t.Parallel()
	server := storagetest.NewServer(t)
	s := open(t, server.URL())
	addMerchants(t, s)
	l := &load{t: t, s: s, faults: make(chan struct{}), creations: make(chan struct{}), created: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { l.run(ctx, i) })
	}
	l.waitForCreations(20)
	for _, mode := range []string{"fast", "immediate"} {
		server.Stop(t, mode)
		l.waitForFault()
		server.Start(t)
		l.waitForCreations(20)
		rows(t, server.URL(), "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
		l.waitForCreations(20)
	}
	stop()
	group.Wait()

	for id := range l.created {
		if _, err := s.Invoice(t.Context(), id); err != nil {
			t.Errorf("invoice %s was created and is missing: %v", id, err)
		}
	}
	orphans := "SELECT key FROM idempotency WHERE invoice_id IS NULL OR invoice_id NOT IN (SELECT id FROM invoices)"
	if keys := rows(t, server.URL(), orphans); len(keys) != 0 {
		t.Errorf("keys without their invoice: %q", keys)
	}
	created := rows(t, server.URL(), "SELECT COUNT(*)::text FROM invoices")
	if keys := rows(t, server.URL(), "SELECT COUNT(*)::text FROM idempotency"); keys[0] != created[0] {
		t.Errorf("%s invoices were made with %s keys, want one each", created[0], keys[0])
	}
	checkFeed(t, server.URL(), "shop")
}

// A server that was demoted answers, but accepts no writes. A new connection leads to the promoted server.
// Settings of one server simulate both servers, since a session keeps the settings with which it began.
func TestStorage_reconnects_if_PostgreSQL_was_demoted(t *testing.T) {
	t.Parallel()
	server := storagetest.NewServer(t)
	s := open(t, server.URL())
	addMerchants(t, s)
	var group sync.WaitGroup
	for i := range 32 { // opens several connections
		group.Go(func() { create(t, s, creation(fmt.Sprint("before", i), "shop")) })
	}
	group.Wait()

	execSQL(t, server.URL(), "ALTER SYSTEM SET default_transaction_read_only = on")
	execSQL(t, server.URL(), "SELECT pg_reload_conf()")
	await(t, "transactions are read-only", func() bool {
		return rows(t, server.URL(), "SHOW default_transaction_read_only")[0] == "on"
	})
	await(t, "creations are refused", func() bool {
		_, _, err := s.CreateInvoice(t.Context(), creation(rand.Text(), "shop"))
		if err != nil && !errors.Is(err, invoice.ErrUnavailable) {
			t.Errorf("got error %v, want %v", err, invoice.ErrUnavailable)
		}
		return err != nil
	})
	if err := s.Ready(t.Context()); !errors.Is(err, invoice.ErrUnavailable) {
		t.Errorf("ready: got error %v, want %v", err, invoice.ErrUnavailable)
	}

	execSQL(t, server.URL()+"&default_transaction_read_only=off", "ALTER DATABASE postgres SET default_transaction_read_only = off")
	for i := range 32 {
		group.Go(func() { create(t, s, creation(fmt.Sprint("after", i), "shop")) })
	}
	group.Wait()
	await(t, "storage is ready again", func() bool { return s.Ready(t.Context()) == nil })
}

// await returns when a condition is true.
func await(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", condition)
		}
	}
}

func TestReady_fails_while_the_marks_cannot_be_written(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := storage.Open(t.Context(), engines["sqlite"](t), box(t, 1), storage.Options{IndexMarks: filepath.Join(folder, "indexes.json")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready without a folder for the marks")
	}
}

// load creates and reads invoices, and repeats each creation until it succeeds.
type load struct {
	t         *testing.T
	s         *storage.Storage
	faults    chan struct{} // receives errors that report an unavailable database
	creations chan struct{} // receives successful creations

	mu      sync.Mutex
	created map[string]bool
}

func (l *load) run(ctx context.Context, caller int) {
	for i, attempt := 0, 0; ctx.Err() == nil; attempt++ {
		c := keyed(fmt.Sprintf("i%d-%d-%d", caller, i, attempt), fmt.Sprintf("k%d-%d", caller, i), "hash")
		inv, _, err := l.s.CreateInvoice(ctx, c)
		if err == nil {
			_, err = l.s.Invoice(ctx, inv.ID)
			l.mu.Lock()
			l.created[inv.ID] = true
			l.mu.Unlock()
			signal(l.creations)
			i++
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, invoice.ErrUnavailable):
			signal(l.faults)
		default:
			l.t.Errorf("got error %v, want %v or none", err, invoice.ErrUnavailable)
			return
		}
	}
}

// waitForCreations returns after a number of further successful creations.
func (l *load) waitForCreations(creations int) { l.wait(l.creations, creations) }

// waitForFault returns after a caller has got an error that reports an unavailable database.
func (l *load) waitForFault() { l.wait(l.faults, 1) }

func (l *load) wait(events chan struct{}, count int) {
	l.t.Helper()
	deadline := time.After(30 * time.Second)
	for range count {
		select {
		case <-events:
		case <-deadline:
			l.t.Fatal("no progress for 30 seconds")
		}
	}
}

// signal wakes the receiver that waits on an unbuffered channel, if any.
func signal(events chan struct{}) {
	select {
	case events <- struct{}{}:
	default:
	}
}
