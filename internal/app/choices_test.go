package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/keys"
)

func TestWalletChoices(t *testing.T) {
	t.Parallel()
	networks := []string{
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
		"public endpoints": {keys.ETH, nil, append([]string{"CHEQUER_EVM_ADDRESS_QUERIES=on gives ETH, ETH-BASE"}, networks...)},
		"own nodes":        {keys.ETH, []string{"CHEQUER_ETHEREUM_RPC=trusted:http://127.0.0.1:8545", "CHEQUER_BASE_RPC=trusted:http://127.0.0.1:8546"}, networks},
		"a network that is off": {keys.ETH, []string{"CHEQUER_ETHEREUM_RPC=off"}, append([]string{
			"CHEQUER_EVM_ADDRESS_QUERIES=on gives ETH-BASE", "CHEQUER_ETHEREUM_RPC=public gives USDC, EURC",
		}, networks...)},
		"endpoints that may be asked": {keys.ETH, []string{"CHEQUER_EVM_ADDRESS_QUERIES=on"}, []string{
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
			choices, err := app.WalletChoices(c, test.kind)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, choice := range choices {
				got = append(got, fmt.Sprintf("%s=%s gives %s", choice.Setting, choice.Value, strings.Join(choice.Codes, ", ")))
				namesAddresses := strings.Contains(choice.Price, "your addresses")
				if asks := bool(c.EVM.AddressQueries) || choice.Setting == "CHEQUER_EVM_ADDRESS_QUERIES"; namesAddresses != asks {
					t.Errorf("%s: the price is %q", choice.Setting, choice.Price)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSaveSetting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "shop.env")
	value := filepath.Join(folder, "value")
	for path, text := range map[string]string{file: "CHEQUER_SHOP_NAME=Tea\n", value: "off\n"} {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	const name = "CHEQUER_EVM_ADDRESS_QUERIES"
	load := func(environ ...string) config.Config {
		c, err := config.Load(append(environ, "CHEQUER_CONFIG="+file))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for want, environ := range map[string]string{
		"the environment sets " + name + ": set " + name + "=on there": name + "=off",
		value + " holds " + name + ": write on into it":                name + "_FILE=" + value,
	} {
		if err := app.SaveSetting(load(environ), name, "on"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
	before := load()
	if err := app.SaveSetting(before, name, "on"); err != nil {
		t.Fatal(err)
	}
	if after := load(); !bool(after.EVM.AddressQueries) || after.ShopName != "Tea" || after.Source(name) != file {
		t.Errorf("got %+v", after.EVM)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := app.SaveSetting(before, name, "on"); err == nil || !strings.Contains(err.Error(), file+" cannot be written") || !strings.Contains(err.Error(), "add the line "+name+"=on to it") {
		t.Errorf("got error %v, want one that names the line", err)
	}
}
