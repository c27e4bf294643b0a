package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"chequer/internal/durable"
)

// lastBackupFile is the file in the data directory that records the time of the last backup. A
// backup does not contain it.
const lastBackupFile = "last-backup.json"

// backupRecord is the content of lastBackupFile.
type backupRecord struct {
	FinishedAt time.Time `json:"finished_at"`
	File       string    `json:"file"`
}

// recordBackup records that a backup is complete.
func recordBackup(dataDir string, r backupRecord) error {
	content, err := json.Marshal(r)
	if err == nil {
		err = durable.Replace(filepath.Join(dataDir, lastBackupFile), content)
	}
	if err != nil {
		return fmt.Errorf("record backup: %w", err)
	}
	return nil
}

// lastBackup returns the record of the last backup, and false if there is none.
func lastBackup(dataDir string) (backupRecord, bool, error) {
	content, err := os.ReadFile(filepath.Join(dataDir, lastBackupFile))
	if errors.Is(err, fs.ErrNotExist) {
		return backupRecord{}, false, nil
	}
	var r backupRecord
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("last backup: %w", err)
	}
	return r, true, nil
}
