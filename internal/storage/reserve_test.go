package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/storage"
)

// shop is a database with a file of index marks, closed and opened as a server
// is stopped and started.
type shop struct {
	t     *testing.T
	url   string
	marks string
	made  int
}

// index creates an invoice in a new run of the server and tells its index.
func (s *shop) index() uint32 {
	s.t.Helper()
	return s.indexes(1)[0]
}

func (s *shop) indexes(count int) []uint32 {
	s.t.Helper()
	store, err := storage.Open(context.Background(), s.url, box(s.t, 1), storage.Options{IndexMarks: s.marks})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	var list []uint32
	for range count {
		s.made++
		list = append(list, create(s.t, store, creation(fmt.Sprintf("inv%d", s.made), "shop")).Methods[0].Index)
	}
	return list
}

func newShop(t *testing.T, engine string) *shop {
	t.Helper()
	s := &shop{t: t, url: engines[engine](t), marks: filepath.Join(t.TempDir(), "indexes.json")}
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

func TestIndexesSkipNothingOverRestarts(t *testing.T) {
	t.Parallel()
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, name)
			for want := range uint32(3) {
				if got := s.index(); got != want {
					t.Errorf("index after a restart = %d, want %d", got, want)
				}
			}
			list := s.indexes(250)
			if first, last := list[0], list[249]; first != 3 || last != 252 {
				t.Errorf("250 indexes run from %d to %d", first, last)
			}
		})
	}
}

func TestIndexesOfARestoredDatabaseAreNotUsedTwice(t *testing.T) {
	t.Parallel()
	s := newShop(t, "sqlite")
	s.indexes(5)
	path := s.url[len("sqlite:"):]
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := s.indexes(300)
	for _, side := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + side)
	}
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	s.made += 1000 // other ids than those that the backup does not know
	if got := s.index(); got <= used[len(used)-1] {
		t.Errorf("after a restore the next index is %d, though %d was used", got, used[len(used)-1])
	}
}

func TestIndexesLeapWhenTheMarksAreLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		engine string
		want   uint32
	}{
		{"sqlite", 1003}, // somebody put the database alone somewhere else
		{"postgres", 3},  // a second machine has no marks yet
	} {
		t.Run(tt.engine, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, tt.engine)
			s.indexes(3)
			if err := os.Remove(s.marks); err != nil {
				t.Fatal(err)
			}
			if got := s.index(); got != tt.want {
				t.Errorf("index without marks = %d, want %d", got, tt.want)
			}
			if got := s.index(); got != tt.want+1 {
				t.Errorf("the index after it = %d, want %d", got, tt.want+1)
			}
		})
	}
}

func TestDamagedMarksStopTheStart(t *testing.T) {
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

// A crash in the middle of a commit that held many creations leaves marks above
// a counter that never moved: that is no restore, and skips nothing.
func TestAFailedCommitSkipsNoIndexes(t *testing.T) {
	t.Parallel()
	s := newShop(t, "sqlite")
	store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		create(t, store, creation(fmt.Sprint("made", i), "shop"))
	}
	var group sync.WaitGroup
	for i := range 200 { // all of them take an index, and none keeps it
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
	if got := s.index(); got != 3 {
		t.Errorf("the next index is %d, want 3", got)
	}
}

// Two servers of one data directory raise marks of counters that the other does
// not use: neither may put the other's back.
func TestServersKeepEachOthersMarks(t *testing.T) {
	t.Parallel()
	s := newShop(t, "sqlite")
	openOne := func() *storage.Storage {
		t.Helper()
		store, err := storage.Open(t.Context(), s.url, box(t, 1), storage.Options{IndexMarks: s.marks})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	one, two := openOne(), openOne()
	for i := range 150 {
		create(t, two, creation(fmt.Sprint("two", i), "shop"))
	}
	for i := range 150 {
		create(t, one, creation(fmt.Sprint("one", i), "bakery"))
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
	// And one that begins late takes no counter for lost.
	if got := create(t, one, creation("late", "shop")).Methods[0].Index; got != 150 {
		t.Errorf("the first server's first index of the shop is %d, want 150", got)
	}
}

func TestMarksThatCannotBeWrittenStopTheStart(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"null": "null", "none": ""} {
		marks := filepath.Join(t.TempDir(), "indexes.json")
		if content != "" {
			if err := os.WriteFile(marks, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := &shop{t: t, url: engines["sqlite"](t), marks: marks}
		addMerchants(t, open(t, s.url))
		if got := s.index(); got != 0 {
			t.Errorf("%s: the first index is %d", name, got)
		}
	}
	_, err := storage.Open(t.Context(), engines["sqlite"](t), box(t, 1), storage.Options{IndexMarks: filepath.Join(t.TempDir(), "nowhere", "indexes.json")})
	if err == nil {
		t.Error("marks in a folder that is not there were accepted")
	}
}
