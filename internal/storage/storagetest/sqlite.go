package storagetest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"chequer/internal/storage"
)

// SQLite opens a new database in a file that is deleted after the test.
func SQLite(t testing.TB) *storage.Storage {
	t.Helper()
	return Open(t, File(t))
}

// File returns the URL of a new SQLite database with the current schema. Its directory is deleted after
// the test.
func File(t testing.TB) string {
	t.Helper()
	content, err := fileTemplate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chequer.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// fileTemplate returns the content of the file that File copies. The copy saves the time of all
// migrations in every test.
var fileTemplate = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "chequer-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "chequer.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, fmt.Errorf("make template: %w", err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"PRAGMA journal_mode = DELETE", deleteKey} {
		if _, err := db.Exec(statement); err != nil {
			return nil, fmt.Errorf("make template: %w", err)
		}
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
