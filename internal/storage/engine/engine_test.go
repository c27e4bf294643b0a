package engine_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"chequer/internal/seal"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
)

// engines are the database engines that tests run on; each function returns the URL of a new
// database.
var engines = map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres}

// errUnavailable is the Options.Unavailable of the tests.
var errUnavailable = errors.New("unavailable")

// open opens a database until the end of the test.
func open(t testing.TB, url string, o engine.Options) *engine.Engine {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	o.Unavailable = errUnavailable
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e, err := engine.Open(t.Context(), url, box, o)
	if err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// exec runs a statement in a transaction.
func exec(t testing.TB, e *engine.Engine, statement string) {
	t.Helper()
	err := e.Write(t.Context(), func(ctx context.Context, q engine.Querier) error {
		_, err := q.ExecContext(ctx, statement)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// count returns the number that a query returns.
func count(t testing.TB, e *engine.Engine, query string) int {
	t.Helper()
	n, err := engine.Answer(t.Context(), e.Read, func(ctx context.Context, q engine.Querier) (n int, err error) {
		err = q.QueryRowContext(ctx, query).Scan(&n)
		return n, err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// sqlite returns a separate pool for a SQLite database, like another process.
func sqlite(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
