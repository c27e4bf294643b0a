// Package bitcoin implements Bitcoin and Litecoin, which differ only in data: their assets and their
// addresses.
package bitcoin

import (
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
	"chequer/internal/keys"
)

// Params are the parameters of one network of this family.
type Params struct {
	Asset chain.Asset
	// Name is the name in settings, Chain the name in a node's getblockchaininfo.
	Name, Chain string
	// Genesis is the hash of the first block of the network.
	Genesis string
	// Checkpoint is a block that distinguishes the network from others with the same first
	// blocks; zero if there are no such networks.
	Checkpoint Checkpoint
	// Keys is the network of the keys that destinations are derived from.
	Keys keys.Network
	// BlockTime is the time between two blocks for which the difficulty is adjusted.
	BlockTime time.Duration
	// Extended is true if blocks contain more than those of Bitcoin, so that they are read
	// in the node's JSON form.
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

// New returns the network with the given parameters, such as Mainnet.
func New(params Params) *Network { return &Network{params: params} }

// Params returns the parameters of the network.
func (n *Network) Params() Params { return n.params }

// ID returns "bitcoin" or "litecoin", for a test network followed by its name.
func (n *Network) ID() chain.ID { return n.params.Asset.Network }

// BlockTime implements chain.Timed.
func (n *Network) BlockTime() time.Duration { return n.params.BlockTime }

// Assets returns the network's only coin.
func (n *Network) Assets() []chain.Asset {
	asset := n.params.Asset
	asset.Policy.Depth = slices.Clone(asset.Policy.Depth)
	return []chain.Asset{asset}
}

// NewDestination returns the address at an index of a key and its scriptPubKey in hex. The
// error for a key of another network is keys.ErrNetwork. See keys.Load for the form of the key.
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

// Scanner is a network that is watched through a source. It implements chain.Scanner, chain.Waker and chain.Reporter.
type Scanner struct {
	*Network
	*utxo.Scanner
}

var _ interface {
	chain.Scanner
	chain.Waker
	chain.Reporter
} = (*Scanner)(nil)

// Watch returns a Scanner of a network that reads from a source.
func Watch(network *Network, source utxo.Source, now func() time.Time) *Scanner {
	return &Scanner{network, utxo.New(network.params.Asset, coinbaseMaturity, source, now)}
}
