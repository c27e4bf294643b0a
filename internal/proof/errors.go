package proof

import "errors"

var (
	// ErrKey means that a text is not a valid public key for statements.
	ErrKey = errors.New("not a proof key, which is ed25519: followed by 43 letters, digits, - or _")
	// ErrFormat means that a text does not have the exact format of a statement that a server writes.
	ErrFormat = errors.New("not in the form of a statement")
	// ErrUntrusted means that a statement names a key other than the trusted keys.
	ErrUntrusted = errors.New("signed with another key than the trusted one")
	// ErrSignature means that the signature does not match the statement.
	ErrSignature = errors.New("the signature is wrong: the text is not what the key's owner signed")
	// ErrRetired means that the key had been replaced before the statement was made.
	ErrRetired = errors.New("the key had been replaced before the statement was made")
	// ErrValidity means that a quote is valid for longer than any server's quote, or ends before
	// it begins.
	ErrValidity = errors.New("valid for longer than a server's quote")
	// ErrExpired means that the statement is no longer valid.
	ErrExpired = errors.New("the quote has expired")
	// ErrAddress means that the address or link that a wallet was shown differs from the statement.
	ErrAddress = errors.New("not in the statement")
	// ErrExists means that another process made a key with the same number.
	ErrExists = errors.New("exists already")
	// ErrTampered means that a row in the database was changed without the master key.
	ErrTampered = errors.New("was changed in the database without the master key")
)
