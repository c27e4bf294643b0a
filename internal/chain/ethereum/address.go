package ethereum

import (
	"chequer/internal/chain"
	"chequer/internal/keys"
)

// ReadAddress implements chain.AddressReader.
func (n *Network) ReadAddress(_, text string) (chain.Destination, error) {
	address, script, err := keys.ParseAddress(text, keys.ETH, n.params.Keys)
	return chain.Destination{Address: address, Script: script}, err
}
