package datadir

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

// Record describes a completed backup. It is the content of lastBackupFile.
type Record struct {
	FinishedAt time.Time `json:"finished_at"`
	File       string    `json:"file"`
}

// RecordBackup records a complete backup as the last one.
func RecordBackup(dataDir string, r Record) error {
	content, err := json.Marshal(r)
	if err == nil {
		err = durable.Replace(filepath.Join(dataDir, lastBackupFile), content)
	}
	if err != nil {
		return fmt.Errorf("record backup: %w", err)
	}
	return nil
}

// LastBackup returns the record of the last backup, and false if there is none.
func LastBackup(dataDir string) (Record, bool, error) {
	content, err := os.ReadFile(filepath.Join(dataDir, lastBackupFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("last backup: %w", err)
	}
	return r, true, nil
}
