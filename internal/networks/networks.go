// Package networks builds the networks of the settings with their sources, and returns the payment
// methods that they offer for a wallet.
package networks

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/monero"
	"chequer/internal/config"
	"chequer/internal/keys"
)

// Network is a network for live invoices, which may be a test network.
type Network struct {
	chain.Network
	// Run keeps the source of a watched network running until the context ends; nil if the source
	// needs no loop.
	Run func(context.Context) error
	// Probe queries the source once; nil if a query needs a running server.
	Probe func(context.Context) error
	// Access returns what the connection of a Lightning network allows; nil if it never may spend.
	Access func(context.Context) (lightning.Access, error)
	// Setting is the name of the setting that makes the network watched.
	Setting string
}

// New returns the networks of the settings. It opens no files and makes no requests. stored has the wallets whose view keys a
// scan needs; it may be nil if the networks are not scanned.
func New(c config.Config, stored Wallets, now func() time.Time, log *slog.Logger) ([]Network, error) {
	btc, err := bitcoinNetwork(c, c.Bitcoin, "CHEQUER_BITCOIN_NODE", bitcoin.Bitcoins, now, log)
	if err != nil {
		return nil, err
	}
	ltc, err := bitcoinNetwork(c, c.Litecoin, "CHEQUER_LITECOIN_NODE", bitcoin.Litecoins, now, log)
	if err != nil {
		return nil, err
	}
	evm, err := evmNetworks(c, now, log)
	if err != nil {
		return nil, err
	}
	xmr, err := moneroNetwork(c.Monero, stored, now)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]Network{btc, ltc}, evm, []Network{xmr}), nil
}

// Chains returns the networks without their sources, as the domain uses them.
func Chains(all []Network) []chain.Network {
	found := make([]chain.Network, len(all))
	for i, n := range all {
		found[i] = n.Network
	}
	return found
}

// Wallet returns the kind of wallet of the network's destinations.
func (n Network) Wallet() string { return n.Assets()[0].Wallet }

// Watched reports whether the network is scanned.
func (n Network) Watched() bool {
	_, watched := n.Network.(chain.Scanner)
	return watched
}

// IsTest reports whether the network is a test network, whose coins have no value.
func (n Network) IsTest() bool {
	switch n := n.Network.(type) {
	case interface{ Params() bitcoin.Params }:
		return n.Params().Keys != keys.Main
	case interface{ Params() ethereum.Params }:
		return n.Params().Testnet
	case interface{ Params() monero.Params }:
		return n.Params().Name != monero.Mainnet.Name
	case chain.Requester:
		return n.RequestNetwork() != "bc"
	}
	return false
}

// allAssets returns the assets of the network, including its native coin when that cannot be watched.
func (n Network) allAssets() []chain.Asset {
	if e, isEVM := n.Network.(EVM); isEVM {
		return e.Params().Assets
	}
	return n.Assets()
}

// restartDelay is the pause after a source has failed.
const restartDelay = 30 * time.Second

// KeepRunning runs the network's source until the context ends. It restarts the source after a
// failure, so that the rest of the program keeps running.
func (n Network) KeepRunning(ctx context.Context, log *slog.Logger) error {
	for n.Run != nil {
		err := n.Run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		log.Error("source of a network failed", "network", n.ID(), "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartDelay):
		}
	}
	return nil
}

// KeyNetwork returns the network of the keys of live wallets of a kind.
func KeyNetwork(c config.Config, kind keys.Kind) keys.Network {
	switch kind {
	case keys.BTC:
		return paramsOf(c.Bitcoin, bitcoin.Bitcoins).Keys
	case keys.LTC:
		return paramsOf(c.Litecoin, bitcoin.Litecoins).Keys
	case keys.XMR:
		return moneroParams(c.Monero).Keys
	}
	return keys.Main
}

// paramsOf returns the parameters of the network that the settings name.
func paramsOf(s config.Chain, known []bitcoin.Params) bitcoin.Params {
	i := slices.IndexFunc(known, func(p bitcoin.Params) bool { return p.Name == s.Network })
	return known[max(i, 0)]
}
