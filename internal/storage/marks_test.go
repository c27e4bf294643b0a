package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/logtest"
	"chequer/internal/storage"
	"chequer/internal/storage/backup"
)

// markedDatabase is a database with a file of index marks, which is closed and opened as by a stop and a
// start of the server.
type markedDatabase struct {
	t       *testing.T
	url     string
	marks   string
	created int
	log     *logtest.Journal
}

// allocateIndex opens the database, creates an invoice, closes the database and returns the index.
func (s *markedDatabase) allocateIndex() uint32 {
	s.t.Helper()
	return s.allocateIndexes(1)[0]
}

// allocateIndexes is allocateIndex for several invoices that are created without a stop in between.
func (s *markedDatabase) allocateIndexes(count int) []uint32 {
	s.t.Helper()
	store, err := storage.Open(context.Background(), s.url, box(s.t, 1), storage.Options{
		IndexMarks: s.marks, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	var list []uint32
	for range count {
		s.created++
		list = append(list, create(s.t, store, creation(fmt.Sprintf("inv%d", s.created), "shop")).Methods[0].Index)
	}
	return list
}

func newMarkedDatabase(t *testing.T, engine string) *markedDatabase {
	t.Helper()
	s := &markedDatabase{t: t, url: engines[engine](t), marks: filepath.Join(t.TempDir(), "indexes.json"), log: &logtest.Journal{}}
	store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	addMerchants(t, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestIndexes_have_no_gaps_over_restarts(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMarkedDatabase(t, name)
			for want := range uint32(3) {
				if got := s.allocateIndex(); got != want {
					t.Errorf("index after a restart = %d, want %d", got, want)
				}
			}
			list := s.allocateIndexes(250)
			if first, last := list[0], list[249]; first != 3 || last != 252 {
				t.Errorf("250 indexes run from %d to %d, want 3 to 252", first, last)
			}
		})
	}
}

func TestIndexes_used_after_a_copy_are_not_used_twice(t *testing.T) {
	t.Parallel()
	for _, createdAfter := range []int{1, 7, 8, 9, 40, 99, 100, 101, 300} { // invoices made after the copy
		t.Run(fmt.Sprint(createdAfter, " invoices after the copy"), func(t *testing.T) {
			t.Parallel()
			s := newMarkedDatabase(t, "sqlite")
			s.allocateIndexes(5)
			path := s.url[len("sqlite:"):]
			older, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			used := s.allocateIndexes(createdAfter)
			for _, side := range []string{"-wal", "-shm"} {
				_ = os.Remove(path + side)
			}
			if err := os.WriteFile(path, older, 0o600); err != nil {
				t.Fatal(err)
			}
			s.created += 1000 // IDs that differ from those of the lost invoices
			if got := s.allocateIndex(); got <= used[len(used)-1] {
				t.Errorf("the next index is %d, although %d was used", got, used[len(used)-1])
			}
			if !s.log.Contains("destination indexes skipped") {
				t.Errorf("the log does not say that indexes were skipped:\n%s", s.log)
			}
		})
	}
}

// A wallet that was added after the copy was made has a mark, too.
func TestIndexes_of_a_wallet_added_after_the_copy_are_not_used_twice(t *testing.T) {
	t.Parallel()
	s := newMarkedDatabase(t, "sqlite")
	path := s.url[len("sqlite:"):]
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.allocateIndexes(3)
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.allocateIndex(); got != 3 {
		t.Errorf("the next index is %d, want 3", got)
	}
}

// crash copies a database and its marks from the disk while a server runs, and returns the copies, which are in the
// state that a crash would leave.
func (s *markedDatabase) crash() *markedDatabase {
	s.t.Helper()
	folder := s.t.TempDir()
	after := *s
	after.url, after.marks = "sqlite:"+filepath.Join(folder, "chequer.db"), filepath.Join(folder, "indexes.json")
	for from, to := range map[string]string{
		s.url[len("sqlite:"):]:          after.url[len("sqlite:"):],
		s.url[len("sqlite:"):] + "-wal": after.url[len("sqlite:"):] + "-wal",
		s.marks:                         after.marks,
	} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return &after
}

// Wallets search only a limited number of addresses, usually 20, beyond the last used address. A crash with
// little traffic must skip fewer indexes.
func TestIndexes_skipped_after_a_crash_are_few(t *testing.T) {
	t.Parallel()
	s := newMarkedDatabase(t, "sqlite")
	s.allocateIndexes(7) // up to a clean stop
	store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	create(t, store, creation("last", "shop"))
	if got := s.crash().allocateIndex(); got < 8 || got > 16 {
		t.Errorf("the index after a crash is %d, want 8 to 16", got)
	}
}

// A process that stops while another process runs must not lower the marks of the other process.
func TestMarks_of_running_servers_are_kept_at_a_stop(t *testing.T) {
	t.Parallel()
	s := newMarkedDatabase(t, "sqlite")
	running, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
	if err != nil {
		t.Fatal(err)
	}
	create(t, running, creation("first", "shop"))
	if got := s.allocateIndex(); got != 1 { // in another process that starts and stops
		t.Errorf("the second index is %d, want 1", got)
	}
	create(t, running, creation("third", "shop"))
	if got := s.crash().allocateIndex(); got < 3 {
		t.Errorf("the index after a crash is %d, although 2 was used", got)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.allocateIndex(); got != 3 {
		t.Errorf("the index after the last clean stop is %d, want 3", got)
	}
}

// Creations that run during a stop either are committed before the marks are settled, or fail.
func TestIndexes_are_not_used_twice_after_a_stop_during_creations(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMarkedDatabase(t, name)
			store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
			if err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			begun := make(chan struct{}, 8)
			for i := range 8 {
				group.Go(func() {
					for n := 0; ; n++ {
						if _, _, err := store.CreateInvoice(context.Background(), creation(fmt.Sprintf("c%d-%d", i, n), "shop")); err != nil {
							return
						}
						if n == 3 {
							begun <- struct{}{}
						}
					}
				})
			}
			for range 8 {
				<-begun
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			group.Wait()
			text, err := os.ReadFile(s.marks)
			if err != nil {
				t.Fatal(err)
			}
			var marks map[string]int64
			if err := json.Unmarshal(text, &marks); err != nil {
				t.Fatal(err)
			}
			next := rows(t, s.url, "SELECT CAST(next AS TEXT) FROM counters WHERE name = 'shop/BTC'")
			if got := fmt.Sprint(marks["shop/BTC"]); len(next) != 1 || got != next[0] {
				t.Errorf("the mark is %s, want the counter %s", got, next)
			}
		})
	}
}

func TestIndexes_are_skipped_when_the_marks_are_lost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engine string
		want   uint32
	}{
		{"sqlite", 1003}, // the database was moved without its marks
		{"postgres", 3},  // a second machine has no marks yet
	} {
		t.Run(tt.engine, func(t *testing.T) {
			t.Parallel()
			s := newMarkedDatabase(t, tt.engine)
			s.allocateIndexes(3)
			if err := os.Remove(s.marks); err != nil {
				t.Fatal(err)
			}
			if got := s.allocateIndex(); got != tt.want {
				t.Errorf("index without marks = %d, want %d", got, tt.want)
			}
			if got := s.allocateIndex(); got != tt.want+1 {
				t.Errorf("the index after it = %d, want %d", got, tt.want+1)
			}
		})
	}
}

func TestMarks_that_are_damaged_stop_the_start(t *testing.T) {
	t.Parallel()
	marks := filepath.Join(t.TempDir(), "indexes.json")
	if err := os.WriteFile(marks, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := storage.Open(t.Context(), engines["sqlite"](t), box(t, 1), storage.Options{IndexMarks: marks})
	if err == nil {
		t.Error("damaged marks were accepted")
	}
}

// After a crash during a commit with many creations, the marks are above a counter that did not change. The
// database was not restored, so no index may be skipped.
func TestIndexes_are_not_skipped_after_a_failed_commit(t *testing.T) {
	t.Parallel()
	s := newMarkedDatabase(t, "sqlite")
	store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		create(t, store, creation(fmt.Sprint("made", i), "shop"))
	}
	var group sync.WaitGroup
	for i := range 200 { // all of them allocate an index and are rolled back
		group.Go(func() {
			c := creation(fmt.Sprint("lost", i), "shop")
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				if _, err := build(next); err != nil {
					return nil, err
				}
				for range 62 {
					if _, err := next("shop/BTC"); err != nil {
						return nil, err
					}
				}
				return nil, errors.New("undone")
			}
			_, _, _ = store.CreateInvoice(context.Background(), c)
		})
	}
	group.Wait()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.allocateIndex(); got != 3 {
		t.Errorf("the next index is %d, want 3", got)
	}
}

// Two servers with one data directory raise the marks of counters that the other does not use.
// Neither may reset the marks of the other.
func TestMarks_of_another_server_are_kept(t *testing.T) {
	t.Parallel()
	s := newMarkedDatabase(t, "sqlite")
	openServer := func() *storage.Storage {
		t.Helper()
		store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	first, second := openServer(), openServer()
	for i := range 150 {
		create(t, second, creation(fmt.Sprint("two", i), "shop"))
	}
	for i := range 150 {
		create(t, first, creation(fmt.Sprint("one", i), "bakery"))
	}
	text, err := os.ReadFile(s.marks)
	if err != nil {
		t.Fatal(err)
	}
	var marks map[string]int64
	if err := json.Unmarshal(text, &marks); err != nil {
		t.Fatal(err)
	}
	for _, counter := range []string{"shop/BTC", "bakery/BTC"} {
		if marks[counter] < 150 {
			t.Errorf("the mark of %s is %d after 150 indexes", counter, marks[counter])
		}
	}
	// A server that allocates its first index late must not treat the counter as lost.
	if got := create(t, first, creation("late", "shop")).Methods[0].Index; got != 150 {
		t.Errorf("the first server's first index of the shop is %d, want 150", got)
	}
}

func TestMarks_that_are_null_or_absent_begin_at_0(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"null": "null", "absent": ""} {
		marks := filepath.Join(t.TempDir(), "indexes.json")
		if content != "" {
			if err := os.WriteFile(marks, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := &markedDatabase{t: t, url: engines["sqlite"](t), marks: marks, log: &logtest.Journal{}}
		addMerchants(t, open(t, s.url))
		if got := s.allocateIndex(); got != 0 {
			t.Errorf("%s: the first index is %d, want 0", name, got)
		}
	}
}

func TestMarks_that_cannot_be_written_stop_the_start(t *testing.T) {
	t.Parallel()
	_, err := storage.Open(t.Context(), engines["sqlite"](t), box(t, 1), storage.Options{IndexMarks: filepath.Join(t.TempDir(), "nowhere", "indexes.json")})
	if err == nil {
		t.Error("marks in a missing folder were accepted")
	}
}

// On a read-only file system a lock can be opened for reading, and the first creation would fail.
func TestLocks_that_cannot_be_written_stop_the_start(t *testing.T) {
	t.Parallel()
	program, err := os.Executable() // a running program cannot be opened for writing
	if err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{".use", ".lock"} {
		marks := filepath.Join(t.TempDir(), "indexes.json")
		if err := os.Symlink(program, marks+ending); err != nil {
			t.Fatal(err)
		}
		s, err := storage.Open(t.Context(), engines["sqlite"](t), box(t, 1), storage.Options{IndexMarks: marks})
		if err == nil {
			t.Errorf("%s: the database was opened", ending)
			s.Close()
		}
	}
}

func TestRestore_skips_indexes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		created, lost int // invoices before the backup and after it
		keepMarks     bool
		minimum       uint32
		maximum       uint32
	}{
		{"on_a_new_machine", 5, 0, false, 1005, 1005},
		{"before_the_first_invoice", 0, 5, false, 1000, 1000},
		{"on_the_same_machine", 5, 5, true, 1005, 1005},
		{"on_the_same_machine_after_many", 5, 1050, true, 1055, 1160},
	} {
		for name := range engines {
			t.Run(tt.name+"_"+name, func(t *testing.T) {
				t.Parallel()
				s := newMarkedDatabase(t, name)
				store := open(t, s.url)
				wallet := newWallet("w1", "BTC", "zpub", noon)
				wallet.Counter = "shop/BTC"
				if err := store.CreateWallet(t.Context(), wallet); err != nil {
					t.Fatal(err)
				}
				s.allocateIndexes(tt.created)
				stream, _ := backUp(t, s.url)
				s.allocateIndexes(tt.lost)

				s.url = engines[name](t)
				if !tt.keepMarks {
					s.marks = filepath.Join(t.TempDir(), "indexes.json")
				}
				restore(t, s.url, stream, backup.RestoreOptions{IndexMarks: s.marks})
				first := s.allocateIndex()
				if first < tt.minimum || first > tt.maximum {
					t.Errorf("the next index is %d, want %d to %d", first, tt.minimum, tt.maximum)
				}
				if next := s.allocateIndex(); next != first+1 {
					t.Errorf("the index after %d is %d: indexes were skipped a second time", first, next)
				}
			})
		}
	}
}

func TestRestore_skips_indexes_of_wallets_without_a_counter(t *testing.T) {
	t.Parallel()
	s := newMarkedDatabase(t, "sqlite")
	stream, _ := backUp(t, s.url) // before there was any wallet
	used := s.allocateIndexes(30)
	s.url = engines["sqlite"](t)
	restore(t, s.url, stream, backup.RestoreOptions{IndexMarks: s.marks})
	if got := s.allocateIndex(); got <= used[29] {
		t.Errorf("the next index is %d, although %d was used", got, used[29])
	}
}
