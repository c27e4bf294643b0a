package client

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound means that the service has no invoice of that id.
	ErrNotFound = errors.New("invoice not found")
	// ErrNotModified means that nothing changed while WaitInvoice waited.
	ErrNotModified = errors.New("invoice not modified")
	// ErrUnsupported means that the service speaks only the specification and
	// cannot do what was asked.
	ErrUnsupported = errors.New("the service does not offer this")
	// ErrNonsense means that the service answered what cannot be: nothing of
	// the answer is believed.
	ErrNonsense = errors.New("the service answered nonsense")
)

// Error is what the service answered in place of a result.
type Error struct {
	Status  int    // HTTP status
	Code    string // machine code, "" from a service that sends none
	Message string // one sentence for people, at most 300 characters
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("service answered %d: %s", e.Status, e.Message)
}
