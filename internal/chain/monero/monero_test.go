package monero_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"filippo.io/edwards25519"

	"chequer/internal/chain"
	network "chequer/internal/chain/monero"
	"chequer/internal/monero"
)

// viewKey is a private view key, and storedKey the stored form of a wallet with it.
var viewKey, storedKey = func() (string, string) {
	public := func(n byte) (*edwards25519.Scalar, monero.PublicKey) {
		s, err := new(edwards25519.Scalar).SetCanonicalBytes(append([]byte{n}, make([]byte, 31)...))
		if err != nil {
			panic(err)
		}
		return s, monero.PublicKey(new(edwards25519.Point).ScalarBaseMult(s).Bytes())
	}
	view, viewPublic := public(7)
	_, spendPublic := public(11)
	address := monero.Address{Network: monero.Mainnet, Kind: monero.Primary, SpendKey: spendPublic, ViewKey: viewPublic}
	key := hex.EncodeToString(view.Bytes())
	return key, "xmr:" + address.String() + ":" + key
}()

func TestNewDestination_derives_subaddresses(t *testing.T) {
	t.Parallel()
	n := network.New(network.Mainnet)
	seen := map[string]bool{}
	for index := uint32(1); index <= 20; index++ {
		d, err := n.NewDestination(chain.Request{Key: storedKey, Index: index})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := monero.ParseAddress(d.Address)
		if err != nil || parsed.Kind != monero.Subaddress || parsed.SpendKey.String() != d.Script {
			t.Errorf("destination %d is %+v, error %v, want a subaddress with its spend key", index, d, err)
		}
		if again, err := n.NewDestination(chain.Request{Key: storedKey, Index: index}); err != nil || again != d {
			t.Errorf("destination %d is %+v and then %+v, error %v", index, d, again, err)
		}
		if seen[d.Address] || seen[d.Script] {
			t.Errorf("destination %d is that of another index", index)
		}
		seen[d.Address], seen[d.Script] = true, true
	}
}

func TestNewDestination_refuses(t *testing.T) {
	t.Parallel()
	mainnet, stagenet := network.New(network.Mainnet), network.New(network.Networks[1])
	if _, err := mainnet.NewDestination(chain.Request{Key: storedKey}); !errors.Is(err, network.ErrIndex) {
		t.Errorf("index 0: error %v, want %v", err, network.ErrIndex)
	}
	for name, tt := range map[string]struct {
		network *network.Network
		key     string
	}{
		"a_key_of_another_network": {stagenet, storedKey},
		"a_key_of_bitcoin":         {mainnet, "btc:p2wpkh:xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"},
		"no_view_key":              {mainnet, storedKey[:strings.LastIndex(storedKey, ":")]},
		"another_view_key":         {mainnet, strings.Replace(storedKey, viewKey, "08"+viewKey[2:], 1)},
		"a_key_that_is_too_short":  {mainnet, storedKey[:len(storedKey)-2]},
		"a_mistyped_address":       {mainnet, strings.Replace(storedKey, "xmr:4", "xmr:5", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.network.NewDestination(chain.Request{Key: tt.key, Index: 1})
			if err == nil {
				t.Fatal("it is accepted")
			}
			if strings.Contains(err.Error(), viewKey[:16]) {
				t.Errorf("the error contains the private view key: %v", err)
			}
		})
	}
}

func TestNetworks_have_assets_of_their_own(t *testing.T) {
	t.Parallel()
	seen := map[chain.ID]bool{}
	for _, p := range network.Networks {
		n := network.New(p)
		asset := n.Assets()[0]
		if seen[n.ID()] || asset.Network != n.ID() || asset.Currency.Decimals != 12 || !asset.Policy.Mempool {
			t.Errorf("network %s has the asset %+v", n.ID(), asset)
		}
		seen[n.ID()] = true
		asset.Policy.Depth[0].Confirmations = 99
		if n.Assets()[0].Policy.Depth[0].Confirmations == 99 {
			t.Error("the caller can change the policy of the network")
		}
	}
}
