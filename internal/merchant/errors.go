package merchant

import "errors"

var (
	// ErrNotFound means that there is no such merchant, key, wallet, endpoint or
	// delivery.
	ErrNotFound = errors.New("not found")
	// ErrExists means that there is one already.
	ErrExists = errors.New("exists already")
	// ErrTampered means that a row fails its check under the master key.
	ErrTampered = errors.New("row was changed by somebody without the master key")
	// ErrTooMany means that a merchant has as many endpoints as may be.
	ErrTooMany = errors.New("there are too many")
	// ErrState means that an endpoint does not allow this now.
	ErrState = errors.New("not possible in its present state")
)
