// Package filelock locks files between processes.
package filelock

import (
	"os"

	"github.com/gofrs/flock"
)

// New returns a lock on a file, which locking creates with mode 0600. The file is opened for writing, so
// that locking fails on a read-only file system.
func New(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR)) }
