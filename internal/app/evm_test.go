package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
)

func TestEVMNetworks(t *testing.T) {
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
		"an own node of a network without tokens": {
			environ: []string{"CHEQUER_ETHEREUM_RPC=public", "CHEQUER_BASE_RPC=public", "CHEQUER_GNOSIS_RPC=trusted:http://127.0.0.1:8545"},
			want:    []string{"ethereum true USDC EURC", "base true EURC-BASE USDC-BASE", "gnosis true XDAI"},
		},
		"public endpoints that may be asked about addresses": {
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
			networks, err := app.EVMNetworks(c)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range networks {
				_, watched := n.(chain.Scanner)
				line := fmt.Sprintf("%s %t", n.ID(), watched)
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

func TestEVMNetworks_know_bridged_tokens_that_no_setting_names(t *testing.T) {
	t.Parallel()
	const contract = "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"
	for name, test := range map[string]struct {
		setting       string
		offered, rest string
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
			networks, err := app.EVMNetworks(c)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(networks, func(n chain.Network) bool { return strings.HasPrefix(string(n.ID()), "base") })
			codes := func(assets []chain.Asset) string {
				var list []string
				for _, a := range assets {
					list = append(list, a.Code)
				}
				return strings.Join(list, " ")
			}
			got := [2]string{codes(networks[i].Assets()), codes(networks[i].(chain.Bridged).Bridged())}
			if diff := cmp.Diff(got, [2]string{test.offered, test.rest}); diff != "" {
				t.Errorf("offered and bridged (-got +want):\n%s", diff)
			}
		})
	}
}

func TestHoldings_list_bridged_tokens(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=trusted:" + baseNode(t, 6)}) // it returns 6 for each call
	if err != nil {
		t.Fatal(err)
	}
	found, err := app.HoldingsAt(t.Context(), c, "base", "eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range found {
		got = append(got, h.Amount+" "+h.Asset+" "+h.Contract)
	}
	want := []string{
		"0.000006 EURC-BASE 0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
		"0.000006 USDC-BASE 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
		"0.000000000000000006 ETH-BASE ",
		"0.000006 USDBC 0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("holdings (-got +want):\n%s", diff)
	}
}

func TestCheck_accepts_a_fixed_rate_of_each_asset(t *testing.T) {
	t.Parallel()
	for code, environ := range map[string][]string{
		"SHIB": {"CHEQUER_EVM_TOKENS=base:SHIB:0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430:18:SHIB"},
	} {
		checkRate(t, code, environ...)
	}
	for _, params := range ethereum.Networks {
		for _, a := range slices.Concat(params.Assets, params.More) {
			checkRate(t, a.Rate)
		}
	}
}

// checkRate checks that the settings accept a fixed rate of a coin.
func checkRate(t *testing.T, code string, environ ...string) {
	t.Helper()
	c, err := config.Load(append(environ, "CHEQUER_RATES=fixed:"+code+"-EUR=0.5,EUR-USD=1.08"))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Check(c); err != nil {
		t.Errorf("%s: %v", code, err)
	}
}

func TestEVMNetworks_refuses(t *testing.T) {
	t.Parallel()
	const contract = "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430"
	for name, test := range map[string]struct{ setting, want string }{
		"a network without tokens":    {"CHEQUER_GNOSIS_RPC=public", "CHEQUER_GNOSIS_RPC: no token is known there yet"},
		"one operator":                {"CHEQUER_BASE_RPC=https://a.example.org,https://b.example.org", "CHEQUER_BASE_RPC: endpoints of at least two operators"},
		"an unknown token":            {"CHEQUER_EVM_TOKENS=SHIB", `"SHIB" is no token that we list`},
		"an unknown network":          {"CHEQUER_EVM_TOKENS=bsc:X:" + contract + ":18:EURC", "is not like base:CODE"},
		"a mistyped contract":         {"CHEQUER_EVM_TOKENS=base:XX:0x420cA0f9B9b604cE0fd9C18EF134C705e5Fa3430:18:EURC", "a character is mistyped"},
		"too many decimals":           {"CHEQUER_EVM_TOKENS=base:XX:" + contract + ":77:EURC", "no number of decimals"},
		"a code in small letters":     {"CHEQUER_EVM_TOKENS=base:xx:" + contract + ":18:EURC", "capital letters"},
		"a code that is there":        {"CHEQUER_EVM_TOKENS=base:EURC-BASE:" + contract + ":18:EURC", "there is such a code or contract already"},
		"a contract that is there":    {"CHEQUER_EVM_TOKENS=base:XX:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6:USDC", "there is such a code or contract already"},
		"the code of a bridged token": {"CHEQUER_EVM_TOKENS=base:USDBC:" + contract + ":6:USDC", "there is such a code or contract already"},
		"a listed token named twice":  {"CHEQUER_EVM_TOKENS=USDT,USDT", "there is such a code or contract already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{test.setting})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.EVMNetworks(c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// baseNode returns a node of Base whose contracts all report a number of decimals.
func baseNode(t *testing.T, decimals int) (url string) {
	t.Helper()
	block := map[string]any{
		"number": "0x10", "hash": "0x" + strings.Repeat("1", 64), "parentHash": "0x" + strings.Repeat("2", 64), "timestamp": fmt.Sprintf("0x%x", time.Now().Unix()),
	}
	results := map[string]any{"eth_chainId": "0x2105", "eth_getBlockByNumber": block, "eth_call": fmt.Sprintf("0x%064x", decimals), "eth_getBalance": fmt.Sprintf("0x%x", decimals)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		type call struct {
			ID     int    `json:"id"`
			Method string `json:"method,omitempty"`
			Result any    `json:"result"`
		}
		var raw json.RawMessage
		var calls []call
		var one call
		_ = json.NewDecoder(r.Body).Decode(&raw)
		if json.Unmarshal(raw, &calls) != nil {
			_ = json.Unmarshal(raw, &one)
			one.Result = results[one.Method]
			_ = json.NewEncoder(w).Encode(one)
			return
		}
		for i, c := range calls {
			calls[i].Result = results[c.Method]
		}
		_ = json.NewEncoder(w).Encode(calls)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestExamineEVM_names_the_endpoints_that_are_down(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(nil)
	down.Close()
	node := "trusted:" + down.URL
	for name, test := range map[string]struct{ endpoints, want string }{
		"the only own node":                {node, "your own node must answer, and does not: 127.0.0.1: "},
		"both own nodes":                   {node + "," + node, "one of your 2 own nodes must answer, and none does: "},
		"an own node beside one operator":  {node + ",one=" + down.URL, "your own node must answer, and does not: "},
		"an own node beside two operators": {node + ",one=" + down.URL + ",two=" + down.URL, "your own node, or endpoints of at least 2 operators, must answer, and too few of 3 endpoints do: "},
		"two operators":                    {"one=" + down.URL + ",two=" + down.URL, "endpoints of at least 2 operators must answer, and too few of 2 endpoints do: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{"CHEQUER_BASE_RPC=" + test.endpoints})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.ExamineEVM(t.Context(), c, "base"); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want prefix %q", err, test.want)
			}
		})
	}
}

func TestExamineEVM_names_a_token_whose_balances_cannot_be_read(t *testing.T) {
	t.Parallel()
	node := baseNode(t, 6)
	c, err := config.Load([]string{
		"CHEQUER_EVM_TOKENS=base:EURE:0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430:6:EURC", "CHEQUER_BASE_RPC=one=" + node + ",two=" + node,
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := app.ExamineEVM(t.Context(), c, "base")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(f app.Finding) bool { return f.About == "token EURE" })
	if i < 0 || all[i].Level != app.LevelWarn {
		t.Fatalf("findings %+v, want a warning about the token", all)
	}
	for _, words := range []string{"neither offered nor looked for", "CHEQUER_BASE_RPC as trusted:", "CHEQUER_EVM_ADDRESS_QUERIES=on"} {
		if !strings.Contains(all[i].Says, words) {
			t.Errorf("the warning is %q, want %q in it", all[i].Says, words)
		}
	}
}

func TestExamineEVM_names_tokens_that_differ_from_the_settings(t *testing.T) {
	t.Parallel()
	const contract = "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430"
	const setting = "CHEQUER_EVM_TOKENS=base:EURE:" + contract + ":6:EURC"
	for name, test := range map[string]struct {
		decimals int
		want     []app.Finding
	}{
		"as the setting says": {6, nil},
		"other decimals": {18, []app.Finding{
			{Level: app.LevelFail, About: "token EURC-BASE", Says: "is neither offered nor looked for: its contract 0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42 has 18 decimals, not 6"},
			{Level: app.LevelFail, About: "token USDC-BASE", Says: "is neither offered nor looked for: its contract 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 has 18 decimals, not 6"},
			{Level: app.LevelFail, About: "token EURE", Says: "is neither offered nor looked for: its contract " + contract + " has 18 decimals, not 6"},
			{Level: app.LevelFail, About: "token USDBC", Says: "is not looked for: its contract 0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA has 18 decimals, not 6"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{setting, "CHEQUER_BASE_RPC=trusted:" + baseNode(t, test.decimals)})
			if err != nil {
				t.Fatal(err)
			}
			all, err := app.ExamineEVM(t.Context(), c, "base")
			if err != nil {
				t.Fatal(err)
			}
			var got []app.Finding
			for _, f := range all {
				if strings.HasPrefix(f.About, "token") {
					got = append(got, f)
				}
			}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("findings (-got +want):\n%s", diff)
			}
		})
	}
}
