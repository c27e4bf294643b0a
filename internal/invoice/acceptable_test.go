package invoice_test

import (
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// SETTLEMENT.md, section 3: late money counts without a decision only if it is still worth at least
// 95 % of its share of the price. A newer quote without a price for the coin does not change the coin's price.
func TestQuote_without_the_coin_does_not_price_it(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, quoteEnd.Add(-time.Minute))
	inv.Terms.AllowPaidExpired = true
	scan(inv, quoteEnd.Add(time.Minute))
	q := quote(t, 2, quoteEnd.Add(time.Hour), "100", "80000")
	q.Prices = q.Prices[1:] // bitcoin had no rate, so only EURC is priced
	inv.Quotes = append(inv.Quotes, q)
	market := fiat("50") // the price of bitcoin fell by half
	transfer := inBlock(pay("a", full, time.Hour+20*time.Minute), 101, time.Hour+21*time.Minute)
	inv.Observe(invoice.Observation{
		Network: "bitcoin", Transfers: []chain.Transfer{transfer}, Required: map[string]int{transfer.ID: 1},
		Snapshot: chain.Snapshot{Unconfirmed: chain.Complete, Tip: chain.Block{Height: 101}, From: chain.Cursor{Height: 90, Hash: "b90"}, Transfers: []chain.Transfer{transfer}},
		Market:   func(string, money.Amount) *money.Amount { return &market },
	})
	inv.State = inv.Evaluate()
	if got := outcomeOf(inv); got.Status == invoice.Paid || got.Paid != "0" {
		t.Errorf("late money at half its value pays: %+v", got)
	}
}

// Accept takes only transfers that are present, of an offered asset, and not dust.
func TestAccept_ignores_old_dust_and_old_transfers_of_other_assets(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]chain.Transfer{
		"dust": inBlock(pay("a", 1, -24*time.Hour), 99, -24*time.Hour),
		"an asset that is not offered": func() chain.Transfer {
			transfer := inBlock(pay("a", 1, -24*time.Hour), 99, -24*time.Hour)
			transfer.Asset = "RUNE"
			return transfer
		}(),
	} {
		inv := newInvoice(t, quoteEnd.Add(-time.Minute))
		observe(inv, 105, tr)
		if got := invoice.Acceptable(inv); len(got) != 0 {
			t.Errorf("%s: accept would take %v", name, got)
		}
	}
}
