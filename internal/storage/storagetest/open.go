package storagetest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/seal"
	"chequer/internal/storage"
)

// Engines are the database engines that every test of storage runs on. Each function returns the URL of a
// new database: on SQLite of a file that does not exist yet, on PostgreSQL with the current schema.
var Engines = map[string]func(testing.TB) string{
	"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "chequer.db") },
	"postgres": Postgres,
}

// OnBoth runs a test on both engines, each with a new database with the merchants "shop" and
// "bakery".
func OnBoth(t *testing.T, test func(t *testing.T, s *storage.Storage, url string)) {
	t.Helper()
	t.Parallel()
	for name, newURL := range map[string]func(testing.TB) string{"sqlite": File, "postgres": Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			s := Open(t, url)
			AddMerchants(t, s)
			test(t, s, url)
		})
	}
}

// Open opens a database until the end of the test.
func Open(t testing.TB, url string) *storage.Storage {
	t.Helper()
	return OpenWithClock(t, url, nil)
}

// OpenWithClock is Open with a clock; nil is the machine's clock.
func OpenWithClock(t testing.TB, url string, now func() time.Time) *storage.Storage {
	t.Helper()
	s, err := storage.Open(context.Background(), url, Box(t, 1), storage.Options{Upgrade: true, Now: now})
	if err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Box returns a box with a master key that repeats one byte.
func Box(t testing.TB, b byte) *seal.Box {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{b}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// Rows returns the first column of a query, read on a separate connection.
func Rows(t testing.TB, url, query string, args ...any) []string {
	t.Helper()
	result, err := Database(t, url).QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer result.Close()
	var column []string
	for result.Next() {
		var text string
		if err := result.Scan(&text); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		column = append(column, text)
	}
	if err := result.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return column
}

// Exec runs a statement on a separate connection, like an operator with access to the database.
func Exec(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	if _, err := Database(t, url).ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Database opens a database beside the storage. It keeps no idle connections: a test that calls Exec for every row
// of many tables would use up those of the PostgreSQL server.
func Database(t testing.TB, url string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, url = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0)
	t.Cleanup(func() { db.Close() })
	return db
}

// MasterKey returns the master key of the Box with the same byte.
func MasterKey(b byte) []byte { return bytes.Repeat([]byte{b}, seal.KeySize) }

// Dump returns every table of a database, whether or not the program knows it: its rows as text,
// sorted.
func Dump(t testing.TB, url string) map[string][]string {
	t.Helper()
	list := "SELECT name FROM sqlite_schema WHERE type = 'table'"
	if strings.HasPrefix(url, "postgres") {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	tables := map[string][]string{}
	for _, name := range Rows(t, url, list) {
		if name == "goose_db_version" || strings.HasPrefix(name, "sqlite_") {
			continue
		}
		tables[name] = DumpTable(t, url, name)
	}
	return tables
}

// DumpTable returns the rows of a table as text, sorted. Booleans look the same on both engines.
func DumpTable(t testing.TB, url, table string) []string {
	t.Helper()
	result, err := Database(t, url).QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	columns, err := result.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{}
	for result.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := result.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		fields := make([]string, len(columns))
		for i, v := range values {
			if n, ok := v.(int64); ok && columns[i].DatabaseTypeName() == "BOOLEAN" {
				v = n != 0 // SQLite stores booleans as integers
			}
			fields[i] = fmt.Sprintf("%s: %#v", columns[i].Name(), v)
		}
		rows = append(rows, strings.Join(fields, ", "))
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}
