//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

func copyOwner(*os.File, fs.FileInfo, bool) error { return nil }
