//go:build unix

package durable_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"chequer/internal/durable"
)

// A service can still read its settings after root has changed them by a command. Without
// root the owner cannot differ, so the test checks only that it stays the same.
func TestUpdate_keeps_the_owner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	existing, added := filepath.Join(folder, "there"), filepath.Join(folder, "added")
	if err := os.WriteFile(existing, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 65533, 65532
		for _, path := range []string{existing, folder} {
			if err := os.Chown(path, uid, gid); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range []string{existing, added} {
		if err := durable.Update(path, []byte("x")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		if int(stat.Uid) != uid || path == existing && int(stat.Gid) != gid {
			t.Errorf("%s belongs to %d:%d, want %d:%d", filepath.Base(path), stat.Uid, stat.Gid, uid, gid)
		}
	}
}
