// Package storagetest provides new databases for tests. For PostgreSQL it starts its own server.
package storagetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"chequer/internal/programtest"
	"chequer/internal/seal"
	"chequer/internal/storage"
)

// template is a database with the current schema, which new databases are copied from.
const template = "chequer_template"

var (
	start   = sync.OnceValues(startCluster)
	prepare = sync.OnceValue(prepareTemplate)
	created atomic.Int64
)

// Postgres returns the URL of a new database with the current schema, which is deleted after the test. The server
// starts with the first call, serves the whole test binary, and ends with it. If PostgreSQL is not installed, the
// test is skipped, but fails in CI.
func Postgres(t testing.TB) string {
	t.Helper()
	needPostgres(t)
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test_%d", created.Add(1))
	server, _ := start()
	if err := run(server.url("postgres"), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("make database: %v", err)
	}
	t.Cleanup(func() {
		if err := run(server.url("postgres"), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("delete database: %v", err)
		}
	})
	return server.url(name)
}

// needPostgres skips a test if PostgreSQL is not installed, but fails it in CI.
func needPostgres(t testing.TB) {
	t.Helper()
	if binaries() == "" {
		programtest.SkipUnlessCI(t, "PostgreSQL is not installed")
	}
}

// url returns the URL of a database of the server.
func (c *cluster) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Host: fmt.Sprintf("127.0.0.1:%d", c.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// prepareTemplate makes the template.
func prepareTemplate() error {
	server, err := start()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := run(server.url("postgres"), "CREATE DATABASE "+template); err != nil {
		return fmt.Errorf("make template: %w", err)
	}
	if err := migrate(server.url(template)); err != nil {
		return fmt.Errorf("make template: %w", err)
	}
	return run(server.url(template), deleteKey)
}

// deleteKey deletes the check value of the master key, because every test has its own key.
const deleteKey = "DELETE FROM meta WHERE name = 'master_key'"

// migrate creates the tables of this program in an empty database.
func migrate(url string) error {
	box, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		return err
	}
	s, err := storage.Open(context.Background(), url, box, storage.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// run runs a statement in a database.
func run(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", database)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// binaries returns the directory of the newest installed PostgreSQL, "" if there is none.
func binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	slices.SortFunc(found, func(a, b string) int { // by version: 9 comes before 15
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return filepath.Dir(found[len(found)-1])
}
