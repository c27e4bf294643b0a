package datadir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/durable"
	"chequer/internal/storage/backup"
	"chequer/internal/storage/engine"
)

// minPassphrase is the minimum length of a passphrase, in characters: an attacker who has the
// file can try passphrases without a limit.
const minPassphrase = 12

var (
	errBackupExists = errors.New("exists already; --force replaces it")
	// ErrShortPassphrase means that an attacker with the file could find the passphrase.
	ErrShortPassphrase = fmt.Errorf("the passphrase must have at least %d characters: an attacker with the file can try many", minPassphrase)
)

// BackupOptions are the options of a backup.
type BackupOptions struct {
	// Force allows the backup to replace an existing file.
	Force bool
	// Work is the work factor of scrypt: each try of a passphrase takes 2^Work steps. 0 means 18, which
	// takes about a second and 256 MB.
	Work int
	// Unrecorded leaves the record of the last backup to the caller, see RecordBackup.
	Unrecorded bool
	// Passphrase returns the passphrase. It is called only after all other checks have passed.
	Passphrase func() (string, error)
}

// Backup writes the database and the master key into one file that is encrypted with a passphrase.
// It reads the file back before it renames it to path. A server may run at the same time.
func Backup(ctx context.Context, c config.Config, path string, o BackupOptions) (backup.Manifest, error) {
	if err := checkReplaceable(path, o.Force); err != nil {
		return backup.Manifest{}, err
	}
	master, err := usedMasterKey(ctx, c)
	if err != nil {
		return backup.Manifest{}, err
	}
	passphrase, err := o.Passphrase()
	if err != nil {
		return backup.Manifest{}, err
	}
	if utf8.RuneCountInString(passphrase) < minPassphrase {
		return backup.Manifest{}, ErrShortPassphrase
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // readable only by its owner
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("write backup: %w", err)
	}
	defer os.Remove(f.Name()) // no effect after the rename
	m, err := writeBackup(ctx, c, f, master, passphrase, o.Work)
	if err := errors.Join(err, f.Close()); err != nil {
		return backup.Manifest{}, err
	}
	if err := checkReplaceable(path, o.Force); err != nil {
		return backup.Manifest{}, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return backup.Manifest{}, fmt.Errorf("write backup: %w", err)
	}
	if err := durable.SyncFolder(path); err != nil {
		return m, err
	}
	if o.Unrecorded {
		return m, nil
	}
	return m, RecordBackup(c.DataDir, Record{FinishedAt: clock.Now(), File: path})
}

// backupEnding is the ending of the names of files that a backup may replace: databases, keys and
// devices do not have it.
const backupEnding = ".backup"

// checkReplaceable returns an error if the file exists and must not be replaced.
func checkReplaceable(path string, force bool) error {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("write backup: %w", err)
	case force && info.Mode().IsRegular() && strings.HasSuffix(path, backupEnding):
		return nil
	case force:
		return fmt.Errorf("%s is not replaced: only a file whose name ends in %s is", path, backupEnding)
	}
	return fmt.Errorf("%s %w", path, errBackupExists)
}

// usedMasterKey returns the key of an existing database. It creates no key.
func usedMasterKey(ctx context.Context, c config.Config) ([]byte, error) {
	isUsed, err := engine.InUse(ctx, c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if !isUsed {
		return nil, fmt.Errorf("back up: %w in %s: CHEQUER_CONFIG or CHEQUER_DATA_DIR selects another database", backup.ErrNoDatabase, Place(c))
	}
	key, _, err := masterKey(ctx, c)
	return key, err
}

// writeBackup writes the backup and reads it back from disk.
func writeBackup(ctx context.Context, c config.Config, f *os.File, master []byte, passphrase string, work int) (backup.Manifest, error) {
	sealing, err := backup.NewSealer(f, passphrase, work)
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("write backup: %w", err)
	}
	m, err := backup.Write(ctx, c.DatabaseURL, master, clock.Now(), sealing)
	if err != nil {
		return backup.Manifest{}, err
	}
	if err := errors.Join(sealing.Close(), f.Sync()); err != nil {
		return backup.Manifest{}, fmt.Errorf("write backup: %w", err)
	}
	read, _, err := checkBackup(ctx, f, passphrase)
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("read back what was written: %w", err)
	}
	if !maps.Equal(read.Rows, m.Rows) {
		return backup.Manifest{}, fmt.Errorf("read back what was written: %w", backup.ErrDamaged)
	}
	return m, nil
}

// checkBackup reads a backup to its end.
func checkBackup(ctx context.Context, f io.ReadSeeker, passphrase string) (backup.Manifest, []byte, error) {
	r, err := backup.Unseal(f, passphrase)
	if err != nil {
		return backup.Manifest{}, nil, err
	}
	m, master, err := backup.Check(readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}))
	return m, master, cmp.Or(ctx.Err(), err)
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
