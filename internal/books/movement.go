package books

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
)

// Exceptions of a line beside those of its invoice.
const (
	exceptionNoRate   = "no_rate"  // EURValue is not known
	exceptionDust     = "dust"     // below the dust limit, or gas that the merchant sent for a sweep; it has no EURValue
	exceptionUnproved = "unproved" // the network does not show the refund as confirmed
)

// Movement is a line of the books as it is known now, without a number. Its ID does not change.
type Movement struct {
	ID string
	Line
}

// movementsOf returns the movements of an invoice, and what can still change: payments and refunds that are not final, and orders whose
// outcome is not known.
func movementsOf(inv *invoice.Invoice, zone *time.Location) (movements []Movement, open []Open) {
	b := builder{inv: inv, zone: zone, parts: inv.PriceParts(), paid: money.Zero(inv.Terms.Price.Currency()), reversible: map[string]money.Amount{}}
	b.addPayments()
	b.addRefunds()
	b.addConversions()
	return b.movements, b.open
}

// Open is a payment, refund, order or row of a sweep whose outcome is not known.
type Open struct {
	Since time.Time // when it was first seen or sent
	What  string    // such as "payment of invoice inv_1"
}

// builder collects the movements of an invoice.
type builder struct {
	inv   *invoice.Invoice
	zone  *time.Location
	parts map[string]money.Amount
	// paid is the sum of the price parts that payments pay and no refund reverses, and reversible those of each asset.
	paid       money.Amount
	reversible map[string]money.Amount
	movements  []Movement
	open       []Open
}

// line returns a line with the cells that all movements of the invoice have.
func (b *builder) line(kind Kind, at time.Time) Line {
	l := Line{Kind: kind, Date: dateOf(at, b.zone), ReceivedAt: at, OrderID: b.inv.Terms.OrderID, Invoice: b.inv.ID}
	if b.inv.Origin.Kind == invoice.FromProduct {
		l.Product = b.inv.Origin.ID
	}
	return l
}

func (b *builder) add(id string, l Line) { b.movements = append(b.movements, Movement{id, l}) }

func (b *builder) addPayments() {
	exceptions := make([]string, len(b.inv.State.Exceptions))
	for i, e := range b.inv.State.Exceptions {
		exceptions[i] = string(e)
	}
	folded := map[string]int{} // by the ID of a movement of small transfers, its index in b.movements
	for _, p := range b.inv.Payments() {
		switch {
		case p.Presence != invoice.Present || p.State == invoice.PaymentReplaced:
			continue
		case !p.Final() && p.State == invoice.PaymentDust:
			continue
		case !p.Final():
			b.open = append(b.open, Open{p.FirstSeen, "payment of invoice " + b.inv.ID})
			continue
		}
		id := "payment:" + string(p.Network) + ":" + p.ID
		l := b.line(Payment, p.FirstSeen)
		part, counts := b.parts[p.ID]
		if !counts && p.State != invoice.PaymentConfirmed {
			l.Kind = Unassigned
		}
		if counts {
			l.Price, l.PriceCurrency = number(part), part.Currency().Code
			b.splitVAT(&l, b.paid, b.paid.Add(part))
			b.paid = b.paid.Add(part)
			if before, exists := b.reversible[p.Asset]; exists {
				part = part.Add(before)
			}
			b.reversible[p.Asset] = part
		}
		l.Network, l.Asset, l.Amount, l.Tx = string(p.Network), p.Asset, number(p.Amount), p.Tx
		l.ConfirmedAt, l.Exceptions = p.ConfirmedAt, strings.Join(exceptions, " ")
		if p.Block != nil {
			l.BlockTime = p.Block.Time
		}
		if output, isOutput := strings.CutPrefix(p.ID, p.Tx+":"); isOutput && p.Tx != "" {
			l.Output = output
		}
		if d, found := b.inv.DestinationOf(p.Transfer); found {
			l.Address = d.Address
		}
		if p.State == invoice.PaymentDust {
			l.Exceptions = exceptionDust
		} else {
			b.setValue(&l, p.Amount, b.rateOf(p.Transfer))
		}
		if p.Folded == 0 {
			b.add(id, l)
			continue
		}
		id = strings.Join([]string{"small", b.inv.ID, l.Network, l.Asset, p.Script}, ":")
		l.Tx, l.Output = "", ""
		i, exists := folded[id]
		if !exists {
			folded[id] = len(b.movements)
			b.add(id, l)
			continue
		}
		sum := &b.movements[i].Line
		for _, column := range columns {
			if cell := column.number; column.isSum && cell(&l).Valid {
				*cell(sum) = decimal.NewNullDecimal(cell(sum).Decimal.Add(cell(&l).Decimal))
			}
		}
	}
}

// splitVAT sets the net amount and the VAT of the part of the price from one amount to another. It subtracts cumulative sums, so that
// rounding does not change the total.
func (b *builder) splitVAT(l *Line, from, to money.Amount) {
	rate := b.inv.Terms.VAT
	if !rate.Stated() {
		return
	}
	netBefore, vatBefore := rate.Split(from)
	netAfter, vatAfter := rate.Split(to)
	l.VATRate = decimal.NewNullDecimal(decimal.RequireFromString(rate.String()))
	l.Net, l.VAT = difference(netAfter, netBefore), difference(vatAfter, vatBefore)
}

// difference returns a − b, which may be negative, as the content of a cell.
func difference(a, b money.Amount) decimal.NullDecimal {
	return decimal.NewNullDecimal(number(a).Decimal.Sub(number(b).Decimal))
}

// rateOf returns the market rate at the first sight of a transfer. A transfer that was recorded without one has the rate of the first quote
// that offers its asset.
func (b *builder) rateOf(t invoice.Transfer) invoice.MarketRate {
	if !t.Rate.IsZero() {
		return t.Rate
	}
	for _, q := range b.inv.Quotes {
		if price, offered := q.Price(t.Asset); offered {
			return invoice.MarketRate{Price: price.EUR, Source: q.Source, At: q.From}
		}
	}
	return invoice.MarketRate{}
}

// setValue sets EURValue, rounded to cents, and the rate.
func (b *builder) setValue(l *Line, amount money.Amount, rate invoice.MarketRate) {
	if rate.IsZero() {
		l.Exceptions = strings.TrimSpace(l.Exceptions + " " + exceptionNoRate)
		return
	}
	l.EURValue = number(money.RoundHalfUp(rate.Price.Value(amount), money.EUR))
	l.Rate, l.RateSource, l.RateAt = price(rate.Price), rate.Source, rate.At
}

func (b *builder) addRefunds() {
	for _, r := range b.inv.Refunds {
		if !r.Paid() {
			continue
		}
		at := r.Sent.At
		if r.Payment != nil {
			at = r.Payment.FirstSeen
			if !r.Payment.Final() {
				b.open = append(b.open, Open{at, "refund " + r.ID})
				continue
			}
		}
		l := b.line(Refund, at)
		l.RefundOf, l.Network, l.Asset, l.Tx = b.inv.ID, string(r.Network), r.Asset, r.Tx
		l.Exceptions = string(r.Trouble)
		switch {
		case r.Payment != nil:
			l.BlockTime, l.ConfirmedAt = r.Payment.Block.Time, r.Payment.Block.Time
		case r.Trouble == "":
			l.Exceptions = exceptionUnproved
		}
		b.setValue(&l, r.Amount, b.refundRate(r))
		l.Amount, l.EURValue = negated(number(r.Amount)), negated(l.EURValue)
		b.reversePrice(&l, r)
		b.add("refund:"+r.ID, l)
	}
}

// reversePrice sets the part of the price that a refund reverses: at most what the payments in its asset paid. A surplus, and money that did
// not count, belong to no price.
func (b *builder) reversePrice(l *Line, r invoice.Refund) {
	open, exists := b.reversible[r.Asset]
	if !exists || r.Kind == invoice.RefundSurplus || r.Rate.IsZero() {
		return
	}
	part := r.Value
	if part.Cmp(open) > 0 {
		part = open
	}
	if part.IsZero() {
		return
	}
	rest := b.paid.Sub(part)
	l.Price, l.PriceCurrency = negated(number(part)), part.Currency().Code
	b.splitVAT(l, b.paid, rest)
	b.paid, b.reversible[r.Asset] = rest, open.Sub(part)
}

// refundRate returns the market rate when a refund was paid. A refund that was recorded without one has the rate at which its amount was
// determined or, if that is in another currency, the one of the first quote.
func (b *builder) refundRate(r invoice.Refund) invoice.MarketRate {
	switch {
	case !r.MarketRate.IsZero():
		return r.MarketRate
	case r.Rate.Fiat() == money.EUR && !r.Rate.IsZero():
		return invoice.MarketRate{Price: r.Rate, Source: r.Source, At: r.Prepared.At}
	}
	return b.rateOf(invoice.Transfer{Asset: r.Asset})
}

func (b *builder) addConversions() {
	for _, sale := range b.inv.Sales {
		for _, o := range sale.Orders {
			if o.State != invoice.OrderDone {
				if o.State == invoice.OrderSending || o.State == invoice.OrderPlaced {
					b.open = append(b.open, Open{o.SentAt, "sale of " + sale.Coin + " of invoice " + b.inv.ID})
				}
				continue
			}
			if o.Sold.IsZero() {
				continue
			}
			l := b.line(Conversion, o.SentAt)
			l.Asset, l.Tx = sale.Coin, o.Ref
			l.Sold, l.Euro, l.ConversionFee = number(o.Sold), number(o.Euro), number(o.Fee)
			b.add(strings.Join([]string{"conversion", b.inv.ID, sale.Coin, strconv.Itoa(o.Number)}, ":"), l)
		}
	}
}

// sweepMovements returns the movements of a sweep, and its rows whose outcome is not known.
func sweepMovements(s recorded.Sweep, zone *time.Location) (movements []Movement, open []Open) {
	for i, row := range s.Rows {
		switch row.State {
		case recorded.Sent:
			open = append(open, Open{row.ChangedAt, "row " + strconv.Itoa(i+1) + " of sweep " + s.Plan.ID})
		case recorded.Moved:
			planned := s.Plan.Rows[i]
			l := Line{
				Kind: Sweep, Date: dateOf(row.ChangedAt, zone), ReceivedAt: row.ChangedAt, Network: s.Plan.Network.ID, Asset: planned.Asset,
				Amount:  decimal.NewNullDecimal(decimal.NewFromBigInt(new(big.Int).Neg(planned.Amount), -int32(s.Plan.Decimals(planned.Asset)))),
				Address: planned.From.String(), Tx: row.Tx, Sweep: s.Plan.ID,
			}
			if fee := row.TotalFee(); fee != nil {
				l.FeeAmount, l.FeeAsset = decimal.NewNullDecimal(decimal.NewFromBigInt(fee, -plan.CoinDecimals)), s.Plan.Network.Coin
				l.FeeEUR = row.FeeEUR
			}
			movements = append(movements, Movement{"sweep:" + s.Plan.ID + ":" + strconv.Itoa(i+1), l})
		}
	}
	return movements, open
}

// number returns an amount as the content of a cell.
func number(a money.Amount) decimal.NullDecimal {
	return decimal.NewNullDecimal(decimal.NewFromBigInt(a.Minor(), -a.Currency().Decimals))
}

// price returns the price of a rate as the content of a cell.
func price(r money.Rate) decimal.NullDecimal {
	return decimal.NewNullDecimal(decimal.RequireFromString(r.Price()))
}

func negated(n decimal.NullDecimal) decimal.NullDecimal {
	if n.Valid {
		n.Decimal = n.Decimal.Neg()
	}
	return n
}
