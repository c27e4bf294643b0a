package convert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strconv"
	"strings"
	"time"

	"chequer/internal/exchange"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// errLost means that somebody else decided about the conversion meanwhile.
var errLost = errors.New("the claim was lost")

// sale is one conversion being worked at.
type sale struct {
	*Worker
	claim    Claim
	exchange exchange.Exchange
	account  exchange.Account
	invoice  *invoice.Invoice
	*invoice.Conversion
}

// advance does what is next.
func (w *Worker) advance(ctx context.Context, c Claim) error {
	s := &sale{Worker: w, claim: c, exchange: w.exchanges[c.Account.Exchange], account: called(c.Account, c.Nonce)}
	inv, err := w.invoices.Invoice(ctx, c.InvoiceID)
	if err != nil {
		return err
	}
	if err := s.take(inv); err != nil {
		return err
	}
	if s.exchange == nil {
		return s.wait(ctx, invoice.ReasonNoAccount)
	}
	if s.OpenOrder() != nil {
		return s.resolve(ctx)
	}
	return s.sell(ctx)
}

// take makes an invoice the one that is worked at; errLost when the claim is not ours
// any more.
func (s *sale) take(inv *invoice.Invoice) error {
	conversion, known := inv.Conversion(s.claim.Coin)
	if !known || conversion.Claim != s.claim.Nonce {
		return errLost
	}
	s.invoice, s.Conversion = inv, conversion
	return nil
}

// change lets decide change the conversion, unless the claim is lost: errLost, also
// when decide finds it in another state than it must be in.
func (s *sale) change(ctx context.Context, decide func(*invoice.Invoice, *invoice.Conversion) error) error {
	var from invoice.ConversionState
	inv, err := s.invoices.Convert(ctx, s.claim.InvoiceID, func(inv *invoice.Invoice) ([]invoice.EventType, error) {
		c, known := inv.Conversion(s.claim.Coin)
		if !known || c.Claim != s.claim.Nonce {
			return nil, errLost
		}
		from = c.State
		if err := decide(inv, c); err != nil {
			return nil, err
		}
		return happened(from, c.State), nil
	})
	if errors.Is(err, invoice.ErrState) {
		return errLost
	}
	if err != nil {
		return err
	}
	if err := s.take(inv); err != nil {
		return err
	}
	if s.State != from {
		level, fault := slog.LevelInfo, ""
		if s.State == invoice.ConversionFailed {
			level = slog.LevelError
		}
		if n := len(s.Orders); n > 0 {
			fault = s.Orders[n-1].Fault
		}
		s.log.Log(ctx, level, "conversion changed", "invoice", inv.ID, "coin", s.Coin, "from", from, "to", s.State, "reason", s.Reason,
			"sold", s.Sold().Sold.String(), "fault", fault)
	}
	return nil
}

// happened are the events of going from one state to another.
func happened(from, to invoice.ConversionState) []invoice.EventType {
	switch {
	case from == to:
		return nil
	case to == invoice.ConversionFilled:
		return []invoice.EventType{invoice.EventConvertFilled}
	case to == invoice.ConversionFailed:
		return []invoice.EventType{invoice.EventConvertFailed}
	}
	return nil
}

// sell makes an order of all that is left and may be sold, if it can be sold now.
func (s *sale) sell(ctx context.Context) error {
	if !s.invoice.Holds(s.Conversion) {
		if s.invoice.Standing.Status != invoice.Paid {
			return errLost // it is due again when the invoice is paid again
		}
		return s.wait(ctx, invoice.ReasonReverted)
	}
	market, err := s.exchange.Market(ctx, s.Coin)
	if err != nil {
		return s.postpone(ctx, err)
	}
	amount, limit := market.Round(s.Rest()), market.Price(s.Lowest)
	switch {
	case s.tooSmall(market, amount, limit):
		return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error { return c.Filled() })
	case len(s.Orders) >= maxOrders && s.Reason != "": // else a person wants one more
		return s.fail(ctx, invoice.ReasonExhausted)
	case !market.Open:
		return s.wait(ctx, invoice.ReasonMaintenance)
	}
	balance, err := s.exchange.Balance(ctx, s.account, s.Coin)
	if err != nil {
		return s.postpone(ctx, err)
	}
	switch {
	case balance.Available.Cmp(amount) < 0:
		return s.wait(ctx, invoice.ReasonLowBalance)
	case market.Bid.Cmp(limit) < 0:
		return s.wait(ctx, invoice.ReasonPrice)
	}
	number := len(s.Orders) + 1
	// A database that was put back from a backup does not know what was sold since, nor
	// when the invoice became paid for the first time.
	o := exchange.Order{ID: OrderID(s.invoice.ID, s.Coin, s.Taken()+1), Coin: s.Coin, Amount: amount, Limit: limit, Made: earlier(s.CreatedAt, s.invoice.CreatedAt)}
	found, err := s.exchange.Find(ctx, s.account, o, "")
	if err != nil && !errors.Is(err, exchange.ErrAbsent) {
		return s.postpone(ctx, err)
	}
	there := err == nil
	o.Made = s.now()
	var over time.Time
	o.Deadline, over = s.exchange.Window(o.Made)
	err = s.change(ctx, func(inv *invoice.Invoice, c *invoice.Conversion) error {
		if !inv.Holds(c) {
			return errLost
		}
		return c.Begin(invoice.SaleOrder{
			Number: number, ID: o.ID, AccountID: s.claim.Account.ID, Exchange: s.exchange.Name(), Amount: amount, Limit: limit,
			Before: balance.Total, SentAt: o.Made, Deadline: o.Deadline, Over: over,
		})
	})
	if err != nil {
		return err
	}
	if there {
		return s.conclude(ctx, found)
	}
	return s.place(ctx, o)
}

// tooSmall tells whether the exchange, or the merchant, sells no such order.
func (s *sale) tooSmall(m exchange.Market, amount, limit money.Amount) bool {
	value := new(big.Rat).Mul(amount.Rat(), limit.Rat())
	return amount.IsZero() || amount.Cmp(m.MinAmount) < 0 || value.Cmp(m.MinValue.Rat()) < 0 || s.Rate.Value(amount).Cmp(s.Smallest.Rat()) < 0
}

// place sends the order that was written down.
func (s *sale) place(ctx context.Context, o exchange.Order) error {
	left := o.Deadline.Sub(s.now())
	if left <= 0 { // writing took so long that it was never sent
		return s.refused(ctx, invoice.OrderAbsent, &exchange.Refused{Kind: exchange.KindBusy, Says: "not sent: it was too late"})
	}
	bounded, cancel := context.WithTimeout(ctx, left)
	ref, err := s.exchange.Place(bounded, s.account, o)
	cancel()
	if refused, ok := errors.AsType[*exchange.Refused](err); ok {
		return s.refused(ctx, invoice.OrderRefused, refused)
	}
	if err != nil { // it may have been taken
		return s.look(ctx, err, false, s.OpenOrder().Over)
	}
	err = s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error { return c.Placed(ref, s.now().Add(glance)) })
	if err != nil {
		return err
	}
	return s.resolve(ctx)
}

// resolve finds out what became of the open order.
func (s *sale) resolve(ctx context.Context) error {
	o := s.OpenOrder()
	now := s.now()
	switch {
	case o.AccountID != s.claim.Account.ID:
		return s.fail(ctx, invoice.ReasonNoAccount)
	case o.Ref == "" && now.Before(o.Over):
		return s.look(ctx, errors.New(o.Fault), false, o.Over)
	}
	out, err := s.exchange.Find(ctx, s.account, exchange.Order{
		ID: o.ID, Coin: s.Coin, Amount: o.Amount, Limit: o.Limit, Made: o.SentAt, Deadline: o.Deadline,
	}, o.Ref)
	switch {
	case err == nil:
		return s.conclude(ctx, out)
	case errors.Is(err, exchange.ErrContradiction):
		return s.doubt(ctx, invoice.ReasonContradiction, err)
	case errors.Is(err, exchange.ErrAlike), now.Sub(o.SentAt) > patience:
		return s.doubt(ctx, invoice.ReasonUncertain, err)
	case errors.Is(err, exchange.ErrAbsent) && o.Ref == "":
		return s.missed(ctx, err)
	case errors.Is(err, exchange.ErrAbsent) && now.Sub(o.Over) > stuck:
		return s.doubt(ctx, invoice.ReasonUncertain, err)
	}
	return s.look(ctx, err, false, now.Add(again))
}

// missed is what follows from an order being nowhere when it must be over.
func (s *sale) missed(ctx context.Context, absent error) error {
	o := s.OpenOrder()
	balance, err := s.exchange.Balance(ctx, s.account, s.Coin)
	switch {
	case err != nil:
		return s.look(ctx, err, false, s.now().Add(again))
	case balance.Total.Cmp(o.Before) < 0:
		return s.doubt(ctx, invoice.ReasonUncertain, fmt.Errorf("%w, but the account holds %s %s, and held %s before", absent, balance.Total, s.Coin, o.Before))
	case o.Looks+1 < looks:
		return s.look(ctx, absent, true, s.now().Add(again))
	}
	return s.refused(ctx, invoice.OrderAbsent, &exchange.Refused{Kind: exchange.KindBusy, Says: "the exchange never had it"})
}

// conclude takes what the exchange says of the open order.
func (s *sale) conclude(ctx context.Context, out exchange.Outcome) error {
	now := s.now()
	if out.Open {
		if now.Sub(s.OpenOrder().Over) > stuck {
			return s.doubt(ctx, invoice.ReasonUncertain, errors.New("the exchange says that the order is still open"))
		}
		return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error { return c.Placed(out.Ref, now.Add(glance)) })
	}
	err := s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error {
		if err := c.Done(out.Ref, invoice.Sale{Sold: out.Sold, Euro: out.Euro, Fee: out.Fee}, now); err != nil {
			return err
		}
		if c.Rest().IsZero() {
			return c.Filled()
		}
		reason := invoice.ReasonPartial
		if out.Sold.IsZero() {
			reason = invoice.ReasonPrice
		}
		return s.waits(c, reason)
	})
	if errors.Is(err, invoice.ErrOversold) {
		return s.doubt(ctx, invoice.ReasonContradiction, err)
	}
	return err
}

// refused ends an order that was never taken.
func (s *sale) refused(ctx context.Context, state invoice.OrderState, r *exchange.Refused) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error {
		if err := c.Refused(state, r.Says); err != nil {
			return err
		}
		return s.follow(c, r)
	})
}

// follow is what follows from a refusal.
func (s *sale) follow(c *invoice.Conversion, r *exchange.Refused) error {
	switch r.Kind {
	case exchange.KindFunds:
		return s.waits(c, invoice.ReasonLowBalance)
	case exchange.KindMinimum:
		return c.Filled()
	case exchange.KindPrice:
		return s.waits(c, invoice.ReasonPrice)
	case exchange.KindBusy:
		return s.waits(c, invoice.ReasonRateLimit)
	case exchange.KindMaintenance:
		return s.waits(c, invoice.ReasonMaintenance)
	case exchange.KindNonce:
		return s.waits(c, invoice.ReasonNonce)
	case exchange.KindKey:
		c.Fail(invoice.ReasonKey)
		return nil
	}
	c.Fail(invoice.ReasonRefused)
	return nil
}

// postpone handles an error of the exchange while the sale has no order in doubt: most
// errors have the sale wait.
func (s *sale) postpone(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*exchange.Refused](err); ok {
		s.log.Warn("the exchange refuses to answer", "exchange", s.exchange.Name(), "says", refused.Says)
		return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error { return s.follow(c, refused) })
	}
	switch {
	case errors.Is(err, exchange.ErrNoMarket):
		return s.fail(ctx, invoice.ReasonRefused)
	case errors.Is(err, exchange.ErrContradiction):
		return s.fail(ctx, invoice.ReasonContradiction)
	case errors.Is(err, exchange.ErrAlike):
		return s.wait(ctx, invoice.ReasonUncertain) // no order of this sale is in doubt
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err() // the program ends
	}
	s.log.Warn("the exchange does not answer", "exchange", s.exchange.Name(), "error", err)
	return s.wait(context.WithoutCancel(ctx), invoice.ReasonUnreachable)
}

// wait has the conversion tried again later.
func (s *sale) wait(ctx context.Context, reason invoice.ConversionReason) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error { return s.waits(c, reason) })
}

// waits is wait, or a person when that went on for too long.
func (s *sale) waits(c *invoice.Conversion, reason invoice.ConversionReason) error {
	now := s.now()
	if now.Sub(c.Since) > patience {
		c.Fail(reason)
		return nil
	}
	return c.Wait(reason, now.Add(pause(c.Tries)))
}

// pause is how long to wait after so many waits: the more there were, the longer.
func pause(tries int) time.Duration {
	return min(shortest<<min(tries, 10), longest)
}

// fail hands the conversion to a person.
func (s *sale) fail(ctx context.Context, reason invoice.ConversionReason) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error {
		c.Fail(reason)
		return nil
	})
}

// doubt hands an order to a person whose outcome cannot be told.
func (s *sale) doubt(ctx context.Context, reason invoice.ConversionReason, why error) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Conversion) error {
		if err := c.Look(short(why), false, time.Time{}); err != nil {
			return err
		}
		c.Fail(reason)
		return nil
	})
}

// look notes that the outcome of the open order is not known yet. What is noted must
// not be lost with the time for the work.
func (s *sale) look(ctx context.Context, why error, missed bool, next time.Time) error {
	return s.change(context.WithoutCancel(ctx), func(_ *invoice.Invoice, c *invoice.Conversion) error { return c.Look(short(why), missed, next) })
}

// short is the beginning of an error, as it is kept.
func short(err error) string {
	text := err.Error()
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "")
	}
	return text
}

// OrderID names an order of a conversion: the same one for ever, whoever makes it. One
// that was never taken leaves its name to the next: so the names that an exchange knows
// have no gap, and whoever knows less than it finds the next one there.
func OrderID(invoiceID, coin string, number int) string {
	return exchange.UUID("chequer-sale-v1\n" + invoiceID + "\n" + coin + "\n" + strconv.Itoa(number))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// called is an account as an exchange is called with it: its calls have numbers above
// one.
func called(a merchant.ExchangeAccount, nonce int64) exchange.Account {
	return exchange.Account{Key: a.Key, Secret: a.Secret, Nonce: func() int64 { nonce++; return nonce }}
}
