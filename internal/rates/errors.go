package rates

import "errors"

var (
	// ErrUnknown means that there is no usable rate for a pair now.
	ErrUnknown = errors.New("no rate")
	// ErrAbsurd means that a source said what it cannot mean.
	ErrAbsurd = errors.New("absurd")
)

// errNoAnswer means that a source did not answer as a whole: asking it for the
// next pair is no use.
var errNoAnswer = errors.New("no answer")
