package client

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound means that the service has no invoice with that identifier.
	ErrNotFound = errors.New("invoice not found")
	// ErrNotModified means that nothing changed while WaitInvoice waited.
	ErrNotModified = errors.New("invoice not modified")
	// ErrUnsupported means that the service implements only the specification and cannot carry out
	// the call.
	ErrUnsupported = errors.New("the service does not offer this")
	// ErrNonsense means that the service sent an invalid answer. No part of the answer is used.
	ErrNonsense = errors.New("the service sent an invalid answer")
)

// Error is an error answer of the service.
type Error struct {
	Status  int    // HTTP status
	Code    string // machine code, "" from a service that sends none
	Message string // one sentence, at most 300 characters
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("service answered %d: %s", e.Status, e.Message)
}
