package lightning

import (
	"errors"
	"fmt"

	"chequer/internal/chain"
)

var (
	// ErrUnknown means that the provider does not know a payment request. It concludes nothing.
	ErrUnknown = errors.New("the provider does not know the payment request")
	// ErrFault means that an answer of the provider contradicts itself. No part of the answer is used.
	ErrFault = errors.New("the provider contradicts itself")
	// ErrAnswered means that the provider answers a call with an error, which says nothing about other calls.
	ErrAnswered = errors.New("the provider answers")
	// ErrRevoked means that the provider refuses the connection.
	ErrRevoked = errors.New("the provider refuses the connection")
	// ErrUnsupported means that the provider does not offer a call that is needed.
	ErrUnsupported = errors.New("the provider does not offer what is needed")
	// ErrRateLimited means that the provider wants fewer calls.
	ErrRateLimited = errors.New("the provider limits the number of calls")
	// ErrLocked means that lnd waits for the password of its wallet.
	ErrLocked = errors.New("lnd is locked")
	// ErrCertificate means that the server has another certificate than the connection names.
	ErrCertificate = errors.New("the certificate is not the stored one")
	// ErrSilent means that a relay can be reached, but the wallet behind it does not answer.
	ErrSilent = errors.New("the relay answers, the wallet does not: is it switched on?")
)

// LimitError means that the provider makes no request of an amount.
type LimitError struct {
	Least, Most int64 // in millisatoshi
}

// Unwrap returns chain.ErrAmount.
func (e *LimitError) Unwrap() error { return chain.ErrAmount }

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the provider makes requests from %d to %d msat", e.Least, e.Most)
}
