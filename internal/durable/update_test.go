package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"chequer/internal/durable"
)

func TestUpdate_keeps_modes_and_links(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"existing", "target"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("before"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("target", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"existing": 0o640, "new": 0o600, "link": os.ModeSymlink} {
		if err := durable.Update(filepath.Join(folder, name), []byte("after")); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(content) != "after" {
			t.Errorf("%s: got %q, error %v", name, content, err)
		}
		info, err := os.Lstat(filepath.Join(folder, name))
		if err != nil || want != os.ModeSymlink && info.Mode() != want || want == os.ModeSymlink && info.Mode()&want == 0 {
			t.Errorf("%s: got mode %v, error %v, want %v", name, info.Mode(), err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "target")); err != nil || info.Mode() != 0o640 {
		t.Errorf("target: got mode %v, error %v", info.Mode(), err)
	}
	if err := durable.Update(filepath.Join(folder, "missing", "file"), nil); err == nil {
		t.Error("a missing folder: got no error")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 4 {
		t.Errorf("got %d files, error %v, want 4", len(entries), err)
	}
}
