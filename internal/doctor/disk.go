package doctor

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"chequer/internal/datadir"
	"chequer/internal/diskspace"
)

// Bounds of free space, in bytes: examineSpace warns below lowSpace and fails below minSpace. A busy
// shop needs less than a tenth of lowSpace per day.
const (
	lowSpace = 1 << 30
	minSpace = 64 << 20
)

// MaxBackupAge is the age of the last backup above which examineBackup warns.
const MaxBackupAge = 7 * 24 * time.Hour

// examineSpace reports the free space of the file systems of the data directory and the database.
func (e *examination) examineSpace() {
	folders := []string{e.Settings.DataDir}
	if path, isFile := strings.CutPrefix(e.Settings.DatabaseURL, "sqlite:"); isFile && filepath.Dir(path) != filepath.Clean(e.Settings.DataDir) {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		e.reportFree(folder, diskspace.Free)
	}
}

// reportFree reports the free space in a folder.
func (e *examination) reportFree(folder string, free func(string) (uint64, error)) {
	n, err := free(folder)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		e.warn("disk", "%s: %v", folder, err)
	case n < minSpace:
		e.fail("disk", "only %d MiB free in %s: invoices and payments can no longer be recorded when the disk is full", n>>20, folder)
	case n < lowSpace:
		e.warn("disk", "only %d MiB free in %s", n>>20, folder)
	default:
		e.ok("disk", "%d GiB free in %s", n>>30, folder)
	}
}

// examineBackup reports the age of the last backup by chequer backup.
func (e *examination) examineBackup() {
	last, found, err := datadir.LastBackup(e.Settings.DataDir)
	age := e.Now().Sub(last.FinishedAt)
	switch {
	case err != nil:
		e.warn("backup", "%v", err)
	case !found:
		e.warn("backup", "chequer backup was never run with this data directory: chequer backup FILE writes the database and the master key into one encrypted file")
	case age > MaxBackupAge:
		e.warn("backup", "the last backup is %d days old: %s", int(age.Hours()/24), last.File)
	default:
		e.ok("backup", "%s, %s ago", last.File, age.Round(time.Minute))
	}
}
