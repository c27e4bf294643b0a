package chain

// AddressReader is a Network that reads addresses as people write them.
type AddressReader interface {
	Network
	// ReadAddress reads an address that an asset of the network can be sent to,
	// whatever its spelling. The errors are those of keys.ParseAddress.
	ReadAddress(asset, text string) (Destination, error)
}
