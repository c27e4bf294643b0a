package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/storage/backup"
)

// someBackup returns a backup of a database with a few rows.
func someBackup(t *testing.T) []byte {
	t.Helper()
	url := engines["sqlite"](t)
	s := open(t, url)
	addMerchants(t, s)
	create(t, s, creation("a", "shop"))
	stream, _ := backUp(t, url)
	return stream
}

// checkBothRefuse fails unless Check returns the wanted error and Restore returns an error.
func checkBothRefuse(t *testing.T, url string, stream []byte, damage string, want error) {
	t.Helper()
	if _, _, err := backup.Check(bytes.NewReader(stream)); !errors.Is(err, want) {
		t.Errorf("check %s: got error %v, want %v", damage, err, want)
	}
	// Restore may return another error, since the database may notice a missing row first.
	if _, err := backup.Restore(t.Context(), url, bytes.NewReader(stream), backup.RestoreOptions{}); err == nil {
		t.Errorf("restore %s: got no error", damage)
	}
}

func TestRestore_refuses_an_incomplete_backup(t *testing.T) {
	t.Parallel()
	stream := someBackup(t)
	lines := bytes.SplitAfter(stream, []byte("\n"))
	lines = lines[:len(lines)-1] // nothing follows the last newline
	withoutLine := func(i int) []byte {
		return bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
	}
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			for i := 0; i < len(lines); i += 8 {
				checkBothRefuse(t, url, bytes.Join(lines[:i], nil), fmt.Sprintf("cut before line %d", i+1), backup.ErrDamaged)
				checkBothRefuse(t, url, withoutLine(i), fmt.Sprintf("without line %d", i+1), backup.ErrDamaged)
			}
			checkBothRefuse(t, url, append(bytes.Clone(stream), "{}\n"...), "with a line after the end", backup.ErrDamaged)
			for table, rows := range dump(t, url) {
				if len(rows) > 0 && table != "meta" {
					t.Errorf("table %s has rows: %q", table, rows)
				}
			}
			restore(t, url, stream, backup.RestoreOptions{}) // the refused restores left no rows
		})
	}
}

func TestCheck_detects_every_flipped_or_missing_byte(t *testing.T) {
	t.Parallel()
	stream := someBackup(t)
	for i := range stream {
		if _, _, err := backup.Check(bytes.NewReader(stream[:i])); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("cut at %d: got error %v, want %v", i, err, backup.ErrDamaged)
		}
		flipped := bytes.Clone(stream)
		flipped[i] ^= 0x10
		if _, _, err := backup.Check(bytes.NewReader(flipped)); err == nil {
			t.Fatalf("a change of byte %d of %d is not detected: …%q…", i, len(stream), flipped[max(0, i-20):min(len(flipped), i+20)])
		}
	}
}

func TestRestore_refuses_newer_releases(t *testing.T) {
	t.Parallel()
	header := string(bytes.SplitAfterN(someBackup(t), []byte("\n"), 2)[0])
	url := engines["sqlite"](t)
	for _, change := range [][2]string{{`"chequer_backup":1`, `"chequer_backup":2`}, {`"schema":`, `"schema":9`}} {
		newer := strings.Replace(header, change[0], change[1], 1)
		checkBothRefuse(t, url, []byte(newer), newer, backup.ErrNewer)
	}
	if err := backup.CheckEmpty(t.Context(), url); err != nil {
		t.Error(err)
	}
}

func TestRestore_refuses_a_database_in_use(t *testing.T) {
	t.Parallel()
	stream := someBackup(t)
	refuse := func(t *testing.T, url string) {
		t.Helper()
		before := dump(t, url)
		if _, err := backup.Restore(t.Context(), url, bytes.NewReader(stream), backup.RestoreOptions{}); !errors.Is(err, backup.ErrNotEmpty) {
			t.Errorf("got error %v, want %v", err, backup.ErrNotEmpty)
		}
		if after := dump(t, url); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the database was changed from %v to %v", before, after)
		}
	}
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			if err := backup.CheckEmpty(t.Context(), url); err != nil {
				t.Errorf("new database: %v", err)
			}
			addMerchants(t, open(t, url))
			if err := backup.CheckEmpty(t.Context(), url); !errors.Is(err, backup.ErrNotEmpty) {
				t.Errorf("got error %v, want %v", err, backup.ErrNotEmpty)
			}
			refuse(t, url)
			execSQL(t, url, "DELETE FROM meta WHERE name = 'master_key'") // like a user who tries to bypass the check
			refuse(t, url)
		})
	}
}

func TestRestore_rolls_back_everything_if_the_last_step_fails(t *testing.T) {
	t.Parallel()
	stream := someBackup(t)
	errSave := errors.New("no room for the key")
	for name, newURL := range engines {
		url := newURL(t)
		_, err := backup.Restore(t.Context(), url, bytes.NewReader(stream), backup.RestoreOptions{BeforeCommit: func() error { return errSave }})
		if !errors.Is(err, errSave) {
			t.Errorf("%s: got error %v, want %v", name, err, errSave)
		}
		if remaining := rows(t, url, "SELECT id FROM invoices"); len(remaining) > 0 {
			t.Errorf("%s: rows remain: %q", name, remaining)
		}
		restore(t, url, stream, backup.RestoreOptions{})
	}
}

func TestRestore_refuses_damaged_marks(t *testing.T) {
	t.Parallel()
	marks := filepath.Join(t.TempDir(), "indexes.json")
	writeFile(t, marks, "{")
	_, err := backup.Restore(t.Context(), engines["sqlite"](t), bytes.NewReader(someBackup(t)), backup.RestoreOptions{IndexMarks: marks})
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got error %v", err)
	}
}
