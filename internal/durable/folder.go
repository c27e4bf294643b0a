//go:build !windows

package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// SyncFolder writes the folder that contains a file to disk, so that a new name of the file survives a crash.
func SyncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
