package invoice

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"chequer/internal/money"
)

// createSales creates the sales of an invoice that has become paid. It creates none if the invoice already
// has sales, if the merchant's terms exclude them, or while a payment counts without being final.
func (inv *Invoice) createSales(now time.Time) {
	terms := inv.Terms.Sale
	if inv.Mode != Live || inv.Terms.DisableSale || len(terms.Coins) == 0 || len(inv.Sales) > 0 || inv.waitsForBlock() {
		return
	}
	for _, p := range inv.sellable() {
		if !Sellable(p.coin) || !slices.Contains(terms.Coins, p.coin) {
			continue
		}
		amount := money.RoundDown(p.amount, SaleCoin(p.coin))
		if amount.IsZero() {
			continue
		}
		rate, err := money.ParseRate(new(big.Rat).Quo(p.euro, p.amount).FloatString(18), SaleCoin(p.coin), money.EUR)
		if err != nil {
			continue // its value in euro is zero
		}
		unit := money.MustParse("1", SaleCoin(p.coin))
		lowest := new(big.Rat).Mul(rate.Value(unit), big.NewRat(10_000-terms.Slippage, 10_000))
		inv.Sales = append(inv.Sales, Sale{
			Coin: p.coin, Amount: amount, Rate: rate, Lowest: money.RoundUp(lowest, SaleEuro), Smallest: terms.Smallest,
			State: SaleWaiting, CreatedAt: now, Since: now, NextAt: now,
		})
	}
}

// waitsForBlock reports whether a transfer counts that is not final yet.
func (inv *Invoice) waitsForBlock() bool {
	return slices.ContainsFunc(inv.Transfers, func(t Transfer) bool { return t.Confirmed() && !t.Final() })
}

// coinShare is the amount of a coin that paid the price, and the euro value credited for it.
type coinShare struct {
	coin   string   // "" when no exchange trades it
	amount *big.Rat // whole coins
	euro   *big.Rat
}

// sellable returns the confirmed amounts that pay the price, by coin, in the order of confirmation.
// They are never more than the price: an overpayment, a late payment and a wrong asset are not sold.
func (inv *Invoice) sellable() []coinShare {
	var found []coinShare
	remaining := minor(inv.Terms.Price)
	for _, e := range inv.credited() {
		if remaining.Sign() <= 0 || e.value.Sign() <= 0 {
			break
		}
		share := big.NewRat(1, 1)
		if e.value.Cmp(remaining) > 0 {
			share.Quo(remaining, e.value)
		}
		remaining.Sub(remaining, e.value)
		coin, amount := inv.coins(e)
		i := slices.IndexFunc(found, func(p coinShare) bool { return p.coin == coin })
		if i < 0 {
			i = len(found)
			found = append(found, coinShare{coin: coin, amount: new(big.Rat), euro: new(big.Rat)})
		}
		found[i].amount.Add(found[i].amount, amount.Mul(amount, share))
		found[i].euro.Add(found[i].euro, new(big.Rat).Mul(e.euro, share))
	}
	return slices.DeleteFunc(found, func(p coinShare) bool { return p.amount.Sign() <= 0 || p.euro.Sign() <= 0 })
}

// coins returns the amount that a transfer counts, in whole coins that exchanges trade; coin is ""
// if no exchange trades it.
func (inv *Invoice) coins(e entry) (coin string, amount *big.Rat) {
	m, _ := inv.Method(e.transfer.Network, e.transfer.Asset)
	if coin = m.Asset.Rate; m.Asset.Symbol != coin { // a token that only has the price of the coin
		coin = ""
	}
	return coin, major(new(big.Rat).SetInt(e.counted), m.Asset.Currency)
}

// Funds reports whether the invoice is paid and all the coins of a sale are still confirmed. It is
// false if the coins are no longer on the network, even if other money pays the price.
func (inv *Invoice) Funds(s *Sale) bool {
	if inv.State.Status != Paid {
		return false
	}
	confirmed := new(big.Rat)
	for _, e := range inv.credited() {
		if coin, amount := inv.coins(e); coin == s.Coin {
			confirmed.Add(confirmed, amount)
		}
	}
	return confirmed.Cmp(s.Amount.Rat()) >= 0
}

// credited returns the final transfers that count, in the order of confirmation. Transfers that
// the merchant accepted are first, each valued at its newest quoted price.
func (inv *Invoice) credited() []entry {
	l := inv.ledger()
	var accepted, rest []entry
	for _, e := range l.entries {
		switch {
		case !e.transfer.Final():
		case l.accepted && e.accepted:
			if valued, priced := inv.atNewestPrice(e); priced {
				accepted = append(accepted, valued)
			}
		case e.value.Sign() > 0:
			rest = append(rest, e)
		}
	}
	for _, list := range [][]entry{accepted, rest} {
		slices.SortStableFunc(list, func(a, b entry) int {
			return cmp.Or(a.transfer.ConfirmedAt.Compare(b.transfer.ConfirmedAt), cmp.Compare(a.transfer.ID, b.transfer.ID))
		})
	}
	return append(accepted, rest...)
}

// atNewestPrice values the whole of a transfer at its newest quoted price. It returns false if the
// asset was never quoted.
func (inv *Invoice) atNewestPrice(e entry) (entry, bool) {
	for _, q := range slices.Backward(inv.Quotes) {
		if price, offered := q.Price(e.transfer.Asset); offered {
			e.counted = e.transfer.Amount.Minor()
			e.value = new(big.Rat).Mul(new(big.Rat).SetFrac(e.counted, price.Expected.Minor()), minor(q.Due))
			e.euro = price.EUR.Value(e.transfer.Amount)
			return e, true
		}
	}
	return e, false
}

// UpdateSales changes the sales of an invoice, and nothing else, with decide. It stores the change
// together with the events that decide returns.
func (s *Service) UpdateSales(ctx context.Context, id string, decide func(*Invoice) ([]EventType, error)) (*Invoice, error) {
	inv, err := s.storage.UpdateInvoice(ctx, id, Lease{}, func(inv *Invoice) error {
		before := salesSummary(inv)
		list, err := decide(inv)
		if err != nil {
			return err
		}
		if len(list) > 0 || salesSummary(inv) != before {
			inv.Version++
		}
		for _, e := range list {
			inv.Events = append(inv.Events, s.event(inv, e, s.now()))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.announceChange(ctx, inv)
	return inv, nil
}

// salesSummary returns the part of the state of an invoice's sales that events and pages show.
func salesSummary(inv *Invoice) string {
	var b strings.Builder
	for i := range inv.Sales {
		sale := &inv.Sales[i]
		total := sale.Sold()
		fmt.Fprintln(&b, sale.State, sale.Reason, total.Sold, total.Euro, total.Fee)
	}
	return b.String()
}
