package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
)

// SQLite continues to write to a file that was deleted or replaced. The written data is lost when the
// process ends. See SQLite, "How To Corrupt An SQLite Database File": unlinking or renaming a database file
// while in use.
func TestReady_fails_if_the_file_of_the_database_was_replaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path+".copy", content, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".copy", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "chequer.db")
			e := open(t, "sqlite:"+path, engine.Options{})
			e.SetProofTTL(0)
			if err := e.Ready(t.Context()); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if err := e.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "deleted or replaced") {
				t.Errorf("after: error %v, want that the file was deleted or replaced", err)
			}
		})
	}
}

func TestReady_fails_while_SQLite_accepts_no_writes(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	e := open(t, url, engine.Options{BusyTimeout: 10 * time.Millisecond})
	other, err := sqlite(t, url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the second and the third result are cached
		if err := e.Ready(t.Context()); !errors.Is(err, errUnavailable) {
			t.Errorf("got error %v, want %v", err, errUnavailable)
		}
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	e.SetProofTTL(0)
	if err := e.Ready(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestReady_caches_its_result(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, newURL(t), engine.Options{})
			e.SetProofTTL(time.Hour)
			if err := e.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			exec(t, e, "DELETE FROM meta WHERE name = 'ready_at'")
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() {
					if err := e.Ready(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if count(t, e, "SELECT COUNT(*) FROM meta WHERE name = 'ready_at'") > 0 {
				t.Error("Ready wrote a second time")
			}
		})
	}
}
