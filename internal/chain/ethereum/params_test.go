package ethereum_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
	"chequer/internal/money"

	"github.com/google/go-cmp/cmp"
)

func TestNetworks_have_one_policy_for_all_assets(t *testing.T) {
	t.Parallel()
	type policy struct {
		Depths [3]int // below 500 and 5,000 EUR, and above
		Gas    string
	}
	want := map[chain.ID]policy{
		"ethereum":     {[3]int{12, 32, 64}, "0.002"},
		"base":         {[3]int{30, 150, 900}, "0.0002"},
		"arbitrum":     {[3]int{240, 1200, 7200}, "0.0002"},
		"optimism":     {[3]int{30, 150, 900}, "0.0002"},
		"polygon":      {[3]int{32, 128, 256}, "0.5"},
		"gnosis":       {[3]int{12, 32, 64}, "0.05"},
		"avalanche":    {[3]int{12, 24, 60}, "0.01"},
		"sepolia":      {[3]int{12, 32, 64}, "0.002"},
		"base-sepolia": {[3]int{30, 150, 900}, "0.0002"},
	}
	got := map[chain.ID]policy{}
	for _, p := range ethereum.Networks {
		for _, a := range slices.Concat(p.Assets, p.More, p.Bridged) {
			if coin := a.Contract == ""; coin != a.Policy.Balance || coin != a.Volatile || coin == a.Policy.Gas.IsZero() {
				t.Errorf("%s: balance %t, volatile %t, gas %s; want those of a coin: %t", a.Code, a.Policy.Balance, a.Volatile, a.Policy.Gas, coin)
			}
			if a.Policy.Mempool || a.Policy.Coinbase != 0 || a.Policy.BlockGrace != 3*time.Minute {
				t.Errorf("%s: %+v", a.Code, a.Policy)
			}
			row := policy{Depths: [3]int{a.Policy.Confirmations(499_99), a.Policy.Confirmations(4_999_99), a.Policy.Confirmations(5_000_00)}}
			if a.Contract == "" {
				row.Gas = a.Policy.Gas.String()
			} else {
				row.Gas = want[p.ID].Gas
			}
			if known, found := got[p.ID]; found && known != row {
				t.Errorf("%s: policy %+v differs from %+v of another asset", a.Code, row, known)
			}
			got[p.ID] = row
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("policies (-got +want):\n%s", diff)
	}
}

// The links are those of EIP-681: a coin has its value in wei; a token has the contract as the target
// and the smallest units as a parameter.
func TestLinks_follow_EIP_681(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params           ethereum.Params
		code             string
		due              string
		uri, linkAddress string
	}{
		"ether": {ethereum.Mainnet, "ETH", "1.5",
			"ethereum:0x9858EfFD232B4033E47d90003D41EC34EcaEda94@1?value=1500000000000000000", ""},
		"one wei on Base": {ethereum.Base, "ETH-BASE", "0.000000000000000001",
			"ethereum:0x9858EfFD232B4033E47d90003D41EC34EcaEda94@8453?value=1", ""},
		"a coin of another name": {ethereum.Polygon, "POL", "12",
			"ethereum:0x9858EfFD232B4033E47d90003D41EC34EcaEda94@137?value=12000000000000000000", ""},
		"a token": {ethereum.Base, "EURC-BASE", "12.34",
			"ethereum:0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42@8453/transfer?address=0x9858EfFD232B4033E47d90003D41EC34EcaEda94&uint256=12340000",
			"0x9858EfFD232B4033E47d90003D41EC34EcaEda94"},
		"a token of a test network": {ethereum.Sepolia, "USDC", "0.000001",
			"ethereum:0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238@11155111/transfer?address=0x9858EfFD232B4033E47d90003D41EC34EcaEda94&uint256=1",
			"0x9858EfFD232B4033E47d90003D41EC34EcaEda94"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := ethereum.New(test.params)
			i := slices.IndexFunc(network.Assets(), func(a chain.Asset) bool { return a.Code == test.code })
			asset := network.Assets()[i]
			key := ethKey
			if test.params.Keys != keys.Main {
				key = "eth:" + tpub
			}
			destination, err := network.NewDestination(chain.Request{Asset: asset, Key: key})
			if err != nil {
				t.Fatal(err)
			}
			link := asset.Link(destination.Address, money.MustParse(test.due, asset.Currency), "Shop")
			if want := (chain.Link{URI: test.uri, Code: test.uri, Address: test.linkAddress}); link != want {
				t.Errorf("Link() = %+v, want %+v", link, want)
			}
			read, err := network.ReadAddress(asset.Code, asset.Address(link.URI))
			if err != nil || read != destination {
				t.Errorf("the link has the destination %+v, %v, want %+v", read, err, destination)
			}
		})
	}
}

// The addresses are the examples of EIP-55.
func TestReadAddress_checks_capitals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want chain.Destination
		err  error
	}{
		"capitals":         {"0x52908400098527886E0F7030069857D2E4169EE7", chain.Destination{Address: "0x52908400098527886E0F7030069857D2E4169EE7", Script: "0x52908400098527886e0f7030069857d2e4169ee7"}, nil},
		"small letters":    {"0xde709f2102306220921060314715629080e2fb77", chain.Destination{Address: "0xde709f2102306220921060314715629080e2fb77", Script: "0xde709f2102306220921060314715629080e2fb77"}, nil},
		"both":             {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", chain.Destination{Address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", Script: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"}, nil},
		"without checksum": {"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", chain.Destination{Address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", Script: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"}, nil},
		"a wrong capital":  {"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", chain.Destination{}, keys.ErrAddress},
		"too short":        {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe", chain.Destination{}, keys.ErrAddress},
		"no address":       {"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", chain.Destination{}, keys.ErrAddress},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ethereum.New(ethereum.Base).ReadAddress("USDC-BASE", test.text)
			if got != test.want || !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("ReadAddress(%s) = %+v, %v; want %+v, %v", test.text, got, err, test.want, test.err)
			}
		})
	}
}
