package main

import (
	"fmt"
	"testing"

	"chequer/internal/invoice"
)

func TestChooseCoin_returns_the_coin_of_a_sale(t *testing.T) {
	t.Parallel()
	sales := func(coins ...string) *invoice.Invoice {
		inv := &invoice.Invoice{}
		for _, coin := range coins {
			inv.Sales = append(inv.Sales, invoice.Sale{Coin: coin})
		}
		return inv
	}
	for name, test := range map[string]struct {
		inv               *invoice.Invoice
		coin, want, fault string
	}{
		"the only coin": {inv: sales("BTC"), want: "BTC"},
		"a given coin":  {inv: sales("BTC", "ETH"), coin: "eth", want: "ETH"},
		"several coins": {inv: sales("BTC", "ETH"), fault: "this invoice was paid in several coins: name one with --coin BTC or ETH"},
		"no sale":       {inv: sales(), fault: "this invoice has no sale"},
	} {
		got, err := chooseCoin(test.inv, test.coin)
		if got != test.want || (err != nil || test.fault != "") && fmt.Sprint(err) != test.fault {
			t.Errorf("%s: got %q, error %v, want %q, %q", name, got, err, test.want, test.fault)
		}
	}
}
