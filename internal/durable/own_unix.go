//go:build unix

package durable

import (
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives a file the owner of another file, and its group unless ownerOnly is set.
func copyOwner(f *os.File, model fs.FileInfo, ownerOnly bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, isKnown := info.Sys().(*syscall.Stat_t)
	want, isWanted := model.Sys().(*syscall.Stat_t)
	if !isKnown || !isWanted || stat.Uid == want.Uid && (ownerOnly || stat.Gid == want.Gid) {
		return nil
	}
	group := int(want.Gid)
	if ownerOnly {
		group = -1
	}
	return f.Chown(int(want.Uid), group)
}
