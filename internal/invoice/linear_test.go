package invoice_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// randomSpends returns an invoice with one to three quotes, and transfers of transactions that
// compete for three outpoints, together with the highest price of a bitcoin in a quote. possible is
// false if two confirmed transactions compete, which no chain allows.
func randomSpends(t *testing.T, r *rand.Rand) (inv *invoice.Invoice, best *big.Rat, possible bool) {
	inv = newInvoice(t, noon)
	inv.Terms.Price = fiat("100000")
	inv.Quotes = nil
	best = new(big.Rat)
	at := noon
	for n := range 1 + r.IntN(3) {
		price := []string{"80000", "70000", "95000"}[r.IntN(3)]
		inv.Quotes = append(inv.Quotes, quote(t, n+1, at, "100", price))
		if p, _ := new(big.Rat).SetString(price); p.Cmp(best) > 0 {
			best = p
		}
		at = at.Add(time.Duration(r.IntN(20)) * time.Minute)
	}
	mined := map[string]bool{}
	for x := range 1 + r.IntN(4) {
		tx := fmt.Sprint("t", x)
		var spends []string
		for o := range 3 {
			if r.IntN(2) == 0 {
				spends = append(spends, fmt.Sprint("o", o))
			}
		}
		if spends == nil {
			spends = []string{"own" + tx}
		}
		seen := noon.Add(time.Duration(r.IntN(40)-3) * time.Minute)
		presence := []invoice.Presence{invoice.Present, invoice.Present, invoice.Replaced, invoice.Reorged}[r.IntN(4)]
		transfer := invoice.Transfer{
			Network: "bitcoin", Tx: tx, Asset: "BTC", Script: "s", Spends: spends,
			Presence: presence, FirstSeen: seen, Sighted: true, Old: seen.Before(noon),
		}
		if presence == invoice.Present && r.IntN(2) == 0 {
			transfer.Block = &chain.Block{Height: 101, Hash: "b101", Time: seen.Add(time.Minute)}
			transfer.ConfirmedAt, transfer.Required, transfer.Confirmations = transfer.Block.Time, 1, 1
			for _, o := range spends {
				if mined[o] {
					return nil, nil, false
				}
				mined[o] = true
			}
		}
		for v := range 1 + r.IntN(3) {
			transfer.ID, transfer.Amount = fmt.Sprint(tx, ":", v), sats(int64(1000+r.IntN(100_000)))
			inv.Transfers = append(inv.Transfers, transfer)
		}
	}
	return inv, best, true
}

func TestJudge_credits_no_more_than_is_present(t *testing.T) {
	t.Parallel()
	rounds := uint64(20_000)
	if testing.Short() {
		rounds = 2_000
	}
	for seed := range rounds {
		inv, best, possible := randomSpends(t, rand.New(rand.NewPCG(seed, 7)))
		if !possible {
			continue
		}
		there := new(big.Rat)
		for _, p := range inv.Payments() {
			if p.Presence == invoice.Present && p.State != invoice.PaymentReplaced {
				there.Add(there, p.Amount.Rat())
			}
		}
		worth := there.Mul(there, best)
		worth.Add(worth, big.NewRat(1, 100))
		if paid := inv.Evaluate().Paid.Rat(); paid.Cmp(worth) > 0 {
			t.Fatalf("seed %d: %s EUR count, and the present transfers are worth %s", seed, paid.FloatString(2), worth.FloatString(2))
		}
	}
}
