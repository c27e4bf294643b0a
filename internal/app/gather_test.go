package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
)

func TestGathered(t *testing.T) {
	t.Parallel()
	wallet := func(id, asset, counter string) merchant.Wallet {
		return merchant.Wallet{ID: id, Asset: asset, Counter: counter}
	}
	for name, tt := range map[string]struct {
		all  []merchant.Wallet
		want []string
	}{
		"includes_former_wallets":         {[]merchant.Wallet{wallet("a", "ETH", "1"), wallet("b", "BTC", "2"), wallet("c", "ETH", "3")}, []string{"a", "c"}},
		"lists_a_key_once_that_was_reset": {[]merchant.Wallet{wallet("a", "ETH", "1"), wallet("b", "ETH", "2"), wallet("c", "ETH", "1")}, []string{"b", "c"}},
		"is_empty_without_a_wallet":       {[]merchant.Wallet{wallet("a", "LTC", "1")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range gathered(tt.all) {
				got = append(got, w.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
