package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/ethereum"
	"chequer/internal/evm"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/plan/plantest"
)

// golden returns the content of testdata/plan.json.
func golden(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestEncode_writes_the_golden_file(t *testing.T) {
	t.Parallel()
	got := plantest.Encoded(t, plantest.Example(plantest.MadeAt))
	if diff := cmp.Diff(string(golden(t)), string(got.Bytes())); diff != "" {
		t.Errorf("plan.json (-want +got):\n%s", diff)
	}
}

func TestRead_keeps_the_exact_bytes(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Replace(string(golden(t)), `"block":`, "\"block\" :\n ", 1))
	p, err := plan.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(content), string(p.Bytes())); diff != "" {
		t.Errorf("bytes (-want +got):\n%s", diff)
	}
	hash := sha256.Sum256(content)
	if got := strings.ReplaceAll(p.Fingerprint(), " ", ""); got != hex.EncodeToString(hash[:8]) {
		t.Errorf("fingerprint = %s, want the first 8 bytes of %x", p.Fingerprint(), hash)
	}
	if first, err := plan.Read(golden(t)); err != nil || first.Nonce(1) == p.Nonce(1) {
		t.Errorf("the nonce of another file is equal, or %v", err)
	}
}

func TestSummary_states_sum_destination_fee_and_time(t *testing.T) {
	t.Parallel()
	p := plantest.Encoded(t, plantest.Example(plantest.MadeAt))
	want := `4 addresses, 12,420.899999 EURC, 0.000001 USDC and 0.017 ETH on Base to 0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D. Fee at most 0.31 EUR.
Skipped: 3 cost more than 2 %, 1 blocked by the issuer, 2 not final yet.
Plan swp_9fK2example, until 5 December 2026 14:00 UTC. Fingerprint ` + p.Fingerprint() + "."
	if diff := cmp.Diff(want, p.Summary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got, want := p.CoinText(p.FeeMax.Amount), "0.0001 ETH"; got != want {
		t.Errorf("fee = %s, want %s", got, want)
	}
}

func TestSummary_of_one_address_without_skipped_amounts(t *testing.T) {
	t.Parallel()
	p := plantest.Tokens(plantest.MadeAt)
	p.Rows, p.Sums = p.Rows[:1], p.Sums[:1]
	got, _, _ := strings.Cut(plantest.Encoded(t, p).Text(), "\nPlan")
	want := "1 address, 12,318.40 EURC on Base to 0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D. Fee at most 0.31 EUR."
	if got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

func TestNonce_differs_for_each_row_and_plan(t *testing.T) {
	t.Parallel()
	first := plantest.Encoded(t, plantest.Tokens(plantest.MadeAt))
	second := plantest.Encoded(t, plantest.Tokens(plantest.MadeAt.Add(time.Second)))
	seen := map[evm.Hash]bool{}
	for _, p := range []plan.Plan{first, second} {
		for i := range p.Rows {
			seen[p.Nonce(i+1)] = true
		}
	}
	if len(seen) != len(first.Rows)+len(second.Rows) {
		t.Errorf("there are %d nonces of %d rows", len(seen), len(first.Rows)+len(second.Rows))
	}
}

func TestNetworks_are_those_of_the_program(t *testing.T) {
	t.Parallel()
	for _, n := range ethereum.Networks {
		got, known := plan.NetworkByID(string(n.ID))
		coin := ""
		for _, a := range n.Assets {
			if a.Contract == "" {
				coin = a.Symbol
			}
		}
		want := plan.Network{ID: string(n.ID), Name: n.Assets[0].NetworkName, ChainID: n.ChainID, Coin: coin}
		if !known || got != want {
			t.Errorf("network %s = %+v, want %+v", n.ID, got, want)
		}
	}
}

func TestAmounts_have_separators(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		amount   string
		decimals int
		want     string
	}{
		{"12318400000", 6, "12,318.40 EURC"},
		{"1", 6, "0.000001 EURC"},
		{"1000000", 6, "1.00 EURC"},
		{"1234567", 0, "1,234,567 EURC"},
		{"15", 1, "1.5 EURC"},
		{"1000000000000000000000000", 18, "1,000,000.00 EURC"},
	} {
		p := plan.Plan{Sums: []plan.Sum{{Symbol: "EURC", Decimals: tt.decimals, Amount: plantest.Number(tt.amount)}}}
		if got := p.SumText(); got != tt.want {
			t.Errorf("amount %s with %d decimals = %q, want %q", tt.amount, tt.decimals, got, tt.want)
		}
	}
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"m/44'/60'/0'/0/0": "m/44'/60'/0'/0/0",
		"m/44h/60h/7h":     "m/44'/60'/7'",
		"m/2147483647'":    "m/2147483647'",
		"m":                "", "": "", "44'/60'": "", "m/": "", "m/0''": "", "m/-1": "", "m/00": "", "m/2147483648": "", "m/+1": "", "m/'": "",
		"m/1/2/3/4/5/6/7/8/9/10/11": "",
	} {
		p, err := plan.ParsePath(text)
		if (err == nil) != (want != "") || err == nil && p.String() != want {
			t.Errorf("ParsePath(%q) = %s, %v, want %q", text, p, err, want)
		}
		if err != nil && text != "" && text != "m" && strings.Contains(err.Error(), text+" ") {
			t.Errorf("the error repeats %q", text)
		}
	}
}
