package proof

import "errors"

var (
	// ErrKey means that a text is not a valid public key for statements.
	ErrKey = errors.New("not a proof key: it begins with ed25519: and 43 letters, digits, - or _ follow")
	// ErrForm means that a text is not a statement, or was changed in a way that no server writes.
	ErrForm = errors.New("not a statement as a server writes it")
	// ErrStranger means that a statement names a key other than the trusted ones.
	ErrStranger = errors.New("made by another key than the one you trust")
	// ErrSignature means that the signature does not match the statement.
	ErrSignature = errors.New("the signature is wrong: the text is not what the key's owner signed")
	// ErrRetired means that the key had been replaced before the price was made.
	ErrRetired = errors.New("the key had been replaced before this price was made")
	// ErrHold means that a price is held for longer than any server holds one, or ends before it
	// begins.
	ErrHold = errors.New("the price is held for longer than a server holds one")
	// ErrEnded means that the statement is no longer valid.
	ErrEnded = errors.New("the time is over until which it holds")
	// ErrAddress means that the address or link that a wallet was shown differs from the statement.
	ErrAddress = errors.New("not what the statement says")
	// ErrExists means that another process made a key with the same number.
	ErrExists = errors.New("exists already")
	// ErrTampered means that a row in the database was changed without the master key.
	ErrTampered = errors.New("was changed in the database without the master key")
)
