package datadir_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/storage/backup"
	"chequer/internal/storage/storagetest"
)

const phrase = "correct horse battery"

// zpub is the account key of BIP 84. In these tests it only receives.
const zpub = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"

// settings returns the settings of a server with its own data directory. The database is SQLite by default.
func settings(t *testing.T, database string) config.Config {
	t.Helper()
	environ := []string{"CHEQUER_DATA_DIR=" + filepath.Join(t.TempDir(), "data")}
	if database != "" {
		environ = append(environ, "CHEQUER_DATABASE_URL="+database)
	}
	c, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// content is the data of a shop, with the secrets decrypted.
type content struct {
	Keys    []merchant.Key
	Wallets []merchant.Wallet
}

// open opens a server's storage as a command does.
func open(t *testing.T, c config.Config) *app.Core {
	t.Helper()
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := core.Close(); err != nil {
			t.Error(err)
		}
	})
	return core
}

// newShop creates a shop with a key and a wallet. Its storage stays open until the test ends.
func newShop(t *testing.T, c config.Config) content {
	t.Helper()
	core := open(t, c)
	shop, err := core.FirstShop(t.Context(), c, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Merchants.CreateKey(t.Context(), shop.ID, merchant.Live, merchant.AllScopes, ""); err != nil {
		t.Fatal(err)
	}
	key, err := keys.Parse(zpub, keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Wallets.Add(t.Context(), shop.ID, merchant.Addition{Key: key}); err != nil {
		t.Fatal(err)
	}
	return read(t, core)
}

func read(t *testing.T, core *app.Core) (all content) {
	t.Helper()
	list, err := core.Storage.Merchants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		keys, err := core.Storage.Keys(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		wallets, err := core.Storage.Wallets(t.Context(), m.ID, merchant.Live)
		if err != nil {
			t.Fatal(err)
		}
		all.Keys, all.Wallets = append(all.Keys, keys...), append(all.Wallets, wallets...)
	}
	return all
}

// passphraseFunc returns a Passphrase that returns a passphrase.
func passphraseFunc(passphrase string) func() (string, error) {
	return func() (string, error) { return passphrase, nil }
}

// noPassphrase returns a Passphrase that fails the test when it is called.
func noPassphrase(t *testing.T) func() (string, error) {
	return func() (string, error) {
		t.Error("the passphrase was requested")
		return phrase, nil
	}
}

// backUp writes a backup to a new directory. Its work factor is low, so that the tests are fast.
func backUp(t *testing.T, c config.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.backup")
	if _, err := datadir.Backup(t.Context(), c, path, datadir.BackupOptions{Work: 4, Passphrase: passphraseFunc(phrase)}); err != nil {
		t.Fatal(err)
	}
	return path
}

func restore(t *testing.T, c config.Config, path string) (datadir.Restored, error) {
	t.Helper()
	return datadir.Restore(t.Context(), c, path, datadir.RestoreOptions{Passphrase: passphraseFunc(phrase), Log: slog.New(slog.DiscardHandler)})
}

func TestBackup_moves_a_shop_between_the_engines(t *testing.T) {
	t.Parallel()
	first := settings(t, "")
	want := newShop(t, first)
	backup := backUp(t, first)
	for _, database := range []string{storagetest.Postgres(t), ""} {
		c := settings(t, database)
		restored, err := restore(t, c, backup)
		if err != nil {
			t.Fatal(err)
		}
		key := filepath.Join(c.DataDir, "master.key")
		if restored.MasterKeyFile != key || restored.Skipped != 1000 || restored.Rows["wallets"] != 1 {
			t.Errorf("got %+v", restored)
		}
		if a, b := text(t, key), text(t, filepath.Join(first.DataDir, "master.key")); a != b {
			t.Errorf("master key %s, want %s", a, b)
		}
		checkOwnerOnly(t, key)
		if diff := cmp.Diff(want, read(t, open(t, c))); diff != "" {
			t.Errorf("restored into %q (-want +got):\n%s", c.DatabaseURL, diff)
		}
		backup = backUp(t, c) // the next restore uses a backup of this engine
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func checkOwnerOnly(t *testing.T, path string) {
	t.Helper()
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := file.Mode().Perm(); mode != 0o600 {
		t.Errorf("%s has mode %o, want 600", path, mode)
	}
}

func TestBackup_contains_no_plain_text(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	newShop(t, c)
	path := backUp(t, c)
	checkOwnerOnly(t, path)
	backupText := text(t, path)
	master := strings.TrimSpace(text(t, filepath.Join(c.DataDir, "master.key")))
	raw, err := hex.DecodeString(master)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{master, string(raw), "zpub", "wallets", "master_key"} {
		if strings.Contains(backupText, secret) {
			t.Errorf("the file contains %q", secret)
		}
	}
}

func TestBackup_replaces_a_file_only_with_force(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	newShop(t, c)
	path := backUp(t, c)
	before := text(t, path)
	_, err := datadir.Backup(t.Context(), c, path, datadir.BackupOptions{Work: 4, Passphrase: noPassphrase(t)})
	if err == nil || !strings.Contains(err.Error(), "--force") || text(t, path) != before {
		t.Errorf("got error %v, want one that names --force", err)
	}
	_, err = datadir.Backup(t.Context(), c, path, datadir.BackupOptions{Force: true, Work: 4, Passphrase: passphraseFunc(phrase)})
	if err != nil || text(t, path) == before {
		t.Errorf("with force: error %v", err)
	}
	if _, err := restore(t, settings(t, ""), path); err != nil {
		t.Error(err)
	}
}

func TestBackup_that_fails_leaves_no_file(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	noTerminal := errors.New("no terminal")
	folder, ctx := t.TempDir(), t.Context()
	fails := func(name string, passphrase func() (string, error), want string) {
		t.Helper()
		_, err := datadir.Backup(ctx, c, filepath.Join(folder, "shop.backup"), datadir.BackupOptions{Work: 4, Passphrase: passphrase})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", name, err, want)
		}
		if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
			t.Errorf("%s: files %v, error %v, want no file", name, files, err)
		}
	}
	fails("no database", noPassphrase(t), "there is no database yet")
	if _, err := os.Stat(c.DataDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a data directory was created: %v", err)
	}
	newShop(t, c)
	fails("a short passphrase", passphraseFunc("eleven char"), "at least 12 characters")
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(t.Context())
	fails("interrupted", func() (string, error) { cancel(); return phrase, nil }, context.Canceled.Error())
	ctx = t.Context()
	fails("no passphrase", func() (string, error) { return "", noTerminal }, noTerminal.Error())
	key := filepath.Join(c.DataDir, "master.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	fails("another master key", passphraseFunc(phrase), "another master key")
}

func TestRestore_changes_nothing_unless_the_backup_is_complete(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	newShop(t, c)
	path := backUp(t, c)
	backup := []byte(text(t, path))
	target := settings(t, "")
	refuses := func(name string, damaged []byte, passphrase, want string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "damaged")
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := datadir.Restore(t.Context(), target, file, datadir.RestoreOptions{Passphrase: passphraseFunc(passphrase)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", name, err, want)
		}
		if _, err := os.Stat(target.DataDir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: the data directory was created: %v", name, err)
		}
	}
	refuses("another passphrase", backup, "correct horse batterY", "passphrase is wrong")
	refuses("no passphrase", backup, "", "passphrase")
	refuses("nothing", nil, phrase, "damaged or incomplete")
	refuses("another kind of file", []byte("-- PostgreSQL database dump\n"), phrase, "or it is not a backup")
	for i := 0; i < len(backup); i += 41 {
		want := "damaged"
		refuses(fmt.Sprintf("cut at %d", i), backup[:i], phrase, want)
		flipped := bytes.Clone(backup)
		flipped[i] ^= 1
		refuses(fmt.Sprintf("flipped at %d", i), flipped, phrase, want)
	}
	refuses("cut by a byte", backup[:len(backup)-1], phrase, "damaged")
	refuses("with a byte more", append(bytes.Clone(backup), 0), phrase, "damaged")
	if _, err := restore(t, target, path); err != nil {
		t.Errorf("complete backup: %v", err)
	}
}

func TestRestore_with_an_existing_master_key(t *testing.T) {
	t.Parallel()
	source := settings(t, "")
	want := newShop(t, source)
	path := backUp(t, source)
	ownKey, other := text(t, filepath.Join(source.DataDir, "master.key")), strings.Repeat("0", 64)
	for _, tt := range []struct {
		name, setting, file string
		wantErr             string
	}{
		{"the_same_in_the_settings", ownKey, "", ""},
		{"the_same_in_the_data_directory", "", ownKey, ""}, // an earlier restore was killed
		{"another_in_the_settings", other, "", "CHEQUER_MASTER_KEY is not the master key of the backup"},
		{"another_in_the_data_directory", "", other, "master.key is not the master key of the backup"},
		{"an_invalid_key_in_the_data_directory", "", "x", "master.key is not the master key of the backup"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := settings(t, "")
			c.MasterKey = strings.TrimSpace(tt.setting)
			key := filepath.Join(c.DataDir, "master.key")
			if tt.file != "" {
				if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(key, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			restored, err := restore(t, c, path)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("got error %v, want %q", err, tt.wantErr)
				}
				if err := backup.CheckEmpty(t.Context(), c.DatabaseURL); err != nil {
					t.Error(err)
				}
				return
			}
			if err != nil || restored.MasterKeyFile != "" {
				t.Fatalf("got %+v, error %v, want no file written", restored, err)
			}
			if _, err := os.Stat(key); (err == nil) != (tt.file != "") {
				t.Errorf("master.key: %v", err)
			}
			if diff := cmp.Diff(want, read(t, open(t, c))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRestore_refuses_a_database_in_use(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	newShop(t, c)
	path := backUp(t, c)
	_, err := datadir.Restore(t.Context(), c, path, datadir.RestoreOptions{Passphrase: noPassphrase(t)})
	if !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("got error %v, want %v", err, backup.ErrNotEmpty)
	}
}
