package client

import (
	"errors"
	"fmt"
	"net/http"
)

var (
	// ErrNotFound means that the service has no invoice with that identifier.
	ErrNotFound = errors.New("invoice not found")
	// ErrNotModified means that nothing changed while WaitInvoice waited.
	ErrNotModified = errors.New("invoice not modified")
	// ErrUnsupported means that the service implements only the specification and cannot carry out
	// the call.
	ErrUnsupported = errors.New("the service does not offer this call")
	// ErrInvalidAnswer means that the service sent an invalid answer. No part of the answer is used.
	ErrInvalidAnswer = errors.New("the service sent an invalid answer")
)

// Error is an error answer of the service.
type Error struct {
	Status  int    // HTTP status
	Code    string // machine code, "" from a service that sends none
	Message string // one sentence
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("service answered %d: %s", e.Status, e.Message)
}

// IsTemporary reports whether the same call may succeed later.
func (e *Error) IsTemporary() bool { return isTemporary(e.Status) }

func isTemporary(status int) bool {
	switch status {
	case http.StatusNotImplemented:
		return false
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	}
	return status >= 500
}

// callError is an error with the call that returned it. Its text is made when it is read, because package
// foreign cleans the message of an Error.
type callError struct {
	call string
	err  error
}

// Error implements error.
func (e *callError) Error() string { return e.call + ": " + e.err.Error() }

// Unwrap returns the error of the call.
func (e *callError) Unwrap() error { return e.err }

// wrap adds the name of the call to an error that is not nil.
func wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	return &callError{call, err}
}
