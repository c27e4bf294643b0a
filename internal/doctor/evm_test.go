package doctor

import (
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/config"
	"chequer/internal/networks"
)

// examineBase returns the findings about the parts of Base, and the error of its probe.
func examineBase(t *testing.T, c config.Config) ([]Finding, error) {
	t.Helper()
	all, err := networks.New(c, nil, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(n networks.Network) bool { return n.ID() == "base" })
	e := &examination{}
	err = probe(t.Context(), all[i])
	e.examineEVM(all[i], "")
	return e.found, err
}

func TestExamineEVM_names_the_endpoints_that_are_down(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(nil)
	down.Close()
	node := "trusted:" + down.URL
	for name, test := range map[string]struct{ endpoints, want string }{
		"the only own node":                   {node, "your own node must answer, and does not: 127.0.0.1: "},
		"both own nodes":                      {node + "," + node, "one of your 2 own nodes must answer, and none does: "},
		"a trusted node beside one operator":  {node + ",one=" + down.URL, "your own node must answer, and does not: "},
		"a trusted node beside two operators": {node + ",one=" + down.URL + ",two=" + down.URL, "your own node, or endpoints of at least 2 operators, must answer, and too few of 3 endpoints do: "},
		"two operators":                       {"one=" + down.URL + ",two=" + down.URL, "endpoints of at least 2 operators must answer, and too few of 2 endpoints do: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{"CHEQUER_BASE_RPC=" + test.endpoints})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := examineBase(t, c); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want prefix %q", err, test.want)
			}
		})
	}
}

func TestExamineEVM_names_a_token_whose_balances_cannot_be_read(t *testing.T) {
	t.Parallel()
	node := ethereumtest.BaseNode(t, 6)
	c, err := config.Load([]string{
		"CHEQUER_EVM_TOKENS=base:EURE:0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430:6:EURC", "CHEQUER_BASE_RPC=one=" + node + ",two=" + node,
	})
	if err != nil {
		t.Fatal(err)
	}
	findings, err := examineBase(t, c)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(findings, func(f Finding) bool { return f.About == "token EURE" })
	if i < 0 || findings[i].Level != LevelWarn {
		t.Fatalf("findings %+v, want a warning about the token", findings)
	}
	for _, words := range []string{"neither offered nor watched", "CHEQUER_BASE_RPC as trusted:", "CHEQUER_EVM_ADDRESS_QUERIES=on"} {
		if !strings.Contains(findings[i].Message, words) {
			t.Errorf("the warning is %q, want %q in it", findings[i].Message, words)
		}
	}
}

func TestExamineEVM_names_tokens_that_differ_from_the_settings(t *testing.T) {
	t.Parallel()
	const contract = "0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430"
	const setting = "CHEQUER_EVM_TOKENS=base:EURE:" + contract + ":6:EURC"
	for name, test := range map[string]struct {
		decimals int
		want     []Finding
	}{
		"same decimals": {6, nil},
		"other decimals": {18, []Finding{
			{Level: LevelFail, About: "token EURC-BASE", Message: "is neither offered nor watched: its contract 0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42 has 18 decimals, not 6"},
			{Level: LevelFail, About: "token USDC-BASE", Message: "is neither offered nor watched: its contract 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 has 18 decimals, not 6"},
			{Level: LevelFail, About: "token EURE", Message: "is neither offered nor watched: its contract " + contract + " has 18 decimals, not 6"},
			{Level: LevelFail, About: "token USDBC", Message: "is not watched: its contract 0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA has 18 decimals, not 6"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load([]string{setting, "CHEQUER_BASE_RPC=trusted:" + ethereumtest.BaseNode(t, test.decimals)})
			if err != nil {
				t.Fatal(err)
			}
			findings, err := examineBase(t, c)
			if err != nil {
				t.Fatal(err)
			}
			var got []Finding
			for _, f := range findings {
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
