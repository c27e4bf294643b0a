package app

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
	"chequer/internal/seal"
	"chequer/internal/storage"
)

// masterKeyFile is where a key lies that was made together with the database.
const masterKeyFile = "master.key"

// masterKey is the key that secrets in the database are sealed with: that of the
// settings, else that of a file in the data directory. The file is made only
// together with a new database, so that a lost one is never silently replaced.
func masterKey(ctx context.Context, c config.Config) ([]byte, error) {
	if c.MasterKey != "" {
		return hex.DecodeString(c.MasterKey)
	}
	path := filepath.Join(c.DataDir, masterKeyFile)
	key, err := readMasterKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	used, err := storage.InUse(ctx, c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if !used {
		return makeMasterKey(path)
	}
	key, err = readMasterKey(path) // another process may just have made both
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the database was made with a master key: set CHEQUER_MASTER_KEY or CHEQUER_MASTER_KEY_FILE, or put the key back as %s", path)
	}
	return key, err
}

// readMasterKey reads a key's file; fs.ErrNotExist.
func readMasterKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != seal.KeySize {
		return nil, fmt.Errorf("%s: want 64 hexadecimal digits", path)
	}
	return key, nil
}

// makeMasterKey makes and writes a new key, or reads that of a process that was
// faster.
func makeMasterKey(path string) ([]byte, error) {
	key := make([]byte, seal.KeySize)
	rand.Read(key) // never fails, see crypto/rand
	err := writeMasterKey(path, key)
	if errors.Is(err, fs.ErrExist) {
		return readMasterKey(path)
	}
	return key, err
}
