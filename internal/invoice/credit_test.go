package invoice_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// randomSpends returns a copy of an unpaid invoice with one to three of the given quotes, and transfers of transactions that
// compete for three outpoints, together with the highest price of a bitcoin in a quote, in EUR. possible is
// false if two confirmed transactions compete, which no chain allows.
func randomSpends(unpaid *invoice.Invoice, quotes []invoice.Quote, random *rand.Rand) (inv *invoice.Invoice, highestPrice *big.Rat, possible bool) {
	inv = new(*unpaid)
	inv.Quotes = nil
	highestPrice = new(big.Rat)
	at := noon
	for n := range 1 + random.IntN(3) {
		q := quotes[random.IntN(len(quotes))]
		q.Number, q.From, q.Until = n+1, at, at.Add(15*time.Minute)
		inv.Quotes = append(inv.Quotes, q)
		if p := q.Prices[0].EUR.Value(money.MustParse("1", money.BTC)); p.Cmp(highestPrice) > 0 {
			highestPrice = p
		}
		at = at.Add(time.Duration(random.IntN(20)) * time.Minute)
	}
	mined := map[string]bool{}
	for x := range 1 + random.IntN(4) {
		tx := fmt.Sprint("t", x)
		var spends []string
		for o := range 3 {
			if random.IntN(2) == 0 {
				spends = append(spends, fmt.Sprint("o", o))
			}
		}
		if spends == nil {
			spends = []string{"own" + tx}
		}
		seen := noon.Add(time.Duration(random.IntN(40)-3) * time.Minute)
		presence := []invoice.Presence{invoice.Present, invoice.Present, invoice.Replaced, invoice.Reorged}[random.IntN(4)]
		transfer := invoice.Transfer{
			Network: "bitcoin", Tx: tx, Asset: "BTC", Script: "s", Spends: spends,
			Presence: presence, FirstSeen: seen, Sighted: true, Old: seen.Before(noon),
		}
		if presence == invoice.Present && random.IntN(2) == 0 {
			transfer.Block = &chain.Block{Height: 101, Hash: "b101", Time: seen.Add(time.Minute)}
			transfer.ConfirmedAt, transfer.Required, transfer.Confirmations = transfer.Block.Time, 1, 1
			for _, o := range spends {
				if mined[o] {
					return nil, nil, false
				}
				mined[o] = true
			}
		}
		for v := range 1 + random.IntN(3) {
			transfer.ID, transfer.Amount = fmt.Sprint(tx, ":", v), sats(int64(1000+random.IntN(100_000)))
			inv.Transfers = append(inv.Transfers, transfer)
		}
	}
	return inv, highestPrice, true
}

func TestEvaluate_credits_no_more_than_is_present(t *testing.T) {
	t.Parallel()
	unpaid := newInvoice(t, noon)
	unpaid.Terms.Price = fiat("100000")
	quotes := []invoice.Quote{quote(t, 1, noon, "100", "80000"), quote(t, 1, noon, "100", "70000"), quote(t, 1, noon, "100", "95000")}
	histories, evaluated := rounds(1_000, 8_000), uint64(0)
	for seed := range histories {
		inv, highestPrice, possible := randomSpends(unpaid, quotes, rand.New(rand.NewPCG(seed, 7)))
		if !possible {
			continue
		}
		evaluated++
		present := new(big.Rat)
		for _, p := range inv.Payments() {
			if p.Presence == invoice.Present && p.State != invoice.PaymentReplaced {
				present.Add(present, p.Amount.Rat())
			}
		}
		worth := new(big.Rat).Mul(present, highestPrice)
		worth.Add(worth, big.NewRat(1, 100)) // sums are rounded to cents
		if paid := inv.Evaluate().Paid.Rat(); paid.Cmp(worth) > 0 {
			t.Fatalf("seed %d: %s EUR are credited, but the present transfers are worth at most %s EUR", seed, paid.FloatString(2), worth.FloatString(2))
		}
	}
	if evaluated < histories/2 {
		t.Errorf("only %d of %d histories are possible", evaluated, histories)
	}
}
