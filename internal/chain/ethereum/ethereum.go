// Package ethereum offers the EVM networks, which differ in data only: what can
// be paid with there and which addresses the money goes to.
package ethereum

import (
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Params are what one EVM network differs by.
type Params struct {
	ID chain.ID
	// Assets in the order in which they are offered, all of this network.
	Assets []chain.Asset
	// More are tokens that are offered only where a setting names them.
	More []chain.Asset
	// Bridged are tokens of bridges: transfers of them are looked for, and they are never
	// offered.
	Bridged []chain.Asset
	// Claimed are the codes of assets that a setting describes, and no issuer's list.
	Claimed []string
	// Keys is the network whose keys are taken here.
	Keys keys.Network
	// ChainID tells the network from others. See EIP-155.
	ChainID   uint64
	BlockTime time.Duration
	// Tags tells that endpoints know which block is "finalized". See EIP-1898 and
	// the execution APIs, "Block tags".
	Tags bool
	// Public are endpoints of different operators that ask for no account.
	Public []string
	// Trial is a test network: its coins are worth nothing.
	Trial bool
}

// Network is one EVM network. It implements chain.Network and chain.Bridged.
type Network struct {
	params Params
}

var _ chain.Bridged = (*Network)(nil)

// loaded is one for all EVM networks: a key has the same addresses on each, and
// what was derived for one need not be for the next.
var loaded keys.Cache

// New is the network of some parameters, such as Mainnet.
func New(params Params) *Network { return &Network{params: params} }

// Params are those that the network was made of.
func (n *Network) Params() Params { return n.params }

// ID is "ethereum" or "base".
func (n *Network) ID() chain.ID { return n.params.ID }

// Assets are the network's own coin and the tokens on it.
func (n *Network) Assets() []chain.Asset { return clone(n.params.Assets) }

// Bridged implements chain.Bridged.
func (n *Network) Bridged() []chain.Asset { return clone(n.params.Bridged) }

// clone returns assets that share nothing with others.
func clone(assets []chain.Asset) []chain.Asset {
	assets = slices.Clone(assets)
	for i := range assets {
		assets[i].Policy.Depth = slices.Clone(assets[i].Policy.Depth)
	}
	return assets
}

// NewDestination makes the address at an index of a key as keys.Load reads it,
// the same for every asset, with the checksum of ERC-55; its script is the
// address in lower case. A key of another network is keys.ErrNetwork.
func (n *Network) NewDestination(request chain.Request) (chain.Destination, error) {
	key, err := loaded.Load(request.Key)
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
