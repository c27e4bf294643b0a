package sale_test

import (
	"testing"
	"time"

	"chequer/internal/exchange/exchangetest"
	"chequer/internal/sale"
)

func TestResolver_retries_all_failed_sales_but_those_with_an_unknown_order(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Next(f.placeCall(), exchangetest.Drop)
		uncertain := f.createPaid()
		f.step()
		f.exchange.Deposit("BTC", "-0.9999") // withdrawn meanwhile
		f.settle(30 * time.Minute)
		f.want(uncertain.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
		failed := f.createPaid()
		f.settle(8 * 24 * time.Hour)
		f.want(failed.ID, "BTC", "failed low_balance sold 0 of 0.00065379 for 0 fee 0 in 0")

		retried, unknown, err := f.resolver().RetryAll(t.Context(), []sale.Listed{sale.NewListed(f.read(uncertain.ID)), sale.NewListed(f.read(failed.ID))})
		if err != nil || unknown != 1 || len(retried) != 1 || retried[0].ID != failed.ID {
			t.Errorf("retried %d, unknown %d, error %v; want only %s", len(retried), unknown, err, failed.ID)
		}
	})
}
