// Package durable writes files so that a crash does not undo the write.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace creates a file or replaces its content, completely or not at all, and
// returns when the content is on disk. Only its owner can read the file.
func Replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // has no effect after the rename
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(path)
}

// Move renames a file within its folder. It replaces a file that has the new name, and returns
// when the content and the name are on disk.
func Move(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(to)
}
