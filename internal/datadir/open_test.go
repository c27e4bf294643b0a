package datadir_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/storage/backup"
	"chequer/internal/storage/engine"
)

// olderRelease returns the settings of a server whose database was created by the first release.
func olderRelease(t *testing.T) config.Config {
	t.Helper()
	c := settings(t, "")
	c.MasterKey = strings.Repeat("01", 32)
	stream, err := os.Open("../storage/testdata/schema1.backup")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), c.DatabaseURL, stream, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenCore_upgrades_only_with_the_option(t *testing.T) {
	t.Parallel()
	c := olderRelease(t)
	log := slog.New(slog.DiscardHandler)
	_, err := app.OpenCore(t.Context(), c, app.Options{Log: log})
	if !errors.Is(err, engine.ErrOlder) || !strings.Contains(err.Error(), "chequer migrate") {
		t.Errorf("got error %v, want %v and a remedy", err, engine.ErrOlder)
	}
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: log, Upgrade: true})
	if err != nil {
		t.Fatal(err)
	}
	if m := core.Storage.Migration(); m.From != 1 || m.To <= 1 || m.Copy != filepath.Join(c.DataDir, "chequer.db.schema-1") {
		t.Errorf("the upgrade was %+v", m)
	}
	if err := core.Close(); err != nil {
		t.Error(err)
	}
	open(t, c)
}

// If a database was lost, or copied without its log, its master key is still there.
func TestOpenCore_creates_no_database_when_there_is_an_old_master_key(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"without_the_file":   os.Remove,
		"with_an_empty_file": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := settings(t, "")
			first, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if err := lose(filepath.Join(c.DataDir, "chequer.db")); err != nil {
				t.Fatal(err)
			}
			if core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)}); err == nil {
				t.Error("opened, want an error", core.Close())
			} else if !strings.Contains(err.Error(), "has no tables") || !strings.Contains(err.Error(), "move the key to another directory") {
				t.Errorf("got error %v, want one with a remedy", err)
			}
			if err := os.Remove(filepath.Join(c.DataDir, "master.key")); err != nil {
				t.Fatal(err)
			}
			open(t, c)
		})
	}
}

func TestOpenCore_removes_the_key_when_the_database_cannot_be_created(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	c.DatabaseURL = "sqlite:" + filepath.Join(c.DataDir, "missing", "chequer.db")
	log := slog.New(slog.DiscardHandler)
	if core, err := app.OpenCore(t.Context(), c, app.Options{Log: log}); err == nil {
		t.Fatal("opened, want an error", core.Close())
	}
	if err := os.Mkdir(filepath.Join(c.DataDir, "missing"), 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, c)
}

// On a read-only file system the lock can be opened for reading.
func TestOpenCore_refuses_a_data_directory_that_cannot_be_written(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	program, err := os.Executable() // a running program cannot be opened for writing
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(c.DataDir, "start.lock")); err != nil {
		t.Fatal(err)
	}
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "start.lock") {
		t.Errorf("got error %v, want one that names the lock", err)
	}
	if err == nil {
		t.Error(core.Close())
	}
}
