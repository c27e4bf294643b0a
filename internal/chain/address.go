package chain

// AddressReader parses addresses in the spellings that people use. Networks implement it.
type AddressReader interface {
	// ReadAddress parses an address that an asset of the network can be sent to, in any
	// valid spelling. The errors are those of keys.ParseAddress, and keys.ErrPrivateKey for a text that
	// can spend money.
	ReadAddress(asset, text string) (Destination, error)
}
