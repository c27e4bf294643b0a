package chain_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
)

func TestComparePreference_sorts_by_the_default_order(t *testing.T) {
	t.Parallel()
	assets := []chain.Asset{
		{Code: "LTC", Rate: "LTC"},
		{Code: "POL", Rate: "POL", ChainID: 137},
		{Code: "ETH-BASE", Rate: "ETH", ChainID: 8453},
		{Code: "ETH", Rate: "ETH", ChainID: 1},
		{Code: "USDT", Rate: "USDT", ChainID: 1},
		{Code: "EURC", Rate: "EURC", ChainID: 1},
		{Code: "USDC", Rate: "USDC", ChainID: 1},
		{Code: "EURC-BASE", Rate: "EURC", ChainID: 8453},
		{Code: "USDC-BASE", Rate: "USDC", ChainID: 8453},
		{Code: "USDC-ARBITRUM", Rate: "USDC", ChainID: 42161},
		{Code: "AVAX", Rate: "AVAX", ChainID: 43114},
		{Code: "BTC", Rate: "BTC"},
	}
	slices.SortStableFunc(assets, chain.ComparePreference)
	var got []string
	for _, a := range assets {
		got = append(got, a.Code)
	}
	want := []string{"BTC", "USDC-BASE", "USDC-ARBITRUM", "EURC-BASE", "USDC", "EURC", "USDT", "ETH", "ETH-BASE", "LTC", "POL", "AVAX"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
