package networks_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/networks"
)

// evmNetworks returns the EVM networks of the settings.
func evmNetworks(c config.Config) ([]networks.Network, error) {
	all, err := networks.New(c, nil, time.Now, slog.New(slog.DiscardHandler))
	return slices.DeleteFunc(all, func(n networks.Network) bool { return n.Wallet() != string(keys.ETH) }), err
}

func TestNew_EVM_networks(t *testing.T) {
	t.Parallel()
	const gnosisEuro = "CHEQUER_EVM_TOKENS=gnosis:EURE-GNOSIS:0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430:18:EURC"
	for name, test := range map[string]struct {
		environ []string
		want    []string // network, whether it is watched, the assets it offers
	}{
		"by default": {want: []string{"ethereum true USDC EURC", "base true EURC-BASE USDC-BASE"}},
		"off": {
			environ: []string{"CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off"},
			want:    []string{"ethereum false ETH USDC EURC", "base false EURC-BASE USDC-BASE ETH-BASE"},
		},
		"more networks and tokens": {
			environ: []string{"CHEQUER_BASE_RPC=trusted:http://127.0.0.1:8545", "CHEQUER_AVALANCHE_RPC=public", "CHEQUER_GNOSIS_RPC=public", gnosisEuro + ",USDT,USDT-AVALANCHE"},
			want: []string{
				"ethereum true USDC EURC USDT", "base true EURC-BASE USDC-BASE ETH-BASE", "gnosis true EURE-GNOSIS",
				"avalanche true EURC-AVALANCHE USDC-AVALANCHE USDT-AVALANCHE",
			},
		},
		"a trusted node of a network without tokens": {
			environ: []string{"CHEQUER_ETHEREUM_RPC=public", "CHEQUER_BASE_RPC=public", "CHEQUER_GNOSIS_RPC=trusted:http://127.0.0.1:8545"},
			want:    []string{"ethereum true USDC EURC", "base true EURC-BASE USDC-BASE", "gnosis true XDAI"},
		},
		"public endpoints with address queries": {
			environ: []string{"CHEQUER_EVM_ADDRESS_QUERIES=on"},
			want:    []string{"ethereum true ETH USDC EURC", "base true EURC-BASE USDC-BASE ETH-BASE"},
		},
		"a test network in place of the real ones": {
			environ: []string{"CHEQUER_BASE_SEPOLIA_RPC=public"},
			want:    []string{"base-sepolia true EURC-BASE USDC-BASE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(test.environ)
			if err != nil {
				t.Fatal(err)
			}
			all, err := evmNetworks(c)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range all {
				line := fmt.Sprintf("%s %t", n.ID(), n.Watched())
				for _, a := range n.Assets() {
					line += " " + a.Code
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("networks (-got +want):\n%s", diff)
			}
		})
	}
}

func TestNew_EVM_networks_know_bridged_tokens_that_no_setting_names(t *testing.T) {
	t.Parallel()
	const contract = "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"
	for name, test := range map[string]struct {
		setting       string
		offered, more string
	}{
		"by default":                           {"CHEQUER_BASE_RPC=trusted:http://127.0.0.1:8545", "EURC-BASE USDC-BASE ETH-BASE", "USDBC"},
		"unwatched":                            {"CHEQUER_BASE_RPC=off", "EURC-BASE USDC-BASE ETH-BASE", "USDBC"},
		"named by a setting":                   {"CHEQUER_EVM_TOKENS=base:USDBC:" + strings.ToLower(contract) + ":6:USDC", "EURC-BASE USDC-BASE ETH-BASE USDBC", ""},
		"named by a setting with another code": {"CHEQUER_EVM_TOKENS=base:BRIDGED:" + contract + ":6:USDC", "EURC-BASE USDC-BASE ETH-BASE BRIDGED", ""},
		"of a test network's tokens":           {"CHEQUER_BASE_SEPOLIA_RPC=trusted:http://127.0.0.1:8545", "EURC-BASE USDC-BASE ETH-BASE", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{test.setting, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
			if err != nil {
				t.Fatal(err)
			}
			all, err := evmNetworks(c)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(n networks.Network) bool { return strings.HasPrefix(string(n.ID()), "base") })
			codes := func(assets []chain.Asset) string {
				var list []string
				for _, a := range assets {
					list = append(list, a.Code)
				}
				return strings.Join(list, " ")
			}
			got := [2]string{codes(all[i].Assets()), codes(all[i].Network.(chain.Bridged).Bridged())}
			if diff := cmp.Diff(got, [2]string{test.offered, test.more}); diff != "" {
				t.Errorf("offered and bridged (-got +want):\n%s", diff)
			}
		})
	}
}

func TestNew_refuses_invalid_EVM_settings(t *testing.T) {
	t.Parallel()
	const contract = "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430"
	for name, test := range map[string]struct{ setting, want string }{
		"a network without tokens":    {"CHEQUER_GNOSIS_RPC=public", "CHEQUER_GNOSIS_RPC: no token of this network is known"},
		"one operator":                {"CHEQUER_BASE_RPC=https://a.example.org,https://b.example.org", "CHEQUER_BASE_RPC: endpoints of at least two operators"},
		"an unknown token":            {"CHEQUER_EVM_TOKENS=SHIB", `"SHIB" is not a listed token`},
		"an unknown network":          {"CHEQUER_EVM_TOKENS=bsc:X:" + contract + ":18:EURC", "\"bsc\" is not a known EVM network"},
		"a mistyped contract":         {"CHEQUER_EVM_TOKENS=base:XX:0x420cA0f9B9b604cE0fd9C18EF134C705e5Fa3430:18:EURC", "a character is mistyped"},
		"too many decimals":           {"CHEQUER_EVM_TOKENS=base:XX:" + contract + ":77:EURC", "not a number of decimals"},
		"a code in small letters":     {"CHEQUER_EVM_TOKENS=base:xx:" + contract + ":18:EURC", "capital letters"},
		"a code in use":               {"CHEQUER_EVM_TOKENS=base:EURC-BASE:" + contract + ":18:EURC", "the code or the contract is already in use"},
		"a contract in use":           {"CHEQUER_EVM_TOKENS=base:XX:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6:USDC", "the code or the contract is already in use"},
		"the code of a bridged token": {"CHEQUER_EVM_TOKENS=base:USDBC:" + contract + ":6:USDC", "the code or the contract is already in use"},
		"a listed token named twice":  {"CHEQUER_EVM_TOKENS=USDT,USDT", "the code or the contract is already in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{test.setting})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := evmNetworks(c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
