package datadir

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"chequer/internal/config"
	"chequer/internal/filelock"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// masterKeyFile is the file of a master key that was created together with the database.
const masterKeyFile = "master.key"

// masterKey returns the key that seals the secrets in the database: that of the settings, or else
// that of a file in the data directory. It creates the file only together with a new database, so
// that a lost key is never silently replaced, and it refuses to create a database when there is an
// old key. The caller must have locked the data directory.
func masterKey(ctx context.Context, c config.Config) (key []byte, isNew bool, err error) {
	if c.MasterKey != "" {
		key, err = hex.DecodeString(c.MasterKey)
		return key, false, err
	}
	path := filepath.Join(c.DataDir, masterKeyFile)
	key, readErr := readMasterKey(path)
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		return nil, false, readErr
	}
	isUsed, err := engine.InUse(ctx, c.DatabaseURL)
	switch {
	case err != nil:
		return nil, false, err
	case readErr == nil && !isUsed:
		return nil, false, fmt.Errorf("%s has no tables, but %s is the master key of an earlier database: "+
			"put the database back, with the file that ends in -wal if there is one, or restore a backup with chequer restore. "+
			"To begin with an empty database, move the key to another directory", Place(c), path)
	case readErr == nil:
		return key, false, nil
	case isUsed:
		return nil, false, fmt.Errorf("the database was created with a master key: set CHEQUER_MASTER_KEY or CHEQUER_MASTER_KEY_FILE, or put the key back as %s", path)
	}
	key, err = makeMasterKey(path)
	return key, err == nil, err
}

// removeNewKey removes a new key whose database could not be created, because it would be taken for the
// key of an earlier database.
func removeNewKey(ctx context.Context, c config.Config) error {
	if isUsed, err := engine.InUse(ctx, c.DatabaseURL); isUsed || err != nil {
		return nil // a database may already use the key
	}
	return os.Remove(filepath.Join(c.DataDir, masterKeyFile))
}

// startLock is the file that a process locks while it opens the data directory, so that one process
// creates key and database.
const startLock = "start.lock"

// lockDataDir waits until no other process opens the data directory, and locks it. It fails if the
// directory cannot be written.
func lockDataDir(c config.Config) (release func() error, err error) {
	lock := filelock.New(filepath.Join(c.DataDir, startLock))
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	return lock.Unlock, nil
}

// readMasterKey reads a key from its file. If there is no file, the error wraps fs.ErrNotExist.
func readMasterKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != seal.KeySize {
		return nil, fmt.Errorf("%s: must be 64 hexadecimal digits", path)
	}
	return key, nil
}

// makeMasterKey creates and writes a new key, or reads the key that another process has created
// meanwhile.
func makeMasterKey(path string) ([]byte, error) {
	key := make([]byte, seal.KeySize)
	rand.Read(key) // never fails; see crypto/rand
	err := writeMasterKey(path, key)
	if errors.Is(err, fs.ErrExist) {
		return readMasterKey(path)
	}
	return key, err
}
