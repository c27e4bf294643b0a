package merchant

import "errors"

var (
	// ErrNotFound means that there is no such record: merchant, key, wallet, endpoint, delivery, link,
	// product, terminal, theme or exchange account.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a row with this name or key exists already.
	ErrExists = errors.New("exists already")
	// ErrStale means that the value was changed after the caller read it.
	ErrStale = errors.New("changed after it was read")
	// ErrTampered means that the MAC of a row is wrong.
	ErrTampered = errors.New("row was changed without the master key")
	// ErrTooMany means that a merchant has reached the limit of endpoints or products, or the server its limit of shops.
	ErrTooMany = errors.New("the maximum number exists already")
	// ErrState means that an endpoint does not allow the change: its state does not, or a plug-in owns it.
	ErrState = errors.New("the endpoint does not allow this")
	// ErrNameTaken means that another shop has the name.
	ErrNameTaken = errors.New("another shop has this name")
	// ErrOtherShop means that a public key is or was the key of a wallet of another shop.
	ErrOtherShop = errors.New("this public key belongs to another shop of this server; two shops with one key would give their shoppers the same addresses: create another account in your wallet and add its key")
)
