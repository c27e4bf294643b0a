package chain

// AddressReader is a Network that parses addresses in the spellings that people use.
type AddressReader interface {
	Network
	// ReadAddress parses an address that an asset of the network can be sent to, in any
	// valid spelling. The errors are those of keys.ParseAddress.
	ReadAddress(asset, text string) (Destination, error)
}
