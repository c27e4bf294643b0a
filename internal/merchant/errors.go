package merchant

import "errors"

var (
	// ErrNotFound means that there is no such record: merchant, key, wallet, endpoint, delivery, link,
	// product, terminal, theme or exchange account.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a row with this name or key exists already.
	ErrExists = errors.New("exists already")
	// ErrStale means that a shop, a wallet, a theme, a link, a product or an endpoint was changed after the caller has read it.
	ErrStale = errors.New("changed after it was read")
	// ErrTampered means that the MAC of a row is wrong.
	ErrTampered = errors.New("row was changed without the master key")
	// ErrTooMany means that a merchant has reached the limit of endpoints or products, or the server that of shops.
	ErrTooMany = errors.New("the maximum number exists already")
	// ErrState means that the state of an endpoint does not allow the change.
	ErrState = errors.New("the state of the endpoint does not allow this")
	// ErrNameTaken means that another shop has the name.
	ErrNameTaken = errors.New("another shop has this name")
	// ErrOtherShop means that a public key belongs to another shop, whose wallet it is or was.
	ErrOtherShop = errors.New("this public key belongs to another shop of this server; two shops with one key would give their shoppers the same addresses: create another account in your wallet and add its key")
)
