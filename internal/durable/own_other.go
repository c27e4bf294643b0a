//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

// copyOwner does nothing: the system has no numbers of owners and groups.
func copyOwner(*os.File, fs.FileInfo, bool) error { return nil }
