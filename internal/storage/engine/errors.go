package engine

import "errors"

var (
	// ErrMasterKey means that the database was made with another master key.
	ErrMasterKey = errors.New("the database was made with another master key: set CHEQUER_MASTER_KEY or CHEQUER_MASTER_KEY_FILE to that key")
	// ErrNewer means that a newer release has changed the database.
	ErrNewer = errors.New("the database was upgraded by a newer release of Chequer: run that release, or restore a backup made before the upgrade")
	// ErrOlder means that an older release made the database, and that Options do not allow its upgrade.
	ErrOlder = errors.New("the database was made by an older release of Chequer")
	// ErrNested means that work of a transaction called the engine that runs it.
	ErrNested = errors.New("storage was used from inside one of its own transactions")
	// ErrClosed means that storage is closed.
	ErrClosed = errors.New("storage is closed")
)
