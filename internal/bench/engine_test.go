package bench_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/storage/storagetest"
)

// engine returns the folder of a program and the URL of a new database for it.
type engine func(testing.TB) (folder, database string)

// onEngines runs a benchmark on SQLite and, if the settings name a PostgreSQL database, on
// PostgreSQL.
func onEngines(b *testing.B, run func(b *testing.B, e engine)) {
	b.Helper()
	b.Run("SQLite", func(b *testing.B) { run(b, newSQLite) })
	if settings.postgres != "" {
		b.Run("PostgreSQL", func(b *testing.B) { run(b, newPostgres) })
	}
}

func newSQLite(t testing.TB) (folder, database string) {
	folder = t.TempDir()
	return folder, "sqlite:" + filepath.Join(folder, "chequer.db")
}

// newPostgres creates a database on the server of BENCH_POSTGRES. The database is dropped after the
// benchmark.
func newPostgres(t testing.TB) (folder, database string) {
	t.Helper()
	u, err := url.Parse(settings.postgres)
	if err != nil {
		t.Fatalf("BENCH_POSTGRES: %v", err)
	}
	name := "bench_" + strings.ToLower(rand.Text())
	server := storagetest.Database(t, settings.postgres)
	if _, err := server.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := server.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	u.Path = "/" + name
	return t.TempDir(), u.String()
}

// size returns the bytes that a database takes on disk, after a checkpoint.
func size(t testing.TB, database string) (bytes int64) {
	t.Helper()
	path, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		if err := storagetest.Database(t, database).QueryRowContext(t.Context(), "SELECT pg_database_size(current_database())").Scan(&bytes); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	storagetest.Exec(t, database, "PRAGMA wal_checkpoint(TRUNCATE)")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
