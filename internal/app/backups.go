package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"chequer/internal/audit"
	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/storage"
	"chequer/web/desk/settings"
)

// backups makes the backups that the desk sends.
type backups struct {
	config  config.Config
	storage *storage.Storage
	now     func() time.Time
}

// Last implements settings.Backups.
func (b backups) Last() (time.Time, error) {
	last, _, err := datadir.LastBackup(b.config.DataDir)
	return last.FinishedAt, err
}

// Create implements settings.Backups. The folder is in the data directory, which only the server's user can read.
func (b backups) Create(ctx context.Context, passphrase string) (path string, remove func(), err error) {
	folder, err := os.MkdirTemp(b.config.DataDir, "download-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(folder) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	path = filepath.Join(folder, "chequer-"+b.now().UTC().Format("2006-01-02T1504Z")+".backup")
	_, err = datadir.Backup(ctx, b.config, path, datadir.BackupOptions{
		Passphrase: func() (string, error) { return passphrase, nil }, RecordAs: "downloaded at the desk",
	})
	if errors.Is(err, datadir.ErrShortPassphrase) {
		err = settings.ErrPassphrase
	}
	if err == nil {
		err = b.storage.Record(ctx, audit.Change{Action: "backup.downloaded", Subject: filepath.Base(path)})
	}
	return path, remove, err
}

// Shops implements settings.Backups.
func (b backups) Shops(ctx context.Context) (ids []string, err error) {
	all, err := b.storage.Merchants(ctx)
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids, err
}
