package bitcoin_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/keys"

	"github.com/google/go-cmp/cmp"
)

var _ chain.Network = (*bitcoin.Network)(nil)

// The account keys m/84'/0'/0' and m/84'/2'/0' of a published mnemonic, and
// m/84'/1'/0' of its test network: never put real money on them.
const (
	btcKey  = "btc:p2wpkh:xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"
	ltcZpub = "zpub6rPo5mF47z5coVm5rvWv7fv181awb7Vckn5Cf3xQXBVKu18kuBHDhNi1Jrb4br6vVD3ZbrnXemEsWJoR18mZwkUdzwD8TQnHDUCGxqZ6swA"
	vpub    = "vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc"
)

func TestNewDestination_derives_address_and_script(t *testing.T) {
	t.Parallel()
	ltcKey := stored(t, ltcZpub, keys.LTC, keys.Main)
	tests := map[string]struct {
		params bitcoin.Params
		key    string
		index  uint32
		want   chain.Destination
	}{
		"the first address of Bitcoin": {bitcoin.Mainnet, btcKey, 0, chain.Destination{
			Address: "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", Script: "0014c0cebcd6c3d3ca8c75dc5ec62ebe55330ef910e2",
		}},
		"the second address of Bitcoin": {bitcoin.Mainnet, btcKey, 1, chain.Destination{
			Address: "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g", Script: "00149c90f934ea51fa0f6504177043e0908da6929983",
		}},
		"the first address of Litecoin": {bitcoin.Litecoin, ltcKey, 0, chain.Destination{
			Address: "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh", Script: "001496cd3178f3de0f307bcee1aeaa4d5987862dd30a",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := bitcoin.New(test.params)
			request := chain.Request{Asset: network.Assets()[0], Key: test.key, Index: test.index}
			for range 2 { // the second time from the cache
				got, err := network.NewDestination(request)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(got, test.want); diff != "" {
					t.Errorf("NewDestination() differs (-got +want):\n%s", diff)
				}
			}
		})
	}
}

func TestNewDestination_refuses_invalid_keys_and_indexes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params bitcoin.Params
		key    string
		index  uint32
		want   error
	}{
		"no key":                     {bitcoin.Mainnet, "", 0, keys.ErrMalformed},
		"a key without prefix":       {bitcoin.Mainnet, ltcZpub, 0, keys.ErrMalformed},
		"a Litecoin key on Bitcoin":  {bitcoin.Mainnet, stored(t, ltcZpub, keys.LTC, keys.Main), 0, keys.ErrNetwork},
		"a Bitcoin key on Litecoin":  {bitcoin.Litecoin, btcKey, 0, keys.ErrNetwork},
		"an Ethereum key on Bitcoin": {bitcoin.Mainnet, strings.Replace(btcKey, "btc:p2wpkh", "eth", 1), 0, keys.ErrNetwork},
		"a test key on Bitcoin":      {bitcoin.Mainnet, stored(t, vpub, keys.BTC, keys.Test), 0, keys.ErrNetwork},
		"an index too large":         {bitcoin.Mainnet, btcKey, 1 << 31, keys.ErrIndex},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := bitcoin.New(test.params).NewDestination(chain.Request{Key: test.key, Index: test.index})
			if !errors.Is(err, test.want) || got != (chain.Destination{}) {
				t.Errorf("NewDestination() = %+v, %v, want %v", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "pub6") {
				t.Errorf("error contains the key: %q", err)
			}
		})
	}
}

func TestNewDestination_is_safe_for_concurrent_use(t *testing.T) {
	t.Parallel()
	network := bitcoin.New(bitcoin.Mainnet)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for index := range uint32(20) {
				if _, err := network.NewDestination(chain.Request{Key: btcKey, Index: index}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestAssets_have_the_policy_of_their_network(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params bitcoin.Params
		id     chain.ID
		code   string
		dust   string
		scheme string
		depths [4]int // below 500, 5,000, 50,000 EUR and above
	}{
		"Bitcoin":  {bitcoin.Mainnet, "bitcoin", "BTC", "0.00000546", "bitcoin", [4]int{1, 2, 6, 12}},
		"Litecoin": {bitcoin.Litecoin, "litecoin", "LTC", "0.0000546", "litecoin", [4]int{4, 8, 24, 48}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := bitcoin.New(test.params)
			assets := network.Assets()
			if len(assets) != 1 || network.ID() != test.id {
				t.Fatalf("%s has %d assets, want %s with 1", network.ID(), len(assets), test.id)
			}
			asset := assets[0]
			got := []string{asset.Code, asset.Wallet, asset.Rate, asset.Currency.Code, string(asset.Network), asset.Dust.String(), asset.Scheme}
			want := []string{test.code, test.code, test.code, test.code, string(test.id), test.dust, test.scheme}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("asset differs (-got +want):\n%s", diff)
			}
			if !asset.Volatile || !asset.Policy.Mempool || asset.Policy.Coinbase != 100 || asset.Policy.BlockGrace != 0 {
				t.Errorf("asset %+v: want volatile, mempool, coinbase 100, no grace", asset)
			}
			if one := time.Duration(test.depths[0]) * network.BlockTime(); one != 10*time.Minute {
				t.Errorf("the confirmations of small amounts take %v, want those of one block of Bitcoin", one)
			}
			depths := map[int64]int{
				0: test.depths[0], 499_99: test.depths[0],
				500_00: test.depths[1], 4_999_99: test.depths[1],
				5_000_00: test.depths[2], 49_999_99: test.depths[2],
				50_000_00: test.depths[3], 1 << 62: test.depths[3],
			}
			for cents, want := range depths {
				if got := asset.Policy.Confirmations(cents); got != want {
					t.Errorf("Confirmations(%d) = %d, want %d", cents, got, want)
				}
			}
			asset.Policy.Depth[0].Confirmations = 99
			if network.Assets()[0].Policy.Depth[0].Confirmations == 99 {
				t.Error("Assets() returns the network's own policy, not a copy")
			}
		})
	}
}

// stored returns the stored form of a key.
func stored(t *testing.T, text string, kind keys.Kind, network keys.Network) string {
	t.Helper()
	key, err := keys.Parse(text, kind, network, "")
	if err != nil {
		t.Fatal(err)
	}
	return key.String()
}
