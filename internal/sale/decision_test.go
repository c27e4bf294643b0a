package sale_test

import (
	"testing"
	"time"

	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/sale"
)

func TestResolver_retries_all_failed_sales_but_those_with_an_unknown_order(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Next(f.place(), exchangetest.Drop)
		uncertain := f.paid()
		f.step()
		f.exchange.Deposit("BTC", "-0.9999") // withdrawn meanwhile
		f.settle(30 * time.Minute)
		f.want(uncertain.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
		id := f.paid()
		f.settle(8 * 24 * time.Hour)
		f.want(id.ID, "BTC", "failed low_balance sold 0 of 0.00065379 for 0 fee 0 in 0")

		retried, unknown, err := f.resolver().RetryAll(t.Context(), []sale.Listed{sale.NewListed(f.read(uncertain.ID)), sale.NewListed(f.read(id.ID))})
		if err != nil || unknown != 1 || len(retried) != 1 || retried[0].ID != id.ID {
			t.Errorf("retried %d, unknown %d, error %v; want only %s", len(retried), unknown, err, id.ID)
		}
	})
}

func TestCoinOf_names_the_coin_of_a_sale(t *testing.T) {
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
		got, err := sale.CoinOf(test.inv, test.coin)
		if fault := errorText(err); got != test.want || fault != test.fault {
			t.Errorf("%s: got %q, error %q, want %q, %q", name, got, fault, test.want, test.fault)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
