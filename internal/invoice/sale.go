package invoice

import (
	"cmp"
	"errors"
	"math/big"
	"slices"
	"time"

	"chequer/internal/money"
)

// Sale is the sale for euro of the coins that paid an invoice, one conversion per coin, on
// the merchant's own exchange account. The conversions are created when the invoice becomes paid
// for the first time, and never again: the amount to sell is frozen then.
type Sale struct {
	Coin   string       // code used by rates and exchanges, such as "BTC"
	Amount money.Amount // the most that may be sold: the part of the payment that the price needed
	Rate   money.Rate   // euro per coin, from the invoice's quotes
	Lowest money.Amount // lowest price, in euro per coin, at which the coin is sold
	// Smallest is the least euro value of an order.
	Smallest money.Amount

	State  SaleState
	Reason SaleReason
	// CreatedAt is when the invoice became paid. Since is when the conversion began to wait, or
	// when the last part of it was sold.
	CreatedAt, Since time.Time
	// NextAt is when the next step is due; zero when no step is due, or when the merchant must
	// decide.
	NextAt time.Time
	Tries  int   // consecutive waits without a sale
	Claim  int64 // identifies the process that may change the conversion now; see convert.Storage
	Orders []SaleOrder
}

// SaleState is the state of a conversion.
type SaleState string

// The states of a conversion.
const (
	// SaleWaiting means that the next order is due at NextAt.
	SaleWaiting SaleState = "waiting"
	// SaleSending means that the outcome of an order is not known yet. No other order is sent
	// meanwhile.
	SaleSending SaleState = "sending"
	// SaleFilled means that everything was sold, except a remainder too small to sell.
	SaleFilled SaleState = "filled"
	// SaleFailed means that the merchant must decide.
	SaleFailed SaleState = "failed"
	// SaleSettled means that the merchant ended the conversion.
	SaleSettled SaleState = "settled"
	// SaleSkipped means that the amount was too small to sell.
	SaleSkipped SaleState = "skipped"
)

// SaleStates lists all conversion states.
var SaleStates = []SaleState{
	SaleWaiting, SaleSending, SaleFilled, SaleFailed, SaleSettled, SaleSkipped,
}

// SaleReason is the reason why a conversion waits, failed or was skipped; "" when there is
// none.
type SaleReason string

// The reasons of conversions.
const (
	// ReasonLowBalance: the coins are not on the exchange yet.
	ReasonLowBalance SaleReason = "low_balance"
	// ReasonPrice: the market price is below the lowest price.
	ReasonPrice SaleReason = "price"
	// ReasonPartial: a part was sold, and the remainder is tried again.
	ReasonPartial SaleReason = "partial"
	// ReasonTooSmall: the amount is below the minimum of the exchange or of the merchant.
	ReasonTooSmall SaleReason = "too_small"
	// ReasonMaintenance: the exchange, or its market, is closed.
	ReasonMaintenance SaleReason = "maintenance"
	// ReasonRateLimit: the exchange's rate limit was reached.
	ReasonRateLimit SaleReason = "rate_limit"
	// ReasonUnreachable: the exchange did not answer, or its answer is invalid.
	ReasonUnreachable SaleReason = "unreachable"
	// ReasonNonce: the exchange has seen a higher nonce before, so another program uses the key.
	ReasonNonce SaleReason = "nonce"
	// ReasonKey: the API key is not valid, or may not trade.
	ReasonKey SaleReason = "key"
	// ReasonRefused: the exchange refused the order for another reason.
	ReasonRefused SaleReason = "refused"
	// ReasonUncertain: it cannot be determined whether an order was executed.
	ReasonUncertain SaleReason = "uncertain"
	// ReasonContradiction: the answers of the exchange contradict each other or the order.
	ReasonContradiction SaleReason = "contradiction"
	// ReasonNoAccount: the exchange account of an order is no longer active.
	ReasonNoAccount SaleReason = "no_account"
	// ReasonReverted: the coins of the conversion no longer pay the invoice.
	ReasonReverted SaleReason = "reverted"
	// ReasonExhausted: the limit of unsuccessful orders was reached, and the merchant must check.
	ReasonExhausted SaleReason = "exhausted"
)

// SaleReasons lists all conversion reasons.
var SaleReasons = []SaleReason{
	ReasonLowBalance, ReasonPrice, ReasonPartial, ReasonTooSmall, ReasonMaintenance, ReasonRateLimit, ReasonUnreachable, ReasonNonce,
	ReasonKey, ReasonRefused, ReasonUncertain, ReasonContradiction, ReasonNoAccount, ReasonReverted, ReasonExhausted,
}

// SaleOrder is one order to an exchange. It is stored before it is sent.
type SaleOrder struct {
	Number    int    // from 1
	ID        string // our order ID, derived from the invoice, the coin and the number of orders taken before
	AccountID string
	Exchange  string
	Amount    money.Amount // of the coin
	Limit     money.Amount // euro per coin
	Before    money.Amount // the account's balance of the coin before the order, reserved or not
	SentAt    time.Time
	// Deadline is when we stop waiting for an answer. Over is when the exchange can no longer
	// execute the order, however wrong its clock is.
	Deadline, Over time.Time

	State   OrderState
	Ref     string // the exchange's own order ID; "" until it is known
	Fault   string // what went wrong, as text for the merchant
	Lookups int    // number of lookups that did not find the order
	Sold    money.Amount
	Euro    money.Amount // proceeds in euro before the fee
	Fee     money.Amount // euro
}

// OrderState is the state of an order.
type OrderState string

// The states of an order.
const (
	// OrderSending means that the exchange may or may not have the order.
	OrderSending OrderState = "sending"
	// OrderPlaced means that the exchange confirmed that it has the order.
	OrderPlaced OrderState = "placed"
	// OrderDone means that the order has ended, and the amount that it sold is known.
	OrderDone OrderState = "done"
	// OrderRefused means that the exchange reported that it refused the order.
	OrderRefused OrderState = "refused"
	// OrderAbsent means that the exchange never took the order: it is not found, and can no longer
	// arrive.
	OrderAbsent OrderState = "absent"
)

// Open reports whether the order may still sell something.
func (o SaleOrder) Open() bool { return o.State == OrderSending || o.State == OrderPlaced }

// Proceeds is the result of an order, or of a sale that the merchant made.
type Proceeds struct {
	Sold money.Amount // of the coin
	Euro money.Amount // proceeds in euro before the fee
	Fee  money.Amount // euro
}

// ErrOversold means that more would be sold than was received. The conversion is left unchanged.
var ErrOversold = errors.New("more would be sold than the invoice received")

// SaleEuro is euro in the precision of exchanges, finer than a cent.
var SaleEuro = money.Currency{Code: "EUR", Decimals: 18}

// SaleCoin returns a coin in the precision of exchanges, which does not depend on its network.
func SaleCoin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// SaleTerms are the merchant's frozen settings for selling received coins. Without coins nothing
// is sold.
type SaleTerms struct {
	Coins    []string     // coins to sell; never EURC
	Smallest money.Amount // euro value of a sale
	Slippage int64        // hundredths of a percent below the invoice's rate
}

// neverSold is a token that is worth a euro already.
const neverSold = "EURC"

// Sellable reports whether a coin, given by the code of its rate, can be sold for euro.
func Sellable(coin string) bool { return coin != neverSold && coin != money.EUR.Code }

// Conversion returns the conversion of a coin.
func (inv *Invoice) Conversion(coin string) (*Sale, bool) {
	i := slices.IndexFunc(inv.Sales, func(c Sale) bool { return c.Coin == coin })
	if i < 0 {
		return nil, false
	}
	return &inv.Sales[i], true
}

// convert creates the conversions of an invoice that has just become paid, unless it has
// conversions already or the merchant wants none.
func (inv *Invoice) convert(now time.Time) {
	terms := inv.Terms.Sale
	if inv.Mode != Live || inv.Terms.DisableSale || len(terms.Coins) == 0 || len(inv.Sales) > 0 {
		return
	}
	for _, p := range inv.proceeds() {
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
		one := money.MustParse("1", SaleCoin(p.coin))
		lowest := new(big.Rat).Mul(rate.Value(one), big.NewRat(10_000-terms.Slippage, 10_000))
		inv.Sales = append(inv.Sales, Sale{
			Coin: p.coin, Amount: amount, Rate: rate, Lowest: money.RoundUp(lowest, SaleEuro), Smallest: terms.Smallest,
			State: SaleWaiting, CreatedAt: now, Since: now, NextAt: now,
		})
	}
}

// proceed is the amount of a coin that paid the price, and the euro value that was credited for it.
type proceed struct {
	coin   string   // "" when no exchange trades it
	amount *big.Rat // whole coins
	euro   *big.Rat
}

// proceeds returns the confirmed money that the price needed, by coin, in the order of
// confirmation. It is never more than the price: an overpayment, a late payment and a wrong asset
// are not sold.
func (inv *Invoice) proceeds() []proceed {
	var found []proceed
	left := minor(inv.Terms.Price)
	for _, e := range inv.credited() {
		if left.Sign() <= 0 || e.value.Sign() <= 0 {
			break
		}
		share := big.NewRat(1, 1)
		if e.value.Cmp(left) > 0 {
			share.Quo(left, e.value)
		}
		left.Sub(left, e.value)
		coin, amount := inv.coins(e)
		i := slices.IndexFunc(found, func(p proceed) bool { return p.coin == coin })
		if i < 0 {
			i = len(found)
			found = append(found, proceed{coin: coin, amount: new(big.Rat), euro: new(big.Rat)})
		}
		found[i].amount.Add(found[i].amount, amount.Mul(amount, share))
		found[i].euro.Add(found[i].euro, new(big.Rat).Mul(e.euro, share))
	}
	return slices.DeleteFunc(found, func(p proceed) bool { return p.amount.Sign() <= 0 || p.euro.Sign() <= 0 })
}

// coins returns the amount that a transfer counts, in whole coins that exchanges trade; coin is ""
// if no exchange trades it.
func (inv *Invoice) coins(e entry) (coin string, amount *big.Rat) {
	m, _ := inv.Method(e.transfer.Network, e.transfer.Asset)
	if coin = m.Asset.Rate; m.Asset.Symbol != coin { // a token that only has the price of the coin
		coin = ""
	}
	return coin, major(new(big.Rat).SetInt(e.coin), m.Asset.Currency)
}

// Holds reports whether the invoice is paid and all the coins of its conversion are still
// confirmed. It is false if they left the network, even if other money replaced them.
func (inv *Invoice) Holds(c *Sale) bool {
	if inv.State.Status != Paid {
		return false
	}
	there := new(big.Rat)
	for _, e := range inv.credited() {
		if coin, amount := inv.coins(e); coin == c.Coin {
			there.Add(there, amount)
		}
	}
	return there.Cmp(c.Amount.Rat()) >= 0
}

// credited returns the confirmed transfers that count, in the order of confirmation. Transfers that
// the merchant accepted come first, each valued at the newest price that was held for it.
func (inv *Invoice) credited() []entry {
	l := inv.ledger()
	var stand, rest []entry
	for _, e := range l.entries {
		switch {
		case !e.transfer.Confirmed():
		case l.accepted && e.named:
			if worth, known := inv.worth(e); known {
				stand = append(stand, worth)
			}
		case e.value.Sign() > 0:
			rest = append(rest, e)
		}
	}
	for _, list := range [][]entry{stand, rest} {
		slices.SortStableFunc(list, func(a, b entry) int {
			return cmp.Or(a.transfer.ConfirmedAt.Compare(b.transfer.ConfirmedAt), cmp.Compare(a.transfer.ID, b.transfer.ID))
		})
	}
	return append(stand, rest...)
}

// worth values the whole of a transfer at the newest price that was held for it.
func (inv *Invoice) worth(e entry) (entry, bool) {
	for _, q := range slices.Backward(inv.Quotes) {
		if price, offered := q.Price(e.transfer.Asset); offered {
			e.coin = e.transfer.Amount.Minor()
			e.value = new(big.Rat).Mul(new(big.Rat).SetFrac(e.coin, price.Expected.Minor()), minor(q.Due))
			e.euro = price.EUR.Value(e.transfer.Amount)
			return e, true
		}
	}
	return e, false
}

// Sold returns the total that is known to be sold.
func (c *Sale) Sold() Proceeds {
	all := Proceeds{Sold: money.Zero(c.Amount.Currency()), Euro: money.Zero(SaleEuro), Fee: money.Zero(SaleEuro)}
	for _, o := range c.Orders {
		all.Sold, all.Euro, all.Fee = all.Sold.Add(o.Sold), all.Euro.Add(o.Euro), all.Fee.Add(o.Fee)
	}
	return all
}

// Rest returns the amount that may still be sold: the total minus what is sold and what an order
// with an unknown outcome may sell.
func (c *Sale) Rest() money.Amount {
	rest := c.Amount.Sub(c.Sold().Sold)
	if o := c.OpenOrder(); o != nil {
		rest = rest.Sub(o.Amount)
	}
	return rest
}

// OpenOrder returns the order that may still sell something; nil if there is none.
func (c *Sale) OpenOrder() *SaleOrder {
	if n := len(c.Orders); n > 0 && c.Orders[n-1].Open() {
		return &c.Orders[n-1]
	}
	return nil
}

// Taken returns the number of finished orders that an exchange took.
func (c *Sale) Taken() int {
	n := 0
	for _, o := range c.Orders {
		if o.State == OrderDone && o.AccountID != "" { // otherwise the merchant sold it
			n++
		}
	}
	return n
}

// Average returns the average price of a coin in euro, before fees; "" if nothing is sold.
func (c *Sale) Average() string {
	s := c.Sold()
	if s.Sold.IsZero() {
		return ""
	}
	rate, err := money.ParseRate(new(big.Rat).Quo(s.Euro.Rat(), s.Sold.Rat()).FloatString(18), c.Amount.Currency(), money.EUR)
	if err != nil {
		return "0"
	}
	return rate.Price()
}

// Begin stores an order that is about to be sent. It returns ErrState if the conversion does not
// wait, and ErrOversold if the order is larger than the amount that may still be sold.
func (c *Sale) Begin(o SaleOrder) error {
	if c.State != SaleWaiting || c.OpenOrder() != nil || o.Number != len(c.Orders)+1 {
		return ErrState
	}
	if o.Amount.IsZero() || o.Amount.Cmp(c.Rest()) > 0 {
		return ErrOversold
	}
	o.State, o.Sold, o.Euro, o.Fee = OrderSending, money.Zero(c.Amount.Currency()), money.Zero(SaleEuro), money.Zero(SaleEuro)
	c.Orders = append(c.Orders, o)
	// The caller that began the order gets its outcome. If it does not, other processes wait until
	// the order cannot be executed any more.
	c.State, c.Reason, c.NextAt = SaleSending, "", o.Over
	return nil
}

// Placed stores the exchange's own ID of the open order.
func (c *Sale) Placed(ref string, next time.Time) error {
	o := c.OpenOrder()
	if o == nil {
		return ErrState
	}
	o.State, o.Ref, o.Fault = OrderPlaced, ref, ""
	c.NextAt = next
	return nil
}

// Look records that the outcome of the open order is not known yet, and when to look it up again.
func (c *Sale) Look(fault string, missed bool, next time.Time) error {
	o := c.OpenOrder()
	if o == nil {
		return ErrState
	}
	o.Fault = fault
	if missed {
		o.Lookups++
	}
	c.NextAt = next
	return nil
}

// Done ends the open order with the amount that it sold. It returns ErrOversold if that is more
// than the amount of the order.
func (c *Sale) Done(ref string, s Proceeds, now time.Time) error {
	o := c.OpenOrder()
	if o == nil {
		return ErrState
	}
	if s.Sold.Cmp(o.Amount) > 0 {
		return ErrOversold
	}
	o.State, o.Ref, o.Fault = OrderDone, ref, ""
	o.Sold, o.Euro, o.Fee = s.Sold, s.Euro, s.Fee
	if !s.Sold.IsZero() {
		c.Since, c.Tries = now, 0
	}
	return nil
}

// Refused ends the open order, which the exchange never took; state is OrderRefused or OrderAbsent.
func (c *Sale) Refused(state OrderState, fault string) error {
	o := c.OpenOrder()
	if o == nil || state != OrderRefused && state != OrderAbsent {
		return ErrState
	}
	o.State, o.Fault = state, fault
	return nil
}

// Wait schedules the sale of the remainder. It returns ErrState while an order is open.
func (c *Sale) Wait(reason SaleReason, next time.Time) error {
	if c.OpenOrder() != nil {
		return ErrState
	}
	c.State, c.Reason, c.NextAt = SaleWaiting, reason, next
	c.Tries++
	return nil
}

// Filled ends a conversion whose remainder is too small to sell. It returns ErrState while an order
// is open.
func (c *Sale) Filled() error {
	if c.OpenOrder() != nil {
		return ErrState
	}
	c.State, c.Reason, c.NextAt = SaleFilled, "", time.Time{}
	if c.Sold().Sold.IsZero() {
		c.State, c.Reason = SaleSkipped, ReasonTooSmall
	}
	return nil
}

// Fail ends the automatic sale: the merchant must decide.
func (c *Sale) Fail(reason SaleReason) {
	c.State, c.Reason, c.NextAt = SaleFailed, reason, time.Time{}
}

// Retry schedules a conversion that failed, was skipped or waits at once. If the outcome of an
// order is not known, absent must be true, which says that the merchant checked that the exchange
// never had it; otherwise Retry returns ErrUnknownOrder.
func (c *Sale) Retry(absent bool, now time.Time) error {
	if c.State != SaleFailed && c.State != SaleSkipped && c.State != SaleWaiting {
		return ErrState
	}
	if c.OpenOrder() != nil {
		if !absent {
			return ErrUnknownOrder
		}
		if err := c.Refused(OrderAbsent, "the merchant reported that the exchange never had it"); err != nil {
			return err
		}
	}
	c.State, c.Reason, c.Since, c.NextAt, c.Tries = SaleWaiting, "", now, now, 0
	return nil
}

// Settle ends a conversion that failed, waits or was skipped with a sale that the merchant reports:
// the result of the open order, or the merchant's own sale. It returns ErrState for other states,
// and ErrOversold if more would be sold than was received.
func (c *Sale) Settle(s Proceeds, now time.Time) error {
	if c.State != SaleFailed && c.State != SaleSkipped && c.State != SaleWaiting {
		return ErrState
	}
	if c.OpenOrder() != nil {
		if err := c.Done(c.OpenOrder().Ref, s, now); err != nil {
			return err
		}
		c.Orders[len(c.Orders)-1].Fault = "reported by the merchant"
	} else if !s.Sold.IsZero() {
		if s.Sold.Cmp(c.Rest()) > 0 {
			return ErrOversold
		}
		c.Orders = append(c.Orders, SaleOrder{
			Number: len(c.Orders) + 1, Amount: s.Sold, Limit: c.Lowest, Before: money.Zero(c.Amount.Currency()), SentAt: now, Deadline: now, Over: now,
			State: OrderDone, Fault: "reported by the merchant", Sold: s.Sold, Euro: s.Euro, Fee: s.Fee,
		})
	}
	c.State, c.Reason, c.NextAt = SaleSettled, "", time.Time{}
	return nil
}
