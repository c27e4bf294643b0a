//go:build !windows

package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// SyncFolder returns when the name of a file is on disk.
func SyncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
