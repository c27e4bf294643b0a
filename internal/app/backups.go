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

// downloadPattern is the pattern of the names of folders with a backup that is being sent. They are in the data directory,
// which only the server's user can read.
const downloadPattern = "download-*"

// abandonedAge is the age from which a folder is treated as left by a process that has ended. It is longer than
// the sending of a backup takes.
const abandonedAge = 24 * time.Hour

// newBackups returns new backups. It removes the folders that a crash has left.
func newBackups(c config.Config, s *storage.Storage, now func() time.Time) backups {
	found, _ := filepath.Glob(filepath.Join(c.DataDir, downloadPattern)) // the pattern is correct
	for _, folder := range found {
		if info, err := os.Stat(folder); err == nil && info.IsDir() && now().Sub(info.ModTime()) > abandonedAge {
			os.RemoveAll(folder)
		}
	}
	return backups{config: c, storage: s, now: now}
}

// Last implements settings.Backups.
func (b backups) Last() (time.Time, error) {
	last, _, err := datadir.LastBackup(b.config.DataDir)
	return last.FinishedAt, err
}

// Create implements settings.Backups.
func (b backups) Create(ctx context.Context, passphrase string) (made settings.Backup, err error) {
	folder, err := os.MkdirTemp(b.config.DataDir, downloadPattern)
	if err != nil {
		return nil, err
	}
	d := download{folder: folder, path: filepath.Join(folder, "chequer-"+b.now().UTC().Format("2006-01-02T1504Z")+".backup"), backups: b}
	defer func() {
		if err != nil {
			d.Remove()
		}
	}()
	_, err = datadir.Backup(ctx, b.config, d.path, datadir.BackupOptions{
		Passphrase: func() (string, error) { return passphrase, nil }, Unrecorded: true,
	})
	if errors.Is(err, datadir.ErrShortPassphrase) {
		err = settings.ErrPassphrase
	}
	if err == nil {
		err = b.storage.Record(ctx, audit.Change{Action: "backup.downloaded", Subject: filepath.Base(d.path)})
	}
	return d, err
}

// download is a backup in a folder of its own.
type download struct {
	folder, path string
	backups      backups
}

// Path implements settings.Backup.
func (d download) Path() string { return d.path }

// Sent implements settings.Backup.
func (d download) Sent() error {
	return datadir.RecordBackup(d.backups.config.DataDir, datadir.Record{FinishedAt: d.backups.now(), File: "downloaded at the desk"})
}

// Remove implements settings.Backup.
func (d download) Remove() { os.RemoveAll(d.folder) }

// Shops implements settings.Backups.
func (b backups) Shops(ctx context.Context) (ids []string, err error) {
	all, err := b.storage.Merchants(ctx)
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids, err
}
