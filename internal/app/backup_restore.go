package app

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
	"chequer/internal/storage"
)

var errOtherMasterKey = errors.New("is another master key than the backup's: nothing that the backup holds could be opened with it")

// RestoreOptions are what is needed to restore a backup.
type RestoreOptions struct {
	// Passphrase is asked for when nothing else stands in the way.
	Passphrase func() (string, error)
	Log        *slog.Logger
}

// Restored is what a restore did.
type Restored struct {
	storage.Restored
	// MasterKeyFile is where the master key was written, "" when it was there.
	MasterKeyFile string `json:"master_key_file"`
}

// Restore brings a backup into an empty database, of either engine, and the
// master key into the data directory unless it is there or in the settings. The
// file is read twice: nothing is touched before all of it is known to be whole.
func Restore(ctx context.Context, c config.Config, path string, o RestoreOptions) (Restored, error) {
	f, err := os.Open(path)
	if err != nil {
		return Restored{}, fmt.Errorf("read backup: %w", err)
	}
	defer f.Close()
	if err := storage.CheckEmpty(ctx, c.DatabaseURL); err != nil {
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
	core, err := OpenCore(ctx, c, Options{Log: o.Log, Upgrade: true}) // as a server does
	if err != nil {
		return restored, fmt.Errorf("restored, but: %w", err)
	}
	return restored, core.Close()
}

// load writes what the file holds into the database.
func load(ctx context.Context, c config.Config, f *os.File, passphrase string, beforeCommit func() error) (storage.Restored, error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return storage.Restored{}, fmt.Errorf("data directory: %w", err)
	}
	r, err := openBackup(f, passphrase)
	if err != nil {
		return storage.Restored{}, err
	}
	return storage.Restore(ctx, c.DatabaseURL, r, storage.RestoreOptions{
		IndexMarks: filepath.Join(c.DataDir, indexMarks), BeforeCommit: beforeCommit,
	})
}

// placeForMasterKey is the file that a backup's master key has to be written to;
// "" when it is there or in the settings. Another one is never replaced.
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

// writeMasterKey writes a key that only its owner can read, wholly or not at all,
// and over no other. It is on disk when it returns.
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
	if err := os.Link(f.Name(), path); err != nil { // fails when another process was faster
		return fmt.Errorf("master key: %w", err)
	}
	return durable.SyncFolder(path)
}
