// Package ethereum implements the EVM networks, which differ only in data: their assets and their
// addresses.
package ethereum

import (
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Params are the parameters of one EVM network.
type Params struct {
	ID chain.ID
	// Assets are the assets of the network in the order in which they are offered.
	Assets []chain.Asset
	// More are tokens that are offered only if a setting names them.
	More []chain.Asset
	// Bridged are tokens of bridges. Transfers of them are watched; they are never offered.
	Bridged []chain.Asset
	// Claimed are the codes of assets that a setting describes and no issuer's list confirms.
	Claimed []string
	// Keys is the network of the keys that destinations are derived from.
	Keys keys.Network
	// ChainID is the chain ID of EIP-155.
	ChainID   uint64
	BlockTime time.Duration
	// Tags is true if endpoints know the block "finalized". See EIP-1898 and the
	// execution APIs, "Block tags".
	Tags bool
	// Public are endpoints of different operators that need no account.
	Public []string
	// Testnet is true for a test network, whose coins have no value.
	Testnet bool
}

// Network is one EVM network. It implements chain.Network and chain.Bridged.
type Network struct {
	params Params
}

var _ chain.Bridged = (*Network)(nil)

// keyCache caches the keys of all EVM networks: a key has the same addresses on each of them.
var keyCache keys.Cache

// New returns the network with the given parameters, such as Mainnet.
func New(params Params) *Network { return &Network{params: params} }

// Params returns the parameters of the network.
func (n *Network) Params() Params { return n.params }

// ID returns the network's ID, such as "ethereum" or "base".
func (n *Network) ID() chain.ID { return n.params.ID }

// BlockTime implements chain.Timed.
func (n *Network) BlockTime() time.Duration { return n.params.BlockTime }

// Assets returns the network's native coin and its tokens.
func (n *Network) Assets() []chain.Asset { return clone(n.params.Assets) }

// Bridged implements chain.Bridged.
func (n *Network) Bridged() []chain.Asset { return clone(n.params.Bridged) }

// clone returns a deep copy of assets.
func clone(assets []chain.Asset) []chain.Asset {
	assets = slices.Clone(assets)
	for i := range assets {
		assets[i].Policy.Depth = slices.Clone(assets[i].Policy.Depth)
	}
	return assets
}

// NewDestination returns the address at an index of a key, which is the same for every
// asset, with the checksum of ERC-55. Its script is the address in lower case. The error for a
// key of another network is keys.ErrNetwork. See keys.Load for the form of the key.
func (n *Network) NewDestination(request chain.Request) (chain.Destination, error) {
	key, err := keyCache.Load(request.Key)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("load the key of an ETH wallet: %w", err)
	}
	if key.Kind() != keys.ETH || key.Network() != n.params.Keys {
		return chain.Destination{}, fmt.Errorf("make a destination on %s with a key of %s %s: %w",
			n.ID(), key.Kind(), key.Network(), keys.ErrNetwork)
	}
	address, script, err := key.Address(request.Index)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("make destination %d on %s: %w", request.Index, n.ID(), err)
	}
	return chain.Destination{Address: address, Script: script}, nil
}
