package invoice

import (
	"cmp"
	"errors"
	"math/big"
	"slices"
	"time"

	"chequer/internal/money"
)

// Conversion is the sale for euro of what paid an invoice in one coin, on the
// merchant's own exchange account. Those of an invoice are made when it becomes
// paid for the first time, and never again: what is sold is frozen then.
type Conversion struct {
	Coin   string       // as rates and exchanges name it: "BTC"
	Amount money.Amount // all that may ever be sold: what the price needed of the coin
	Rate   money.Rate   // euro for a coin, as the invoice counted it
	Lowest money.Amount // euro for a coin below which nothing is sold
	// Smallest is the euro value under which nothing is sold.
	Smallest money.Amount

	State  ConversionState
	Reason ConversionReason
	// CreatedAt is when the invoice became paid, Since when it began to wait or was
	// sold of last.
	CreatedAt, Since time.Time
	// NextAt is when something is to be done; zero when that is up to a person, or
	// nothing is.
	NextAt time.Time
	Tries  int   // waits in a row
	Claim  int64 // names who may change it now, see convert.Storage
	Orders []SaleOrder
}

// ConversionState says how far a conversion is.
type ConversionState string

// The states of a conversion.
const (
	// ConversionWaiting is sold when NextAt comes.
	ConversionWaiting ConversionState = "waiting"
	// ConversionSending has an order whose outcome is not known yet: nothing else
	// is sold meanwhile.
	ConversionSending ConversionState = "sending"
	// ConversionFilled is sold, but for what is too small to sell.
	ConversionFilled ConversionState = "filled"
	// ConversionFailed waits for a person.
	ConversionFailed ConversionState = "failed"
	// ConversionSettled was ended by a person.
	ConversionSettled ConversionState = "settled"
	// ConversionSkipped was too small to be sold at all.
	ConversionSkipped ConversionState = "skipped"
)

// ConversionStates are all of them.
var ConversionStates = []ConversionState{
	ConversionWaiting, ConversionSending, ConversionFilled, ConversionFailed, ConversionSettled, ConversionSkipped,
}

// ConversionReason says why a conversion waits, failed or was skipped; "" when
// there is nothing to say.
type ConversionReason string

// The reasons.
const (
	// ReasonLowBalance: the coins are not on the exchange yet.
	ReasonLowBalance ConversionReason = "low_balance"
	// ReasonPrice: nobody pays the lowest price.
	ReasonPrice ConversionReason = "price"
	// ReasonPartial: a part was sold, and the rest is tried again.
	ReasonPartial ConversionReason = "partial"
	// ReasonTooSmall: less than the exchange or the merchant sells.
	ReasonTooSmall ConversionReason = "too_small"
	// ReasonMaintenance: the exchange, or its market, is closed.
	ReasonMaintenance ConversionReason = "maintenance"
	// ReasonRateLimit: the exchange is asked too often.
	ReasonRateLimit ConversionReason = "rate_limit"
	// ReasonUnreachable: the exchange does not answer as it should.
	ReasonUnreachable ConversionReason = "unreachable"
	// ReasonNonce: the exchange saw a higher number before; somebody else uses the key.
	ReasonNonce ConversionReason = "nonce"
	// ReasonKey: the key is not valid, or may not trade.
	ReasonKey ConversionReason = "key"
	// ReasonRefused: the exchange refused the order for a reason of its own.
	ReasonRefused ConversionReason = "refused"
	// ReasonUncertain: whether an order was carried out cannot be told.
	ReasonUncertain ConversionReason = "uncertain"
	// ReasonContradiction: what the exchange says cannot be.
	ReasonContradiction ConversionReason = "contradiction"
	// ReasonNoAccount: the exchange account of an order is not in force any more.
	ReasonNoAccount ConversionReason = "no_account"
	// ReasonReverted: the invoice is paid by other money by now.
	ReasonReverted ConversionReason = "reverted"
	// ReasonExhausted: so many orders came to nothing that a person should look.
	ReasonExhausted ConversionReason = "exhausted"
)

// ConversionReasons are all of them.
var ConversionReasons = []ConversionReason{
	ReasonLowBalance, ReasonPrice, ReasonPartial, ReasonTooSmall, ReasonMaintenance, ReasonRateLimit, ReasonUnreachable, ReasonNonce,
	ReasonKey, ReasonRefused, ReasonUncertain, ReasonContradiction, ReasonNoAccount, ReasonReverted, ReasonExhausted,
}

// SaleOrder is one order to an exchange. It is written before the exchange hears
// of it.
type SaleOrder struct {
	Number    int    // from 1
	ID        string // ours, made of the invoice, the coin and how many were taken before
	AccountID string
	Exchange  string
	Amount    money.Amount // of the coin
	Limit     money.Amount // euro for a coin
	Before    money.Amount // what the account held of the coin, reserved or not
	SentAt    time.Time
	// Deadline is when we stop waiting for an answer, and Over when the exchange
	// cannot carry the order out any more, whatever its clock shows.
	Deadline, Over time.Time

	State OrderState
	Ref   string // the exchange's own name for it; "" until it is known
	Fault string // what went wrong, for people
	Looks int    // how often it was looked for and not there
	Sold  money.Amount
	Euro  money.Amount // for it, before the fee
	Fee   money.Amount // euro
}

// OrderState says what became of an order.
type OrderState string

// The states of an order.
const (
	// OrderSending may be with the exchange or not.
	OrderSending OrderState = "sending"
	// OrderPlaced is with the exchange, by its own word.
	OrderPlaced OrderState = "placed"
	// OrderDone is over, and what it sold is known.
	OrderDone OrderState = "done"
	// OrderRefused was never taken, by the exchange's word.
	OrderRefused OrderState = "refused"
	// OrderAbsent was never taken: it is nowhere, and can come no more.
	OrderAbsent OrderState = "absent"
)

// Open tells whether more may come of the order.
func (o SaleOrder) Open() bool { return o.State == OrderSending || o.State == OrderPlaced }

// Sale is what an order, or a person, brought.
type Sale struct {
	Sold money.Amount // of the coin
	Euro money.Amount // for it, before the fee
	Fee  money.Amount // euro
}

// ErrOversold means that more would be sold than came in: nothing is changed then.
var ErrOversold = errors.New("more than the invoice brought would be sold")

// SaleEuro is euro as exchanges count it, finer than a cent.
var SaleEuro = money.Currency{Code: "EUR", Decimals: 18}

// SaleCoin is a coin as exchanges count it, whatever its network does.
func SaleCoin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// ConvertTerms are the merchant's settings for selling what comes in, frozen.
// Without coins nothing is sold.
type ConvertTerms struct {
	Coins    []string     // that are sold; never EURC
	Smallest money.Amount // euro value of a sale
	Slippage int64        // hundredths of a percent below the invoice's rate
}

// neverSold is a coin that is euro already.
const neverSold = "EURC"

// Sellable tells whether a coin, by its rate's code, can be sold for euro at all.
func Sellable(coin string) bool { return coin != neverSold && coin != money.EUR.Code }

// Conversion finds the conversion of a coin.
func (inv *Invoice) Conversion(coin string) (*Conversion, bool) {
	i := slices.IndexFunc(inv.Conversions, func(c Conversion) bool { return c.Coin == coin })
	if i < 0 {
		return nil, false
	}
	return &inv.Conversions[i], true
}

// convert makes the conversions of an invoice that has just become paid, unless
// there were any before, or none is wanted.
func (inv *Invoice) convert(now time.Time) {
	terms := inv.Terms.Convert
	if inv.Mode != Live || inv.Terms.DisableConvert || len(terms.Coins) == 0 || len(inv.Conversions) > 0 {
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
			continue // worth nothing in euro
		}
		one := money.MustParse("1", SaleCoin(p.coin))
		lowest := new(big.Rat).Mul(rate.Value(one), big.NewRat(10_000-terms.Slippage, 10_000))
		inv.Conversions = append(inv.Conversions, Conversion{
			Coin: p.coin, Amount: amount, Rate: rate, Lowest: money.RoundUp(lowest, SaleEuro), Smallest: terms.Smallest,
			State: ConversionWaiting, CreatedAt: now, Since: now, NextAt: now,
		})
	}
}

// proceed is how much of a coin paid the price, and what that was counted for.
type proceed struct {
	coin   string   // "" when no exchange has it
	amount *big.Rat // whole coins
	euro   *big.Rat
}

// proceeds are what confirmed money the price needed, by coin: never more, so that
// what was overpaid, came too late or in something else stays the merchant's coins.
// Money is taken in the order in which it was confirmed.
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

// coins are what counts of a transfer, in whole coins of what exchanges have, "" for
// what none has.
func (inv *Invoice) coins(e entry) (coin string, amount *big.Rat) {
	m, _ := inv.Method(e.transfer.Network, e.transfer.Asset)
	if coin = m.Asset.Rate; m.Asset.Symbol != coin { // priced like the coin, as a token may be, but not the coin
		coin = ""
	}
	return coin, major(new(big.Rat).SetInt(e.coin), m.Asset.Currency)
}

// Holds tells whether an invoice is paid and all that its conversion is about is still
// there, confirmed: not when that left the network, whatever came in its place.
func (inv *Invoice) Holds(c *Conversion) bool {
	if inv.Standing.Status != Paid {
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

// credited are the confirmed transfers that count, in the order in which they were
// confirmed. Those that a person let stand come first, each with what it is worth
// by the newest price that was held for it.
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

// worth values the whole of a transfer by the newest price that was held for it.
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

// Sold is what is known to be sold.
func (c *Conversion) Sold() Sale {
	all := Sale{Sold: money.Zero(c.Amount.Currency()), Euro: money.Zero(SaleEuro), Fee: money.Zero(SaleEuro)}
	for _, o := range c.Orders {
		all.Sold, all.Euro, all.Fee = all.Sold.Add(o.Sold), all.Euro.Add(o.Euro), all.Fee.Add(o.Fee)
	}
	return all
}

// Rest is what may still be sold: all but what is sold, and what an order whose
// outcome is not known may sell.
func (c *Conversion) Rest() money.Amount {
	rest := c.Amount.Sub(c.Sold().Sold)
	if o := c.OpenOrder(); o != nil {
		rest = rest.Sub(o.Amount)
	}
	return rest
}

// OpenOrder is the order of which more may come; nil when there is none.
func (c *Conversion) OpenOrder() *SaleOrder {
	if n := len(c.Orders); n > 0 && c.Orders[n-1].Open() {
		return &c.Orders[n-1]
	}
	return nil
}

// Taken is how many orders an exchange took and is done with.
func (c *Conversion) Taken() int {
	n := 0
	for _, o := range c.Orders {
		if o.State == OrderDone && o.AccountID != "" { // else a person sold it
			n++
		}
	}
	return n
}

// Average is what a coin brought in euro, before fees; "" when nothing is sold.
func (c *Conversion) Average() string {
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

// Begin writes an order down that is about to be sent. ErrState when the conversion
// does not wait, ErrOversold when the order is not within what may still be sold.
func (c *Conversion) Begin(o SaleOrder) error {
	if c.State != ConversionWaiting || c.OpenOrder() != nil || o.Number != len(c.Orders)+1 {
		return ErrState
	}
	if o.Amount.IsZero() || o.Amount.Cmp(c.Rest()) > 0 {
		return ErrOversold
	}
	o.State, o.Sold, o.Euro, o.Fee = OrderSending, money.Zero(c.Amount.Currency()), money.Zero(SaleEuro), money.Zero(SaleEuro)
	c.Orders = append(c.Orders, o)
	// Who begins it has its outcome; if not, others wait until it must be over.
	c.State, c.Reason, c.NextAt = ConversionSending, "", o.Over
	return nil
}

// Placed notes the exchange's own name for the open order.
func (c *Conversion) Placed(ref string, next time.Time) error {
	o := c.OpenOrder()
	if o == nil {
		return ErrState
	}
	o.State, o.Ref, o.Fault = OrderPlaced, ref, ""
	c.NextAt = next
	return nil
}

// Look notes that the outcome of the open order is not known yet, and when to look
// again.
func (c *Conversion) Look(fault string, missed bool, next time.Time) error {
	o := c.OpenOrder()
	if o == nil {
		return ErrState
	}
	o.Fault = fault
	if missed {
		o.Looks++
	}
	c.NextAt = next
	return nil
}

// Done ends the open order with what it sold. ErrOversold when that is more than it
// was for.
func (c *Conversion) Done(ref string, s Sale, now time.Time) error {
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

// Refused ends the open order, which was never taken: state says who says so.
func (c *Conversion) Refused(state OrderState, fault string) error {
	o := c.OpenOrder()
	if o == nil || state != OrderRefused && state != OrderAbsent {
		return ErrState
	}
	o.State, o.Fault = state, fault
	return nil
}

// Wait has the rest sold later. ErrState while an order is open.
func (c *Conversion) Wait(reason ConversionReason, next time.Time) error {
	if c.OpenOrder() != nil {
		return ErrState
	}
	c.State, c.Reason, c.NextAt = ConversionWaiting, reason, next
	c.Tries++
	return nil
}

// Filled ends a conversion of which nothing is left that could be sold. ErrState
// while an order is open.
func (c *Conversion) Filled() error {
	if c.OpenOrder() != nil {
		return ErrState
	}
	c.State, c.Reason, c.NextAt = ConversionFilled, "", time.Time{}
	if c.Sold().Sold.IsZero() {
		c.State, c.Reason = ConversionSkipped, ReasonTooSmall
	}
	return nil
}

// Fail hands the conversion to a person.
func (c *Conversion) Fail(reason ConversionReason) {
	c.State, c.Reason, c.NextAt = ConversionFailed, reason, time.Time{}
}

// Retry has what failed, was skipped or waits tried again at once. When the outcome of an
// order is not known, absent says that a person looked and the exchange never had
// it; else ErrUnknownOrder.
func (c *Conversion) Retry(absent bool, now time.Time) error {
	if c.State != ConversionFailed && c.State != ConversionSkipped && c.State != ConversionWaiting {
		return ErrState
	}
	if c.OpenOrder() != nil {
		if !absent {
			return ErrUnknownOrder
		}
		if err := c.Refused(OrderAbsent, "a person found that the exchange never had it"); err != nil {
			return err
		}
	}
	c.State, c.Reason, c.Since, c.NextAt, c.Tries = ConversionWaiting, "", now, now, 0
	return nil
}

// Settle ends what failed, waits or was skipped by a person's word: what the open order sold, or
// what he sold himself. ErrState otherwise, ErrOversold.
func (c *Conversion) Settle(s Sale, now time.Time) error {
	if c.State != ConversionFailed && c.State != ConversionSkipped && c.State != ConversionWaiting {
		return ErrState
	}
	if c.OpenOrder() != nil {
		if err := c.Done(c.OpenOrder().Ref, s, now); err != nil {
			return err
		}
		c.Orders[len(c.Orders)-1].Fault = "told by a person"
	} else if !s.Sold.IsZero() {
		if s.Sold.Cmp(c.Rest()) > 0 {
			return ErrOversold
		}
		c.Orders = append(c.Orders, SaleOrder{
			Number: len(c.Orders) + 1, Amount: s.Sold, Limit: c.Lowest, Before: money.Zero(c.Amount.Currency()), SentAt: now, Deadline: now, Over: now,
			State: OrderDone, Fault: "told by a person", Sold: s.Sold, Euro: s.Euro, Fee: s.Fee,
		})
	}
	c.State, c.Reason, c.NextAt = ConversionSettled, "", time.Time{}
	return nil
}
