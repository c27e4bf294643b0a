package ethereum_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
	"chequer/internal/money"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/publicsuffix"
)

var _ chain.Network = (*ethereum.Network)(nil)

// The account key m/44'/60'/0' of a published mnemonic: never put real money on it.
const (
	account = "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
	ethKey  = "eth:" + account
	tpub    = "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba"
)

func TestNewDestination_derives_the_same_address_on_every_network(t *testing.T) {
	t.Parallel()
	want := map[uint32]chain.Destination{
		0:  {Address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", Script: "0x9858effd232b4033e47d90003d41ec34ecaeda94"},
		1:  {Address: "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0", Script: "0x6fac4d18c912343bf86fa7049364dd4e424ab9c0"},
		20: {Address: "0x0f7479EC9cB833971eE60A4B09d7E048f689029B", Script: "0x0f7479ec9cb833971ee60a4b09d7e048f689029b"},
	}
	for _, params := range []ethereum.Params{ethereum.Mainnet, ethereum.Base} {
		network := ethereum.New(params)
		for _, asset := range network.Assets() {
			got := map[uint32]chain.Destination{}
			for index := range want {
				destination, err := network.NewDestination(chain.Request{Asset: asset, Key: ethKey, Index: index})
				if err != nil {
					t.Fatal(err)
				}
				got[index] = destination
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%s: NewDestination() differs (-got +want):\n%s", asset.Code, diff)
			}
		}
	}
}

func TestNewDestination_refuses_invalid_keys_and_indexes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key   string
		index uint32
		want  error
	}{
		"no key":               {"", 0, keys.ErrMalformed},
		"a key without prefix": {account, 0, keys.ErrMalformed},
		"a Bitcoin key":        {"btc:p2wpkh:" + account, 0, keys.ErrNetwork},
		"a test key":           {"eth:" + tpub, 0, keys.ErrNetwork},
		"an index too large":   {ethKey, 1 << 31, keys.ErrIndex},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ethereum.New(ethereum.Base).NewDestination(chain.Request{Key: test.key, Index: test.index})
			if !errors.Is(err, test.want) || got != (chain.Destination{}) {
				t.Errorf("NewDestination() = %+v, %v, want %v", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "pub") && !errors.Is(err, keys.ErrMalformed) {
				t.Errorf("error contains the key: %q", err)
			}
		})
	}
}

func TestAssets_have_the_policy_of_their_network(t *testing.T) {
	t.Parallel()
	type row struct {
		Code, Symbol, Rate, Wallet, Contract string
		Network                              chain.ID
		ChainID                              uint64
		Decimals                             int32
		Volatile                             bool
	}
	tests := map[string]struct {
		params ethereum.Params
		want   []row
		depths [3]int // below 500, 5,000 EUR and above
	}{
		"Ethereum": {ethereum.Mainnet, []row{
			{"ETH", "ETH", "ETH", "ETH", "", "ethereum", 1, 18, true},
			{"USDC", "USDC", "USDC", "ETH", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "ethereum", 1, 6, false},
			{"EURC", "EURC", "EURC", "ETH", "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c", "ethereum", 1, 6, false},
		}, [3]int{12, 32, 64}},
		"Base": {ethereum.Base, []row{
			{"EURC-BASE", "EURC", "EURC", "ETH", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", "base", 8453, 6, false},
			{"USDC-BASE", "USDC", "USDC", "ETH", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "base", 8453, 6, false},
			{"ETH-BASE", "ETH", "ETH", "ETH", "", "base", 8453, 18, true},
		}, [3]int{30, 150, 900}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []row
			network := ethereum.New(test.params)
			for _, a := range network.Assets() {
				got = append(got, row{a.Code, a.Symbol, a.Rate, a.Wallet, a.Contract, a.Network, a.ChainID, a.Currency.Decimals, a.Volatile})
				if a.Network != network.ID() || a.Scheme != "ethereum" || !a.Dust.IsZero() || a.Dust.Currency() != a.Currency {
					t.Errorf("%s: %+v is not on %s, or has dust", a.Code, a, network.ID())
				}
				if contract, err := keys.ParseEthereumAddress(a.Contract); a.Contract != "" && (err != nil || contract.String() != a.Contract) {
					t.Errorf("%s: contract %s does not have the spelling of ERC-55: %v", a.Code, a.Contract, err)
				}
				if a.Policy.Mempool || a.Policy.BlockGrace != 3*time.Minute {
					t.Errorf("%s: policy %+v, want no mempool and three minutes", a.Code, a.Policy)
				}
				for cents, want := range map[int64]int{
					0: test.depths[0], 499_99: test.depths[0],
					500_00: test.depths[1], 4_999_99: test.depths[1],
					5_000_00: test.depths[2], 1 << 62: test.depths[2],
				} {
					if got := a.Policy.Confirmations(cents); got != want {
						t.Errorf("%s: Confirmations(%d) = %d, want %d", a.Code, cents, got, want)
					}
				}
			}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("Assets() differs (-got +want):\n%s", diff)
			}
			network.Assets()[0].Policy.Depth[0].Confirmations = 99
			if network.Assets()[0].Policy.Depth[0].Confirmations == 99 {
				t.Error("Assets() returns the network's own policy, not a copy")
			}
		})
	}
}

func TestNetworks_contracts_have_right_checksums(t *testing.T) {
	t.Parallel()
	for _, params := range ethereum.Networks {
		for _, asset := range slices.Concat(params.Assets, params.More, params.Bridged) {
			if asset.Contract == "" {
				continue
			}
			address, err := keys.ParseEthereumAddress(asset.Contract)
			if err != nil || address.String() != asset.Contract || asset.Currency.Decimals != 6 {
				t.Errorf("%s: contract %s, %v, want %s", asset.Code, asset.Contract, err, address)
			}
		}
	}
}

func TestNetworks_are_distinct(t *testing.T) {
	t.Parallel()
	ids, chains, codes, contracts := map[chain.ID]bool{}, map[uint64]bool{}, map[string]bool{}, map[string]string{}
	for _, p := range ethereum.Networks {
		if ids[p.ID] || chains[p.ChainID] || p.BlockTime == 0 || p.Keys != keys.Main {
			t.Errorf("network %s, %d is a duplicate or lacks a parameter", p.ID, p.ChainID)
		}
		ids[p.ID], chains[p.ChainID] = true, true
		for _, a := range slices.Concat(p.Assets, p.More, p.Bridged) {
			// A test network has the codes of its main network, because the two are never
			// offered together.
			if codes[a.Code] != p.Testnet {
				t.Errorf("%s on %s: code is a duplicate: %t", a.Code, p.ID, codes[a.Code])
			}
			codes[a.Code] = true
			if a.Network != p.ID || a.ChainID != p.ChainID || a.NetworkName == "" {
				t.Errorf("%s: network %s, chain %d, want %s, %d", a.Code, a.Network, a.ChainID, p.ID, p.ChainID)
			}
			if a.Contract != "" && contracts[a.Contract] != "" {
				t.Errorf("%s has the contract of %s", a.Code, contracts[a.Contract])
			}
			contracts[a.Contract] = a.Code + " on " + string(p.ID)
		}
	}
}

func TestNetworks_public_endpoints_are_of_three_operators(t *testing.T) {
	t.Parallel()
	for _, p := range ethereum.Networks {
		operators := map[string]bool{}
		for _, address := range p.Public {
			u, err := url.Parse(address)
			if err != nil || u.Scheme != "https" {
				t.Fatalf("%s: %q, %v", p.ID, address, err)
			}
			operator, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname())
			if err != nil {
				t.Fatal(err)
			}
			operators[operator] = true
		}
		if len(operators) < 3 || len(operators) != len(p.Public) {
			t.Errorf("%s: %d operators of %d endpoints, want at least 3", p.ID, len(operators), len(p.Public))
		}
	}
}

func TestBridged_returns_the_listed_tokens(t *testing.T) {
	t.Parallel()
	type row struct {
		Code, Symbol, BridgeOf, Contract string
		Decimals                         int32
	}
	want := map[chain.ID][]row{
		"base":     {{"USDBC", "USDbC", "USDC", "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA", 6}},
		"arbitrum": {{"USDCE-ARBITRUM", "USDC.e", "USDC", "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8", 6}},
		"optimism": {{"USDCE-OPTIMISM", "USDC.e", "USDC", "0x7F5c764cBc14f9669B88837ca1490cCa17c31607", 6}},
		"polygon":  {{"USDCE-POLYGON", "USDC.e", "USDC", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", 6}},
		"gnosis": {
			{"USDCE-GNOSIS", "USDC.e", "USDC", "0x2a22f9c3b484c3629090FeED35F17Ff8F88f76F0", 6},
			{"USDC-XDAI", "USDC", "USDC", "0xDDAfbb505ad214D7b80b1f830fcCc89B60fb7A83", 6},
		},
		"avalanche": {
			{"USDCE-AVALANCHE", "USDC.e", "USDC", "0xA7D7079b0FEaD91F3e65f86E8915Cb59c1a4C664", 6},
			{"USDTE-AVALANCHE", "USDT.e", "USDT", "0xc7198437980c041c805A1EDcbA50c1Ce5db95118", 6},
		},
	}
	got := map[chain.ID][]row{}
	for _, p := range ethereum.Networks {
		network := ethereum.New(p)
		for _, a := range network.Bridged() {
			got[p.ID] = append(got[p.ID], row{a.Code, a.Symbol, a.BridgeOf, a.Contract, a.Currency.Decimals})
			if a.Rate != "" || a.Volatile || a.Policy.Balance || a.Name == "" || len(a.Policy.Depth) != 3 || a.Dust.Currency() != a.Currency {
				t.Errorf("%s: %+v", a.Code, a)
			}
			same := func(o chain.Asset) bool { return o.Currency.Code == a.Currency.Code }
			if slices.ContainsFunc(slices.Concat(p.Assets, p.More), same) {
				t.Errorf("%s has the currency %s of an offered asset", a.Code, a.Currency.Code)
			}
		}
		for _, a := range slices.Concat(network.Assets(), p.More) {
			if a.BridgeOf != "" {
				t.Errorf("%s is a bridged token and offered", a.Code)
			}
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("bridged tokens (-got +want):\n%s", diff)
	}
	network := ethereum.New(ethereum.Base)
	network.Bridged()[0].Policy.Depth[0].Confirmations = 99
	if network.Bridged()[0].Policy.Depth[0].Confirmations == 99 {
		t.Error("Bridged() returns the network's own policy, not a copy")
	}
}

func TestToken_has_the_parameters_of_the_network(t *testing.T) {
	t.Parallel()
	contract, err := keys.ParseEthereumAddress("0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430")
	if err != nil {
		t.Fatal(err)
	}
	got := ethereum.Gnosis.Token("EURE", contract, money.Currency{Code: "EURC", Decimals: 18})
	if got.Network != "gnosis" || got.ChainID != 100 || got.Contract != contract.String() || got.Volatile ||
		got.Rate != "EURC" || got.Currency.Decimals != 18 || got.Dust.Currency() != got.Currency || len(got.Policy.Depth) != 3 {
		t.Errorf("%+v", got)
	}
}
