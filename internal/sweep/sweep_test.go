package sweep

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
)

func TestEthWallets_with_distinct_addresses(t *testing.T) {
	t.Parallel()
	wallet := func(id, asset, counter string) merchant.Wallet {
		return merchant.Wallet{ID: id, Asset: asset, Counter: counter}
	}
	for name, tt := range map[string]struct {
		wallets []merchant.Wallet
		want    []string
	}{
		"includes_former_wallets":             {[]merchant.Wallet{wallet("a", "ETH", "1"), wallet("b", "BTC", "2"), wallet("c", "ETH", "3")}, []string{"a", "c"}},
		"lists_a_key_that_was_set_again_once": {[]merchant.Wallet{wallet("a", "ETH", "1"), wallet("b", "ETH", "2"), wallet("c", "ETH", "1")}, []string{"b", "c"}},
		"is_empty_without_a_wallet":           {[]merchant.Wallet{wallet("a", "LTC", "1")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range ethWallets(tt.wallets) {
				got = append(got, w.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHoldings_list_bridged_tokens(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=trusted:" + ethereumtest.BaseNode(t, 6)}) // it returns 6 for each call
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := watchedEVM(c, "base", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Load("eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt")
	if err != nil {
		t.Fatal(err)
	}
	best, err := e.Quorum.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := holdings(t.Context(), e, best.Header, key, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		h := f.public()
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
