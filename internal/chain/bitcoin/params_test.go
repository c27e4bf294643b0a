package bitcoin_test

import (
	"testing"

	"github.com/btcsuite/btcd/chaincfg"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/keys"
)

func TestParams_have_the_genesis_block_of_their_chain(t *testing.T) {
	t.Parallel()
	want := map[string]*chaincfg.Params{
		"mainnet": &chaincfg.MainNetParams, "signet": &chaincfg.SigNetParams, "regtest": &chaincfg.RegressionNetParams,
	}
	for _, p := range bitcoin.Bitcoins {
		if known := want[p.Name]; known != nil && known.GenesisHash.String() != p.Genesis {
			t.Errorf("%s has genesis block %s, want %s", p.Name, p.Genesis, known.GenesisHash)
		}
	}
}

func TestNewDestination_on_test_networks(t *testing.T) {
	t.Parallel()
	key := stored(t, vpub, keys.BTC, keys.Test)
	want := map[string]string{
		"testnet4": "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl",
		"signet":   "tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl",
		"regtest":  "bcrt1q6rz28mcfaxtmd6v789l9rrlrusdprr9pz3cppk",
	}
	seen := map[chain.ID]bool{}
	for _, p := range bitcoin.Bitcoins {
		network := bitcoin.New(p)
		if seen[network.ID()] {
			t.Errorf("%s is the ID of two networks", network.ID())
		}
		seen[network.ID()] = true
		if p.Name == "mainnet" {
			continue
		}
		got, err := network.NewDestination(chain.Request{Key: key})
		if err != nil || got.Address != want[p.Name] || got.Script != "0014d0c4a3ef09e997b6e99e397e518fe3e41a118ca1" {
			t.Errorf("first address on %s: %+v, %v, want %s", p.Name, got, err, want[p.Name])
		}
		if _, err := network.NewDestination(chain.Request{Key: btcKey}); err == nil {
			t.Errorf("%s accepts a key of the main network", p.Name)
		}
	}
}
