package storage

import "errors"

var (
	// ErrNoDatabase means that there is nothing to back up.
	ErrNoDatabase = errors.New("there is no database yet")
	// ErrNotEmpty means that a backup would be mixed with what is there already.
	ErrNotEmpty = errors.New("the database is not empty: a backup is restored into an empty one only. Move the old one away, or name another in CHEQUER_DATABASE_URL")
	// ErrDamaged means that a backup is not, to the last byte, what was written.
	ErrDamaged = errors.New("the backup is damaged or incomplete")
	// ErrNewerBackup means that only a newer release understands a backup.
	ErrNewerBackup = errors.New("the backup was made by a newer release of Chequer: restore it with that release")
)
