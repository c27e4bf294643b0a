package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Update puts new content in a file's place, wholly or not at all, and returns when it
// is on disk. The file keeps its mode and owner. A new one can be read by its owner
// alone, who is the owner of its folder. Symbolic links are followed.
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
	defer os.Remove(f.Name()) // does nothing once it has its name
	_, err = f.Write(content)
	if err == nil {
		err = own(f, model, isNew)
	}
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(path)
}
