package app

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"chequer/internal/config"
	"chequer/internal/diskspace"
)

// Bounds of free space, in bytes: examineSpace warns below lowSpace and fails below minSpace. A busy
// shop needs less than a tenth of lowSpace per day.
const (
	lowSpace = 1 << 30
	minSpace = 64 << 20
)

// maxBackupAge is the age of the last backup above which examineBackup warns.
const maxBackupAge = 7 * 24 * time.Hour

// examineSpace reports the free space of the file systems of the data directory and the database.
func examineSpace(cfg config.Config, say func(Level, string, string, ...any)) {
	folders := []string{cfg.DataDir}
	if path, isFile := strings.CutPrefix(cfg.DatabaseURL, "sqlite:"); isFile && filepath.Dir(path) != filepath.Clean(cfg.DataDir) {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		reportFree(folder, diskspace.Free, say)
	}
}

// reportFree reports the free space in a folder.
func reportFree(folder string, free func(string) (uint64, error), say func(Level, string, string, ...any)) {
	n, err := free(folder)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		say(LevelWarn, "disk", "%s: %v", folder, err)
	case n < minSpace:
		say(LevelFail, "disk", "only %d MiB free in %s: invoices and payments can no longer be recorded when the disk is full", n>>20, folder)
	case n < lowSpace:
		say(LevelWarn, "disk", "only %d MiB free in %s", n>>20, folder)
	default:
		say(LevelOK, "disk", "%d GiB free in %s", n>>30, folder)
	}
}

// examineBackup reports the age of the last backup by chequer backup.
func examineBackup(cfg config.Config, now time.Time, say func(Level, string, string, ...any)) {
	last, found, err := lastBackup(cfg.DataDir)
	age := now.Sub(last.FinishedAt)
	switch {
	case err != nil:
		say(LevelWarn, "backup", "%v", err)
	case !found:
		say(LevelWarn, "backup", "chequer backup was never run with this data directory: chequer backup FILE writes the database and the master key into one encrypted file")
	case age > maxBackupAge:
		say(LevelWarn, "backup", "the last one is %d days old: %s", int(age.Hours()/24), last.File)
	default:
		say(LevelOK, "backup", "%s, %s ago", last.File, age.Round(time.Minute))
	}
}
