package simnet

import (
	"fmt"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// ReadAddress implements chain.AddressReader for addresses of test networks and for payment requests of regtest.
func (n *Network) ReadAddress(asset, text string) (chain.Destination, error) {
	a, known := assetByCode(asset)
	if !known {
		return chain.Destination{}, keys.ErrKind
	}
	if a.Requested() {
		return readRequest(text)
	}
	address, script, err := keys.ParseAddress(text, keys.Kind(a.Wallet), keys.Test)
	return chain.Destination{Address: address, Script: script}, err
}

func readRequest(text string) (chain.Destination, error) {
	to, r, err := chain.ReadRequest(text)
	switch {
	case err != nil:
		return chain.Destination{}, err
	case r.Network != requestNetwork:
		return chain.Destination{}, fmt.Errorf("%w: the payment request is for the network %q, want %q", keys.ErrNetwork, "ln"+r.Network, "ln"+requestNetwork)
	}
	return to, nil
}
