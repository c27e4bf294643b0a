package networks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/networks"
)

func TestChoicesOf_names_settings_that_add_payment_methods(t *testing.T) {
	t.Parallel()
	public := []string{
		"CHEQUER_ARBITRUM_RPC=public gives USDC-ARBITRUM", "CHEQUER_OPTIMISM_RPC=public gives USDC-OPTIMISM",
		"CHEQUER_POLYGON_RPC=public gives USDC-POLYGON", "CHEQUER_AVALANCHE_RPC=public gives EURC-AVALANCHE, USDC-AVALANCHE",
	}
	for name, test := range map[string]struct {
		kind    keys.Kind
		environ []string
		want    []string
	}{
		"Bitcoin":          {keys.BTC, nil, nil},
		"Litecoin":         {keys.LTC, nil, nil},
		"public endpoints": {keys.ETH, nil, append([]string{"CHEQUER_EVM_ADDRESS_QUERIES=on gives ETH, ETH-BASE"}, public...)},
		"trusted nodes":    {keys.ETH, []string{"CHEQUER_ETHEREUM_RPC=trusted:http://127.0.0.1:8545", "CHEQUER_BASE_RPC=trusted:http://127.0.0.1:8546"}, public},
		"a network that is off": {keys.ETH, []string{"CHEQUER_ETHEREUM_RPC=off"}, append([]string{
			"CHEQUER_EVM_ADDRESS_QUERIES=on gives ETH-BASE", "CHEQUER_ETHEREUM_RPC=public gives USDC, EURC",
		}, public...)},
		"address queries": {keys.ETH, []string{"CHEQUER_EVM_ADDRESS_QUERIES=on"}, []string{
			"CHEQUER_ARBITRUM_RPC=public gives USDC-ARBITRUM, ETH-ARBITRUM", "CHEQUER_OPTIMISM_RPC=public gives USDC-OPTIMISM, ETH-OPTIMISM",
			"CHEQUER_POLYGON_RPC=public gives USDC-POLYGON, POL", "CHEQUER_GNOSIS_RPC=public gives XDAI",
			"CHEQUER_AVALANCHE_RPC=public gives EURC-AVALANCHE, USDC-AVALANCHE, AVAX",
		}},
		"a test network": {keys.ETH, []string{"CHEQUER_BASE_SEPOLIA_RPC=public"}, []string{"CHEQUER_EVM_ADDRESS_QUERIES=on gives ETH-BASE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(test.environ)
			if err != nil {
				t.Fatal(err)
			}
			choices, err := networks.ChoicesOf(c, test.kind)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, choice := range choices {
				got = append(got, fmt.Sprintf("%s=%s gives %s", choice.Setting, choice.Value, strings.Join(choice.Codes, ", ")))
				namesAddresses := strings.Contains(choice.Cost, "your addresses")
				if want := bool(c.EVM.AddressQueries) || choice.Setting == "CHEQUER_EVM_ADDRESS_QUERIES"; namesAddresses != want {
					t.Errorf("%s: the cost is %q, want the merchant's addresses in it: %t", choice.Setting, choice.Cost, want)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
