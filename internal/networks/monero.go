package networks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	network "chequer/internal/chain/monero"
	"chequer/internal/chain/monero/daemon"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/monero"
)

// moneroSetting is the setting with the address of the merchant's daemon.
const moneroSetting = "CHEQUER_MONERO_NODE"

// trusted before the address of a node declares that the merchant trusts it, although it is not in its own network.
const trusted = "trusted:"

// Wallets reads the wallets whose payments a scan shows. The storage implements it.
type Wallets interface {
	// WalletsOf returns the live wallets of all merchants for an asset, including former wallets, oldest first.
	WalletsOf(ctx context.Context, asset string) ([]merchant.Wallet, error)
}

// daemonNetworks are the networks of Monero by their names in the settings, as monerod names them.
var daemonNetworks = map[string]daemon.Network{
	"mainnet": daemon.Mainnet, "stagenet": daemon.Stagenet, "testnet": daemon.Testnet, "regtest": daemon.Fakechain,
}

// moneroParams returns the parameters of the network of Monero that the settings name.
func moneroParams(c config.Monero) network.Params {
	i := slices.IndexFunc(network.Networks, func(p network.Params) bool { return p.Name == c.Network })
	return network.Networks[max(i, 0)]
}

// moneroNetwork returns the network of Monero, which is watched through the merchant's own daemon. stored has the wallets;
// it may be nil if the network is not scanned.
func moneroNetwork(c config.Monero, stored Wallets, now func() time.Time) (Network, error) {
	params := moneroParams(c)
	n := network.New(params)
	if c.Off() {
		return Network{Network: n, Setting: moneroSetting}, nil
	}
	text, isTrusted := strings.CutPrefix(c.Node, trusted)
	address, err := daemon.ParseAddress(text)
	if err != nil {
		return Network{}, fmt.Errorf("%s: %w", moneroSetting, err)
	}
	client, err := daemon.New(daemon.Config{
		Address: address, Trusted: isTrusted, Network: daemonNetworks[params.Name], Setting: moneroSetting, Now: now,
	})
	if err != nil {
		return Network{}, err
	}
	source := daemon.NewSource(client, viewKeys(stored), now)
	return Network{Network: network.Watch(n, source, now), Setting: moneroSetting, Probe: func(ctx context.Context) error {
		_, _, err := client.Tip(ctx)
		return err
	}}, nil
}

// viewKeys returns the function that reads the Monero wallets of all merchants. A wallet that cannot be read is an error,
// because a scan without it would show that its payments are not there.
func viewKeys(stored Wallets) func(context.Context) ([]*monero.Wallet, error) {
	var parsed keys.Cache
	return func(ctx context.Context) ([]*monero.Wallet, error) {
		if stored == nil {
			return nil, nil
		}
		wallets, err := stored.WalletsOf(ctx, string(keys.XMR))
		if err != nil {
			return nil, err
		}
		var all []*monero.Wallet
		for _, w := range wallets {
			key, err := parsed.Load(w.Derivation())
			if err != nil {
				return nil, fmt.Errorf("wallet %s: %w", w.ID, err)
			}
			if !slices.ContainsFunc(all, func(m *monero.Wallet) bool { return m.Address() == key.Monero().Address() }) {
				all = append(all, key.Monero())
			}
		}
		return all, nil
	}
}
