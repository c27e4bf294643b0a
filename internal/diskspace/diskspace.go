// Package diskspace reads the free space of a file system.
package diskspace

// Free returns the bytes that an unprivileged process can still write to the file
// system of a folder. The error is errors.ErrUnsupported on systems other than Linux
// and macOS.
func Free(folder string) (uint64, error) { return free(folder) }
