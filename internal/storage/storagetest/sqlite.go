package storagetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"chequer/internal/storage"
)

// SQLite opens a new database in a file that is deleted after the test.
func SQLite(t testing.TB) *storage.Storage {
	t.Helper()
	return Open(t, File(t))
}

// File returns the URL of a new SQLite database with the current schema. Its directory is deleted after
// the test. Commits are synced to disk only in benchmarks: no data needs to survive a crash of the machine, and data
// survive the end of the process without a sync.
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
	if _, isBenchmark := t.(*testing.B); !isBenchmark {
		skipSync(path)
		t.Cleanup(func() { unsynced.Delete(dataSource(path)) })
	}
	return "sqlite:" + path
}

// unsynced holds the data sources of the databases that are not synced.
var unsynced sync.Map

// skipSync lets later connections of this process to a database commit without a sync to disk.
func skipSync(path string) {
	unsynced.Store(dataSource(path), true)
}

// dataSource returns the part of a data source name, before its options, that names a file.
func dataSource(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// The driver's hooks must not change while a connection is opened.
func init() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, name string) error {
		source, options, _ := strings.Cut(name, "?")
		if _, ok := unsynced.Load(source); !ok || strings.Contains(options, "query_only") {
			return nil // a connection that reads commits nothing, and the statement would make it read the schema
		}
		_, err := conn.ExecContext(context.Background(), "PRAGMA synchronous = OFF", nil)
		return err
	})
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
	skipSync(path)
	defer unsynced.Delete(dataSource(path))
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
