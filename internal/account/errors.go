package account

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound means that there is no such account, session or sign-in method.
	ErrNotFound = errors.New("not found")
	// ErrExists means that another account has the name.
	ErrExists = errors.New("there is an account with this name already")
	// ErrTampered means that the MAC of a row is wrong.
	ErrTampered = errors.New("row was changed without the master key")
	// ErrSignIn means that a sign-in was refused. It does not say why.
	ErrSignIn = errors.New("name, password or code is wrong")
	// ErrPasskey means that a passkey was refused.
	ErrPasskey = errors.New("the passkey was not accepted")
	// ErrCode means that the code of an authenticator app is wrong or was used before.
	ErrCode = errors.New("the code is wrong or was used before")
	// ErrTicket means that a link was used, has expired or never existed.
	ErrTicket = errors.New("the link was used or has expired")
	// ErrSetUp means that a link of the first run is not made because an account exists.
	ErrSetUp = errors.New("an account exists already")
	// ErrLastMethod means that the last sign-in method of an account is not removed.
	ErrLastMethod = errors.New("the last sign-in method cannot be removed: add another one first")
	// ErrLastOwner means that a shop would have no owner.
	ErrLastOwner = errors.New("the shop would have no owner: make another account an owner first")
	// ErrOffer means that the prepared sign-in method is not valid on this page, or has expired.
	ErrOffer = errors.New("the prepared sign-in method is not valid on this page or has expired: begin again")
)

// WaitError means that a sign-in was refused because of earlier failures.
type WaitError struct{ Wait time.Duration }

// Error implements error.
func (e *WaitError) Error() string {
	return fmt.Sprintf("too many failed attempts: try again in %d seconds", e.Seconds())
}

// Seconds returns the wait in seconds, rounded up.
func (e *WaitError) Seconds() int { return int((e.Wait + time.Second - 1) / time.Second) }

// FieldError is a value that breaks a rule. Fault completes a sentence that begins with the name of
// the field.
type FieldError struct{ Field, Fault string }

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " " + e.Fault }
