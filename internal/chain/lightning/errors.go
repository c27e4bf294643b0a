package lightning

import (
	"errors"

	"chequer/internal/chain"
	"chequer/internal/money"
)

var (
	// ErrUnknown means that the provider does not know a payment request. It concludes nothing.
	ErrUnknown = errors.New("the provider does not know the payment request")
	// ErrFault means that an answer of the provider contradicts itself. No part of the answer is used.
	ErrFault = errors.New("the provider contradicts itself")
	// ErrAnswered means that the provider answers a call with an error, or with a useless answer. This says nothing about
	// other calls. See NewAnswerError.
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

// answerError is an ErrAnswered with another text.
type answerError struct{ text string }

// NewAnswerError returns an error with a text, that is ErrAnswered.
func NewAnswerError(text string) error { return answerError{text} }

// Error implements error.
func (e answerError) Error() string { return e.text }

// Is reports whether the target is ErrAnswered.
func (e answerError) Is(target error) bool { return target == ErrAnswered }

// NewLimitError returns the error of a provider that makes requests from least to most millisatoshi. A most of 0 is no bound.
func NewLimitError(least, most int64) *chain.LimitError {
	const perSatoshi = 1000
	satoshis := func(n int64) money.Amount { return money.FromCents(n, money.BTC) }
	return &chain.LimitError{Least: satoshis((least + perSatoshi - 1) / perSatoshi), Most: satoshis(most / perSatoshi)}
}
