package rates

import "errors"

var (
	// ErrUnknown means that a pair has no usable rate.
	ErrUnknown = errors.New("no rate")
	// ErrImplausible means that a value of a source is implausible.
	ErrImplausible = errors.New("implausible")
)

// errNoAnswer means that a source does not answer at all, so that requests for other pairs are
// pointless.
var errNoAnswer = errors.New("no answer")
