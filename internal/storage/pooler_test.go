package storage_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"chequer/internal/storage"
	"chequer/internal/storage/backup"
	"chequer/internal/storage/storagetest"
)

// PgBouncer in transaction mode runs each transaction on another connection to the server, which
// may have prepared statements and session locks of other clients.
func TestStorage_works_behind_a_pooler(t *testing.T) {
	t.Parallel()
	direct := withoutTables(t, "postgres")
	url := storagetest.Pooler(t, direct)
	addMerchants(t, open(t, url)) // Open makes the tables
	var group sync.WaitGroup
	for process := range 3 { // like commands that run next to a server
		s := open(t, url)
		for i := range 20 {
			group.Go(func() {
				id := fmt.Sprintf("i%d-%d", process, i)
				create(t, s, creation(id, "shop"))
				if _, err := s.Invoice(t.Context(), id); err != nil {
					t.Errorf("read %s: %v", id, err)
				}
				if err := s.Ready(t.Context()); err != nil {
					t.Errorf("ready: %v", err)
				}
				if _, err := s.Progress(t.Context()); err != nil {
					t.Errorf("progress: %v", err)
				}
			})
		}
	}
	group.Wait()
	if m, err := backup.Write(t.Context(), url, storagetest.MasterKey(1), noon, io.Discard); err != nil || m.Rows["invoices"] != 60 {
		t.Errorf("backup of %d invoices, error %v", m.Rows["invoices"], err)
	}
	// The server also has the databases of other tests.
	const heldLocks = `SELECT CAST(pid AS TEXT) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	if locks := rows(t, direct, heldLocks); len(locks) != 0 {
		t.Errorf("advisory locks of %q remain", locks)
	}
}

// Processes that start at the same time, through a pooler and directly, make the tables once.
func TestOpen_makes_the_tables_once(t *testing.T) {
	t.Parallel()
	direct := withoutTables(t, "postgres")
	pooled := storagetest.Pooler(t, direct)
	var group sync.WaitGroup
	for _, url := range strings.Fields(strings.Repeat(direct+" "+pooled+" ", 2)) {
		group.Go(func() {
			s, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
