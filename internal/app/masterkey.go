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
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		key, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("%s: want 64 hexadecimal digits", path)
		}
		return key, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("master key: %w", err)
	}
	used, err := storage.InUse(ctx, c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if used {
		return nil, fmt.Errorf("the database was made with a master key: set CHEQUER_MASTER_KEY or CHEQUER_MASTER_KEY_FILE, or put the key back as %s", path)
	}
	return makeMasterKey(path)
}

// makeMasterKey writes a new key that only its owner can read, wholly or not at
// all: a process killed in between leaves no half of it.
func makeMasterKey(path string) ([]byte, error) {
	key := make([]byte, 32)
	rand.Read(key) // never fails, see crypto/rand
	f, err := os.CreateTemp(filepath.Dir(path), masterKeyFile+".*")
	if err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return nil, fmt.Errorf("master key: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil { // fails when another process was faster
		return nil, fmt.Errorf("master key: %w", err)
	}
	return key, nil
}
