package diskspace_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"chequer/internal/diskspace"
)

func TestFree_returns_the_free_bytes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if free, err := diskspace.Free(folder); free == 0 || err != nil {
		t.Errorf("free = %d, %v", free, err)
	}
	if _, err := diskspace.Free(filepath.Join(folder, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}
