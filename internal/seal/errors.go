package seal

import "errors"

var (
	// ErrKeySize means that a master key does not have 32 bytes.
	ErrKeySize = errors.New("master key must have 32 bytes")
	// ErrNotSealed means that a text was not sealed with this key for this purpose.
	ErrNotSealed = errors.New("not sealed with this master key for this purpose")
)
