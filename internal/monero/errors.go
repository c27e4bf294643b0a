package monero

import "errors"

// Errors of addresses.
var (
	// ErrAddress means that a text does not have the form of an address.
	ErrAddress = errors.New("a Monero address has 95 characters and begins with 4 (8 for a subaddress) on the main network")
	// ErrChecksum means that the checksum of an address is wrong.
	ErrChecksum = errors.New("the checksum of the address does not match, so a character is mistyped or missing")
	// ErrAddressKey means that an address with a right checksum contains bytes that are not a public key.
	ErrAddressKey = errors.New("the address contains an invalid public key")
	// ErrIntegrated means that an address is integrated where the primary address of a wallet is needed.
	ErrIntegrated = errors.New("it is an integrated address, which contains a payment ID: give the primary address of the wallet")
	// ErrSubaddress means that an address is a subaddress where the primary address of a wallet is needed.
	ErrSubaddress = errors.New("it is a subaddress: give the primary address of the wallet")
	// ErrNetwork means that an address belongs to another network.
	ErrNetwork = errors.New("the address belongs to another network")
)

// Errors of private keys. No error contains a part of a key or of a seed.
var (
	// ErrKeyForm means that a text does not have the form of a private key.
	ErrKeyForm = errors.New("a private view key has 64 hex digits")
	// ErrKeyRange means that a private key is zero, or not below the order of the group.
	ErrKeyRange = errors.New("it is not a private view key: its number is out of range")
	// ErrSeed means that a text has the form of the seed words of a wallet, which can spend.
	ErrSeed = errors.New("these are the seed words of a wallet, which can spend all its coins: make a new wallet for the shop, move the coins to it, and give its private view key only")
	// ErrSpendKey means that a key is the private spend key of the address, which can spend.
	ErrSpendKey = errors.New("this is the private spend key of the address, which can spend all its coins: make a new wallet for the shop, move the coins to it, and give its private view key only")
	// ErrKeyMismatch means that a key is not a key of the address.
	ErrKeyMismatch = errors.New("the private view key does not belong to the address")
)

// Errors of transactions and blocks.
var (
	// ErrNewerFormat means that a transaction or a block has a form that this program does not know, as after an upgrade of the
	// network. Payments would be missed, so reading has to stop until the program is updated.
	ErrNewerFormat = errors.New("a newer format of Monero, which this version of Chequer cannot read: update Chequer")
	// ErrOlderFormat means that a transaction has a form that the network has refused since 2018 and that is not supported.
	ErrOlderFormat = errors.New("an older format of Monero, which is not supported")
	// ErrMalformed means that a text is not the JSON of a transaction or of a block, is too large, or contradicts itself.
	ErrMalformed = errors.New("malformed")
)
