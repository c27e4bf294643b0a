package storagetest

import (
	"bytes"
	"path/filepath"
	"testing"

	"chequer/internal/seal"
	"chequer/internal/storage"
)

// SQLite opens a new database in a file that is deleted after the test.
func SQLite(t testing.TB) *storage.Storage {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	s, err := storage.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "chequer.db"), box, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close storage: %v", err)
		}
	})
	return s
}
