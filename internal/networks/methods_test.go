package networks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/networks"
)

func TestMethodsOf_says_why_a_method_is_off(t *testing.T) {
	t.Parallel()
	const euro = "CHEQUER_EVM_TOKENS=base:EURE:0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430:6:EURC"
	for name, test := range map[string]struct {
		kind    keys.Kind
		environ []string
		want    string
		reasons []string // parts of the reasons, in order
	}{
		"public endpoints": {keys.ETH, nil, "gives USDC, EURC, EURC-BASE, USDC-BASE; off: ETH, ETH-BASE", []string{"CHEQUER_ETHEREUM_RPC", "CHEQUER_BASE_RPC"}},
		"address queries": {keys.ETH, []string{"CHEQUER_EVM_ADDRESS_QUERIES=on"},
			"gives ETH, USDC, EURC, EURC-BASE, USDC-BASE, ETH-BASE", nil},
		"a trusted node of one network": {keys.ETH, []string{"CHEQUER_BASE_RPC=trusted:http://127.0.0.1:8545"},
			"gives USDC, EURC, EURC-BASE, USDC-BASE, ETH-BASE; off: ETH", []string{"CHEQUER_ETHEREUM_RPC"}},
		"a token of the settings whose balances must not be read": {keys.ETH, []string{euro, "CHEQUER_ETHEREUM_RPC=off"},
			"gives EURC-BASE, USDC-BASE; off: ETH, USDC, EURC, ETH-BASE, EURE", []string{"CHEQUER_ETHEREUM_RPC switches it on", "CHEQUER_BASE_RPC as trusted"}},
		"a token of the settings whose contract was not queried": {keys.ETH, []string{euro, "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_EVM_ADDRESS_QUERIES=on"},
			"gives EURC-BASE, USDC-BASE, ETH-BASE; off: ETH, USDC, EURC, EURE", []string{"CHEQUER_ETHEREUM_RPC switches it on", "confirms 6 decimals"}},
		"a test network":               {keys.ETH, []string{"CHEQUER_BASE_SEPOLIA_RPC=public"}, "gives EURC-BASE, USDC-BASE; off: ETH-BASE", []string{"CHEQUER_BASE_SEPOLIA_RPC"}},
		"fixed rates":                  {keys.ETH, []string{"CHEQUER_RATES=fixed:EUR-USD=1.1", "CHEQUER_EVM_ADDRESS_QUERIES=on"}, "gives USDC, EURC, EURC-BASE, USDC-BASE; off: ETH, ETH-BASE", []string{"add ETH-EUR=… to CHEQUER_RATES"}},
		"Lightning":                    {chain.CodeLightning, nil, "gives BTC-LN", nil},
		"Lightning with fixed rates":   {chain.CodeLightning, []string{"CHEQUER_RATES=fixed:EUR-USD=1.1"}, "gives no payment method; off: BTC-LN", []string{"add BTC-EUR=… to CHEQUER_RATES"}},
		"Bitcoin":                      {keys.BTC, nil, "gives BTC", nil},
		"Litecoin":                     {keys.LTC, nil, "gives no payment method; off: LTC", []string{"CHEQUER_LITECOIN_NODE switches it on"}},
		"Litecoin that is not watched": {keys.LTC, []string{"CHEQUER_UNWATCHED=on"}, "gives LTC", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(test.environ)
			if err != nil {
				t.Fatal(err)
			}
			got, err := networks.MethodsOf(c, test.kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fmt.Sprint(got), test.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			if len(got.Off) != len(test.reasons) {
				t.Fatalf("off: %+v, want %d reasons", got.Off, len(test.reasons))
			}
			for i, off := range got.Off {
				if !strings.Contains(off.Reason, test.reasons[i]) {
					t.Errorf("%v are off: %s; want %q", off.Codes, off.Reason, test.reasons[i])
				}
			}
		})
	}
}
