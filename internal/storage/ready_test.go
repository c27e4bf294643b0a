package storage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// SQLite goes on writing to a file that was deleted or replaced, and all of it is lost
// with the process. See SQLite, "How To Corrupt An SQLite Database File": unlinking or
// renaming a database file while in use.
func TestReady_notices_that_the_file_of_the_database_is_another(t *testing.T) {
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
			s := open(t, "sqlite:"+path)
			s.SetProofTTL(0)
			if err := s.Ready(t.Context()); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "deleted or replaced") {
				t.Errorf("after: error %v, want that the file was deleted or replaced", err)
			}
		})
	}
}
