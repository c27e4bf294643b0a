package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"chequer/internal/storage"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
)

func TestOpen_refuses_another_master_key(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		_, err := storage.Open(t.Context(), url, box(t, 2), storage.Options{})
		if !errors.Is(err, engine.ErrMasterKey) || !strings.Contains(err.Error(), "CHEQUER_MASTER_KEY") {
			t.Errorf("got error %v, want one that names CHEQUER_MASTER_KEY", err)
		}
		open(t, url) // the right key is still accepted
	})
}

func TestOpen_refuses_a_newer_schema(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		execSQL(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		_, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{})
		if !errors.Is(err, engine.ErrNewer) {
			t.Errorf("got error %v, want %v", err, engine.ErrNewer)
		}
	})
}

func TestOpen_makes_a_new_database_once_concurrently(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			if name == "postgres" { // the new database has the schema already
				execSQL(t, url, "DROP SCHEMA public CASCADE")
				execSQL(t, url, "CREATE SCHEMA public")
			}
			if used, err := engine.InUse(t.Context(), url); err != nil || used {
				t.Errorf("before Open: in use %v, error %v", used, err)
			}
			var group sync.WaitGroup
			for range 6 {
				group.Go(func() { open(t, url) })
			}
			group.Wait()
			if used, err := engine.InUse(t.Context(), url); err != nil || !used {
				t.Errorf("after Open: in use %v, error %v", used, err)
			}
			if versions := rows(t, url, "SELECT version_id FROM goose_db_version WHERE version_id > 0 GROUP BY version_id HAVING COUNT(*) > 1"); len(versions) != 0 {
				t.Errorf("migrations applied more than once: %q", versions)
			}
		})
	}
}

func TestOpen_accepts_any_file_name(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a? b#c%d.db")
	for _, url := range []string{path, "sqlite:" + path} {
		open(t, url)
	}
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := file.Mode().Perm(); mode != 0o600 {
		t.Errorf("got mode %o, want 600", mode)
	}
}

func TestOpen_error_names_the_problem(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no", "such", "directory.db")
	for url, want := range map[string]string{
		"":                       "sqlite:PATH",
		"mysql://localhost/shop": "sqlite:PATH",
		"sqlite:":                "sqlite:PATH",
		missing:                  "no such file or directory",
		"postgres://postgres:secret@127.0.0.1:1/x?connect_timeout=2": "refused",
	} {
		_, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): got error %v, want one with %q", url, err, want)
		}
	}
}

// BenchmarkOpen measures the time to open the database at the start of the program.
func BenchmarkOpen(b *testing.B) {
	for name, url := range map[string]string{"sqlite": filepath.Join(b.TempDir(), "chequer.db"), "postgres": storagetest.Postgres(b)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := storage.Open(b.Context(), url, box(b, 1), storage.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestOpen_errors_never_contain_a_URL_that_cannot_be_parsed(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://shop:hunter#seven@db.example/chequer",
		"postgres://shop:hunter/seven@db.example/chequer",
		"postgres://shop:hunter%seven@db.example/chequer",
	} {
		_, err := storage.Open(t.Context(), url, box(t, 1), storage.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "seven") {
			t.Errorf("%s: got error %v, want one without the password", url, err)
		}
	}
}

// copyFile copies only the file of a SQLite database in use, as cp does, and returns the URL of the
// copy.
func copyFile(t *testing.T, url string) string {
	t.Helper()
	content, err := os.ReadFile(url[len("sqlite:"):])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chequer.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

func TestOpen_writes_a_new_database_to_its_file(t *testing.T) {
	t.Parallel()
	url := engines["sqlite"](t)
	open(t, url) // stays open
	if used, err := engine.InUse(t.Context(), copyFile(t, url)); err != nil || !used {
		t.Errorf("the copy of a new database is in use: %v, error %v", used, err)
	}
}

func TestStorage_checkpoints_its_file_when_idle(t *testing.T) {
	t.Parallel()
	url := engines["sqlite"](t)
	s := open(t, url)
	addMerchants(t, s)
	create(t, s, creation("a", "shop"))
	await(t, "a copy of the file has the invoice", func() bool {
		return len(rows(t, copyFile(t, url), "SELECT id FROM invoices")) == 1
	})
}

func TestInUse_is_false_without_tables(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		url := newURL(t)
		if name == "sqlite" { // a file with only a header, like a copy without the write-ahead log
			execSQL(t, url, "PRAGMA journal_mode = WAL")
		}
		if used, err := engine.InUse(t.Context(), url); used || err != nil {
			t.Errorf("%s: in use %v, error %v", name, used, err)
		}
	}
}
