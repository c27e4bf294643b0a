// Package monero implements Monero for wallets that only have the private view key. Their formats are in chequer/internal/monero.
package monero

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// coinbaseMaturity is the number of confirmations that the output of a coinbase transaction needs before it can be spent:
// CRYPTONOTE_MINED_MONEY_UNLOCK_WINDOW of Monero. The cursor stays as many blocks behind the tip, because a reorganisation of 18 blocks has happened.
const coinbaseMaturity = 60

// Params are the parameters of one network of Monero.
type Params struct {
	Asset chain.Asset
	// Name is the name in settings.
	Name string
	// Keys is the network of the keys and addresses.
	Keys keys.Network
}

// Mainnet is Monero.
var Mainnet = Params{
	Name: "mainnet", Keys: keys.Main,
	Asset: chain.Asset{
		Code:        "XMR",
		Symbol:      "XMR",
		Name:        "Monero",
		Network:     "monero",
		NetworkName: "Monero",
		Currency:    money.XMR,
		Wallet:      "XMR",
		Rate:        "XMR",
		Dust:        money.MustParse("0.0001", money.XMR),
		Scheme:      "monero",
		Volatile:    true,
		Policy: chain.Policy{
			Depth: []chain.Depth{
				{BelowCents: 50_00, Confirmations: 1},
				{BelowCents: 200_00, Confirmations: 3},
				{BelowCents: 2_000_00, Confirmations: 10},
				{BelowCents: 20_000_00, Confirmations: 20},
				{Confirmations: 40},
			},
			Coinbase: coinbaseMaturity,
			Mempool:  true,
		},
	},
}

// Networks are the networks of Monero, the main network first. Coins of the test networks have no value. A regtest network has the addresses
// of the main network.
var Networks = []Params{
	Mainnet,
	Mainnet.testNetwork("stagenet", keys.Stagenet),
	Mainnet.testNetwork("testnet", keys.Test),
	Mainnet.testNetwork("regtest", keys.Main),
}

// testNetwork returns a test network.
func (p Params) testNetwork(name string, network keys.Network) Params {
	p.Name, p.Keys = name, network
	p.Asset.Network += chain.ID("-" + name)
	p.Asset.NetworkName += " " + name
	p.Asset.Name += " " + name
	return p
}

// Network is one network of Monero. It implements chain.Timed and chain.AddressReader.
type Network struct {
	params Params
	keys   keys.Cache
}

var _ interface {
	chain.Timed
	chain.AddressReader
} = (*Network)(nil)

// New returns the network with the given parameters, such as Mainnet.
func New(params Params) *Network { return &Network{params: params} }

// Params returns the parameters of the network.
func (n *Network) Params() Params { return n.params }

// ID returns "monero", for a test network followed by its name.
func (n *Network) ID() chain.ID { return n.params.Asset.Network }

// BlockTime implements chain.Timed: DIFFICULTY_TARGET_V2 of Monero.
func (n *Network) BlockTime() time.Duration { return 2 * time.Minute }

// Assets returns the network's only coin.
func (n *Network) Assets() []chain.Asset {
	asset := n.params.Asset
	asset.Policy.Depth = slices.Clone(asset.Policy.Depth)
	return []chain.Asset{asset}
}

// ErrIndex means that an index is that of the primary address, which no invoice gets.
var ErrIndex = errors.New("index 0 is the primary address of the wallet; the first subaddress has index 1")

// NewDestination returns the subaddress at an index of account 0, and its public spend key in hex as the script. The index is from 1 on. The
// error for a key of another network is keys.ErrNetwork. See keys.Load for the form of the key.
func (n *Network) NewDestination(request chain.Request) (chain.Destination, error) {
	if request.Index == 0 {
		return chain.Destination{}, fmt.Errorf("make a destination on %s: %w", n.ID(), ErrIndex)
	}
	key, err := n.keys.LoadOn(request.Key, n.params.Keys)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("load the key of a Monero wallet: %w", err)
	}
	if key.Kind() != keys.XMR {
		return chain.Destination{}, fmt.Errorf("make a destination on %s with a key of %s: %w", n.ID(), key.Kind(), keys.ErrNetwork)
	}
	address, script, err := key.Address(request.Index)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("make destination %d on %s: %w", request.Index, n.ID(), err)
	}
	return chain.Destination{Address: address, Script: script}, nil
}

// ReadAddress implements chain.AddressReader. An address of any kind can receive a refund.
func (n *Network) ReadAddress(_, text string) (chain.Destination, error) {
	address, script, err := keys.ParseAddress(text, keys.XMR, n.params.Keys)
	return chain.Destination{Address: address, Script: script}, err
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
