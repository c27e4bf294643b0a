// Package monero implements Monero for wallets that only have the private view key. Their formats are in chequer/internal/monero.
package monero

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
	"chequer/internal/monero"
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
	// Addresses is the network of the addresses.
	Addresses monero.Network
}

// Mainnet is Monero.
var Mainnet = Params{
	Name: "mainnet", Addresses: monero.Mainnet,
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
	Mainnet.testNetwork("stagenet", monero.Stagenet),
	Mainnet.testNetwork("testnet", monero.Testnet),
	Mainnet.testNetwork("regtest", monero.Mainnet),
}

// testNetwork returns a test network.
func (p Params) testNetwork(name string, addresses monero.Network) Params {
	p.Name, p.Addresses = name, addresses
	p.Asset.Network += chain.ID("-" + name)
	p.Asset.NetworkName += " " + name
	p.Asset.Name += " " + name
	return p
}

// Network is one network of Monero. It implements chain.Network and chain.Timed.
type Network struct{ params Params }

var _ chain.Timed = (*Network)(nil)

// New returns the network with the given parameters, such as Mainnet.
func New(params Params) *Network { return &Network{params} }

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

// NewDestination returns the subaddress at an index of account 0, and its public spend key in hex as the script. The index is from 1 on. See
// ParseKey for the form of the key.
func (n *Network) NewDestination(request chain.Request) (chain.Destination, error) {
	if request.Index == 0 {
		return chain.Destination{}, fmt.Errorf("make a destination on %s: %w", n.ID(), ErrIndex)
	}
	w, err := ParseKey(request.Key)
	if err != nil {
		return chain.Destination{}, fmt.Errorf("load the key of a Monero wallet: %w", err)
	}
	if w.Address().Network != n.params.Addresses {
		return chain.Destination{}, fmt.Errorf("make a destination on %s with a key of another network", n.ID())
	}
	sub := w.Subaddress(request.Index)
	return chain.Destination{Address: sub.String(), Script: Script(sub.SpendKey)}, nil
}

// Script returns the form of a public spend key by which transfers to its subaddress are matched.
func Script(spendKey monero.PublicKey) string { return hex.EncodeToString(spendKey[:]) }

// keyPrefix begins the stored form of a key.
const keyPrefix = "xmr:"

// ParseKey parses the stored form of the key of a wallet: "xmr:", the primary address, ":" and the private view key in hex. The text shows all
// payments of the wallet, so it must not be logged; no error contains it.
func ParseKey(text string) (*monero.Wallet, error) {
	rest, isKey := strings.CutPrefix(text, keyPrefix)
	address, key, isPair := strings.Cut(rest, ":")
	if !isKey || !isPair {
		return nil, errors.New("it is not in the stored form")
	}
	primary, err := monero.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	view, err := monero.ParseViewKey(key)
	if err != nil {
		return nil, err
	}
	return monero.NewWallet(primary, view)
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
