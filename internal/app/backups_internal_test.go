package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"chequer/internal/config"
)

// A crash leaves the folder of a backup that was being sent. It is removed at a later start, unless another process
// may still send the backup.
func TestNewBackups_removes_folders_of_interrupted_backups(t *testing.T) {
	t.Parallel()
	data, now := t.TempDir(), time.Now()
	old, recent, other := filepath.Join(data, "download-1"), filepath.Join(data, "download-2"), filepath.Join(data, "downloads")
	for folder, age := range map[string]time.Duration{old: 25 * time.Hour, recent: 23 * time.Hour, other: 25 * time.Hour} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "chequer.backup"), []byte("sealed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(folder, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	newBackups(config.Config{DataDir: data}, nil, func() time.Time { return now })
	for folder, isLeft := range map[string]bool{old: false, recent: true, other: true} {
		if _, err := os.Stat(folder); (err == nil) != isLeft {
			t.Errorf("%s: error %v, want it to be left: %t", filepath.Base(folder), err, isLeft)
		}
	}
}
