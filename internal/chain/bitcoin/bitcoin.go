// Package bitcoin offers Bitcoin and Litecoin, which differ in data only: what
// can be paid with there and which addresses the money goes to.
package bitcoin

import (
	"fmt"
	"slices"

	"chequer/internal/chain"
	"chequer/internal/keys"
)

// Params are what one network of this family differs by.
type Params struct {
	Asset chain.Asset
	// Name is what settings call it, Chain what a node's getblockchaininfo does.
	Name, Chain string
	// Genesis is the hash of its first block.
	Genesis string
	// Checkpoint is a block that coins with the same first blocks do not have; zero
	// where there are none to be mistaken for it.
	Checkpoint Checkpoint
	// Keys is the network whose keys are taken here.
	Keys keys.Network
	// Extended tells that blocks hold more than Bitcoin's do, so that they are read
	// as a node spells them out.
	Extended bool
}

// Checkpoint is a block that the best chain must have.
type Checkpoint struct {
	Height int64
	Hash   string
}

// Network is one network of this family. It implements chain.Network.
type Network struct {
	params Params
	keys   keys.Cache
}

// New is the network of some parameters, such as Mainnet.
func New(params Params) *Network { return &Network{params: params} }

// Params are what the network was made of.
func (n *Network) Params() Params { return n.params }

// ID is "bitcoin" or "litecoin", with the name of a test network behind it.
func (n *Network) ID() chain.ID { return n.params.Asset.Network }

// Assets is the network's one coin.
func (n *Network) Assets() []chain.Asset {
	asset := n.params.Asset
	asset.Policy.Depth = slices.Clone(asset.Policy.Depth)
	return []chain.Asset{asset}
}

// NewDestination makes the address at an index of a key as keys.Load reads it,
// and its scriptPubKey in hex. A key of another network is keys.ErrNetwork.
func (n *Network) NewDestination(request chain.Request) (chain.Destination, error) {
	key, err := n.keys.LoadOn(request.Key, n.params.Keys)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("load the key of a %s wallet: %w", n.params.Asset.Wallet, err)
	}
	if key.Kind() != keys.Kind(n.params.Asset.Wallet) {
		return chain.Destination{}, fmt.Errorf("make a destination on %s with a key of %s: %w", n.ID(), key.Kind(), keys.ErrNetwork)
	}
	address, script, err := key.Address(request.Index)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("make destination %d on %s: %w", request.Index, n.ID(), err)
	}
	return chain.Destination{Address: address, Script: script}, nil
}
