package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
)

func TestRPC_returns_the_mode_and_endpoints_of_a_network(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ []string
		network string
		mode    string
		want    []config.Endpoint
		shown   string
	}{
		"Ethereum by default": {network: "ethereum", mode: "public", shown: "public"},
		"Base by default":     {network: "base", mode: "public", shown: "public"},
		"Arbitrum by default": {network: "arbitrum", mode: "off", shown: "off"},
		"switched on":         {environ: []string{"CHEQUER_GNOSIS_RPC=public"}, network: "gnosis", mode: "public", shown: "public"},
		"beside a test network": {
			environ: []string{"CHEQUER_BASE_SEPOLIA_RPC=public"}, network: "base", mode: "off", shown: "off",
		},
		"endpoints": {
			environ: []string{"CHEQUER_BASE_RPC=trusted:http://127.0.0.1:8545, alchemy=https://base.alchemy.example/v2/topsecret?key=topsecret\nhttps://u:topsecret@rpc.example.org"},
			network: "base",
			want: []config.Endpoint{
				{Trusted: true, URL: "http://127.0.0.1:8545"},
				{Operator: "alchemy", URL: "https://base.alchemy.example/v2/topsecret?key=topsecret"},
				{URL: "https://u:topsecret@rpc.example.org"},
			},
			shown: "trusted:http://127.0.0.1:8545,alchemy=https://base.alchemy.example/…,https://rpc.example.org/…",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(test.environ)
			if err != nil {
				t.Fatal(err)
			}
			mode, endpoints := c.EVM.RPC(test.network)
			if mode != test.mode {
				t.Errorf("mode = %q, want %q", mode, test.mode)
			}
			if diff := cmp.Diff(endpoints, test.want); diff != "" {
				t.Errorf("endpoints (-got +want):\n%s", diff)
			}
			if got := shownValue(c, config.RPCSetting(test.network)); got != test.shown {
				t.Errorf("shown %q, want %q", got, test.shown)
			}
		})
	}
}

func TestRPC_faults_contain_no_key(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setting string
		want    string
	}{
		"no address":                  {"CHEQUER_BASE_RPC=https://a.org,base.example/topsecret", "CHEQUER_BASE_RPC: must be off, public, or addresses such as https://rpc.example.org or trusted:http://127.0.0.1:8545; number 2 is invalid"},
		"a websocket":                 {"CHEQUER_BASE_RPC=wss://a.org/topsecret", "number 1 is invalid"},
		"no host":                     {"CHEQUER_ETHEREUM_RPC=https:///topsecret", "CHEQUER_ETHEREUM_RPC: must be"},
		"both real and test networks": {"CHEQUER_SEPOLIA_RPC=public CHEQUER_POLYGON_RPC=public", "CHEQUER_POLYGON_RPC: is on, and so is a test network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(strings.Fields(test.setting))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "topsecret") {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// shownValue returns a setting as the operator sees it.
func shownValue(c config.Config, name string) string {
	for _, setting := range c.Settings() {
		if setting.Name == name {
			return setting.Value
		}
	}
	return "no such setting"
}
