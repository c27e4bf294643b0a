package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Update replaces the content of a file atomically, and returns when the new content is on disk. The
// file keeps its mode and owner. A new file has the owner of its folder, and only the owner can read
// it. Update follows symbolic links.
func Update(path string, content []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	model, err := os.Stat(path)
	mode, isNew := fs.FileMode(0o600), errors.Is(err, fs.ErrNotExist)
	if isNew {
		model, err = os.Stat(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	if !isNew {
		mode = model.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // has no effect after the rename
	_, err = f.Write(content)
	if err == nil {
		err = copyOwner(f, model, isNew)
	}
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(path)
}
