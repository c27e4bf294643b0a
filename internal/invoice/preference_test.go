package invoice_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
)

func TestCreate_orders_methods(t *testing.T) {
	t.Parallel()
	s := openShop(t, "BTC-EUR=50000,LTC-EUR=70,ETH-EUR=2500,EUR-USD=1.1")
	preferred := []string{"BTC", "USDC-BASE", "EURC-BASE", "USDC", "EURC", "ETH", "ETH-BASE", "LTC"}
	chosen := s.request("56.50")
	chosen.DefaultMethods = []string{"LTC", "EURC-BASE", "BTC"}
	for name, test := range map[string]struct {
		request invoice.CreateRequest
		want    []string
	}{
		"without_a_choice_in_the_default_order": {s.request("56.50"), preferred},
		"in_the_order_of_the_request":           {s.request("56.50", "LTC", "USDC", "BTC"), []string{"LTC", "USDC", "BTC"}},
		"in_the_order_of_the_merchant":          {chosen, chosen.DefaultMethods},
	} {
		t.Run(name, func(t *testing.T) {
			inv, err := s.service.Create(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range inv.Methods {
				got = append(got, m.Asset.Code)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	all := append(append([]string{"BTC", "BTC-LN"}, preferred[1:]...), "XMR") // the merchant has no wallets of Lightning and Monero
	if diff := cmp.Diff(all, s.service.MethodCodes(invoice.Test)); diff != "" {
		t.Errorf("MethodCodes (-want +got)\n%s", diff)
	}
}
