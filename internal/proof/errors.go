package proof

import "errors"

var (
	// ErrKey means that a text is no key that statements are checked with.
	ErrKey = errors.New("not a proof key: it begins with ed25519: and 43 letters, digits, - or _ follow")
	// ErrForm means that a text is no statement, or was changed in a way that no
	// server writes.
	ErrForm = errors.New("not a statement as a server writes it")
	// ErrStranger means that a statement names another key than those that are trusted.
	ErrStranger = errors.New("made by another key than the one you trust")
	// ErrSignature means that a signature is not over what the statement says.
	ErrSignature = errors.New("the signature is wrong: the text is not what the key's owner signed")
	// ErrRetired means that a key had been replaced when the price was made.
	ErrRetired = errors.New("the key had been replaced before this price was made")
	// ErrHold means that a price is held for longer than any server holds one, or ends
	// before it begins.
	ErrHold = errors.New("no price is held that long")
	// ErrEnded means that the time is over until which a statement holds.
	ErrEnded = errors.New("the time is over until which it holds")
	// ErrAddress means that what a wallet was shown is not what a statement says.
	ErrAddress = errors.New("not what the statement says")
	// ErrExists means that another process made a key of that number.
	ErrExists = errors.New("exists already")
	// ErrTampered means that the database was changed by somebody without the
	// master key.
	ErrTampered = errors.New("was changed in the database by somebody who does not have the master key")
)
