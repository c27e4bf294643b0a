package datadir

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

	"chequer/internal/config"
	"chequer/internal/durable"
	"chequer/internal/storage/backup"
)

var errOtherMasterKey = errors.New("is not the master key of the backup, so it cannot open the secrets in the backup")

// RestoreOptions are the options of a restore.
type RestoreOptions struct {
	// Passphrase returns the passphrase. It is called only after the checks that need no passphrase have
	// passed.
	Passphrase func() (string, error)
	Log        *slog.Logger
}

// Restored is the result of a restore.
type Restored struct {
	backup.Restored
	// MasterKeyFile is the file to which the master key was written; "" if the key existed already.
	MasterKeyFile string `json:"master_key_file"`
}

// Restore restores a backup into an empty database of either engine. It writes the master key to
// the data directory unless it is already there or in the settings. It reads the file twice:
// nothing is changed before the whole file has been checked.
func Restore(ctx context.Context, c config.Config, path string, o RestoreOptions) (Restored, error) {
	f, err := os.Open(path)
	if err != nil {
		return Restored{}, fmt.Errorf("read backup: %w", err)
	}
	defer f.Close()
	if err := backup.CheckEmpty(ctx, c.DatabaseURL); err != nil {
		return Restored{}, err
	}
	passphrase, err := o.Passphrase()
	if err != nil {
		return Restored{}, err
	}
	_, master, err := checkBackup(ctx, f, passphrase)
	if err != nil {
		return Restored{}, fmt.Errorf("read backup: %w", err)
	}
	keyFile, err := placeForMasterKey(c, master)
	if err != nil {
		return Restored{}, err
	}
	restored := Restored{MasterKeyFile: keyFile}
	restored.Restored, err = load(ctx, c, f, passphrase, func() error { return writeMasterKey(keyFile, master) })
	if err != nil {
		return Restored{}, err
	}
	s, _, err := Open(ctx, c, Options{Log: o.Log, Upgrade: true}) // upgrade the schema, as a server does
	if err != nil {
		return restored, fmt.Errorf("restored, but: %w", err)
	}
	return restored, errors.Join(s.Restored(ctx), s.Close())
}

// load restores the file's content into the database.
func load(ctx context.Context, c config.Config, f *os.File, passphrase string, beforeCommit func() error) (backup.Restored, error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return backup.Restored{}, fmt.Errorf("data directory: %w", err)
	}
	r, err := backup.Unseal(f, passphrase)
	if err != nil {
		return backup.Restored{}, err
	}
	return backup.Restore(ctx, c.DatabaseURL, r, backup.RestoreOptions{
		IndexMarks: filepath.Join(c.DataDir, indexMarks), BeforeCommit: beforeCommit,
	})
}

// placeForMasterKey returns the file to which the backup's master key must be written; "" if the
// key is already there or in the settings. A different key is never replaced.
func placeForMasterKey(c config.Config, master []byte) (string, error) {
	if c.MasterKey != "" {
		if key, err := hex.DecodeString(c.MasterKey); err != nil || !bytes.Equal(key, master) {
			return "", fmt.Errorf("CHEQUER_MASTER_KEY %w", errOtherMasterKey)
		}
		return "", nil
	}
	path := filepath.Join(c.DataDir, masterKeyFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", fmt.Errorf("master key: %w", err)
	}
	if key, err := hex.DecodeString(string(bytes.TrimSpace(text))); err != nil || !bytes.Equal(key, master) {
		return "", fmt.Errorf("%s %w", path, errOtherMasterKey)
	}
	return "", nil
}

// writeMasterKey writes a key that only its owner can read. It writes the whole file or nothing,
// never replaces a file, and returns when the file is on disk.
func writeMasterKey(path string, master []byte) error {
	if path == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), masterKeyFile+".*")
	if err != nil {
		return fmt.Errorf("master key: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(hex.EncodeToString(master) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("master key: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil { // fails if another process has created the file
		return fmt.Errorf("master key: %w", err)
	}
	return durable.SyncFolder(path)
}
