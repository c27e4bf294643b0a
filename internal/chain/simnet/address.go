package simnet

import (
	"chequer/internal/chain"
	"chequer/internal/keys"
)

// ReadAddress implements chain.AddressReader for addresses of test networks. See chain.ReadTestBitcoin for Lightning.
func (n *Network) ReadAddress(asset, text string) (chain.Destination, error) {
	a, known := assetByCode(asset)
	if !known {
		return chain.Destination{}, keys.ErrKind
	}
	if a.Requested() {
		return chain.ReadTestBitcoin(text)
	}
	network := keys.Test
	if keys.Kind(a.Wallet) == keys.XMR {
		network = keys.Stagenet
	}
	address, script, err := keys.ParseAddress(text, keys.Kind(a.Wallet), network)
	return chain.Destination{Address: address, Script: script}, err
}
