package merchant

import "errors"

var (
	// ErrNotFound means that there is no such merchant, key or wallet.
	ErrNotFound = errors.New("not found")
	// ErrExists means that there is one already.
	ErrExists = errors.New("exists already")
	// ErrTampered means that a row fails its check under the master key.
	ErrTampered = errors.New("row was changed by somebody without the master key")
)
