package backup

import "errors"

var (
	// ErrNoDatabase means that there is no database to back up.
	ErrNoDatabase = errors.New("there is no database yet")
	// ErrNotEmpty means that the database to restore into has data already.
	ErrNotEmpty = errors.New("the database is not empty: a backup can only be restored into an empty database. Move the old database away, or set CHEQUER_DATABASE_URL to another database")
	// ErrPassphrase means that a backup cannot be decrypted.
	ErrPassphrase = errors.New("the passphrase is wrong, or the beginning of the backup is damaged")
	// ErrDamaged means that a backup differs from the data that was written.
	ErrDamaged = errors.New("the backup is damaged or incomplete")
	// ErrNewer means that a backup needs a newer release.
	ErrNewer = errors.New("the backup was made by a newer release of Chequer: restore it with that release")
)
