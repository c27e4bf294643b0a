package storage

import "errors"

var (
	// ErrNoDatabase means that there is no database to back up.
	ErrNoDatabase = errors.New("there is no database yet")
	// ErrNotEmpty means that the database to restore into has data already.
	ErrNotEmpty = errors.New("the database is not empty: a backup is restored into an empty one only. Move the old one away, or name another in CHEQUER_DATABASE_URL")
	// ErrDamaged means that a backup differs from the data that was written.
	ErrDamaged = errors.New("the backup is damaged or incomplete")
	// ErrNewerBackup means that a backup needs a newer release.
	ErrNewerBackup = errors.New("the backup was made by a newer release of Chequer: restore it with that release")
)
