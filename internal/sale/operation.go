package sale

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

// errLost means that the claim has expired, or that another process or the operator has changed the
// conversion.
var errLost = errors.New("the claim was lost")

// operation is a conversion that is being processed.
type operation struct {
	*Worker
	claim    Claim
	exchange exchange.Exchange
	account  exchange.Account
	invoice  *invoice.Invoice
	*invoice.Sale
}

// advance takes the next step of a conversion.
func (w *Worker) advance(ctx context.Context, c Claim) error {
	s := &operation{Worker: w, claim: c, exchange: w.exchanges[c.Account.Exchange], account: accountForCalls(c.Account, c.Nonce)}
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

// take sets the invoice and its conversion. It returns errLost if the claim is lost.
func (s *operation) take(inv *invoice.Invoice) error {
	conversion, known := inv.Conversion(s.claim.Coin)
	if !known || conversion.Claim != s.claim.Nonce {
		return errLost
	}
	s.invoice, s.Sale = inv, conversion
	return nil
}

// change changes the conversion with decide. It returns errLost if the claim is lost, or if decide
// finds the conversion in an unexpected state.
func (s *operation) change(ctx context.Context, decide func(*invoice.Invoice, *invoice.Sale) error) error {
	var from invoice.SaleState
	inv, err := s.invoices.UpdateSales(ctx, s.claim.InvoiceID, func(inv *invoice.Invoice) ([]invoice.EventType, error) {
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
		if s.State == invoice.SaleFailed {
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

// happened returns the events of a change of state.
func happened(from, to invoice.SaleState) []invoice.EventType {
	switch {
	case from == to:
		return nil
	case to == invoice.SaleFilled:
		return []invoice.EventType{invoice.EventSaleFilled}
	case to == invoice.SaleFailed:
		return []invoice.EventType{invoice.EventSaleFailed}
	}
	return nil
}

// sell makes an order for the rest that may be sold, if it can be sold now.
func (s *operation) sell(ctx context.Context) error {
	if !s.invoice.Holds(s.Sale) {
		if s.invoice.State.Status != invoice.Paid {
			return errLost // it becomes due when the invoice is paid again
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
		return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error { return c.Filled() })
	case len(s.Orders) >= maxOrders && s.Reason != "": // without a reason: the operator has requested one more order
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
	// A database that was restored from a backup does not know later sales, nor when the invoice
	// was first paid.
	o := exchange.Order{ID: OrderID(s.invoice.ID, s.Coin, s.Taken()+1), Coin: s.Coin, Amount: amount, Limit: limit, Made: earlier(s.CreatedAt, s.invoice.CreatedAt)}
	found, err := s.exchange.Find(ctx, s.account, o, "")
	if err != nil && !errors.Is(err, exchange.ErrAbsent) {
		return s.postpone(ctx, err)
	}
	there := err == nil
	o.Made = s.now()
	var over time.Time
	o.Deadline, over = s.exchange.Window(o.Made)
	err = s.change(ctx, func(inv *invoice.Invoice, c *invoice.Sale) error {
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

// tooSmall reports whether an order is below the minimum of the exchange or of the merchant.
func (s *operation) tooSmall(m exchange.Market, amount, limit money.Amount) bool {
	value := new(big.Rat).Mul(amount.Rat(), limit.Rat())
	return amount.IsZero() || amount.Cmp(m.MinAmount) < 0 || value.Cmp(m.MinValue.Rat()) < 0 || s.Rate.Value(amount).Cmp(s.Smallest.Rat()) < 0
}

// place sends the stored order.
func (s *operation) place(ctx context.Context, o exchange.Order) error {
	left := o.Deadline.Sub(s.now())
	if left <= 0 { // the write took too long, so that the order is not sent
		return s.refused(ctx, invoice.OrderAbsent, &exchange.Refused{Kind: exchange.KindBusy, Says: "not sent: the deadline had passed"})
	}
	bounded, cancel := context.WithTimeout(ctx, left)
	ref, err := s.exchange.Place(bounded, s.account, o)
	cancel()
	if refused, ok := errors.AsType[*exchange.Refused](err); ok {
		return s.refused(ctx, invoice.OrderRefused, refused)
	}
	if err != nil { // the order may have been accepted
		return s.look(ctx, err, false, s.OpenOrder().Over)
	}
	err = s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error { return c.Placed(ref, s.now().Add(recheckDelay)) })
	if err != nil {
		return err
	}
	return s.resolve(ctx)
}

// resolve determines the outcome of the open order.
func (s *operation) resolve(ctx context.Context) error {
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
	case errors.Is(err, exchange.ErrAlike), now.Sub(o.SentAt) > maxWait:
		return s.doubt(ctx, invoice.ReasonUncertain, err)
	case errors.Is(err, exchange.ErrAbsent) && o.Ref == "":
		return s.missed(ctx, err)
	case errors.Is(err, exchange.ErrAbsent) && now.Sub(o.Over) > maxOpenTime:
		return s.doubt(ctx, invoice.ReasonUncertain, err)
	}
	return s.look(ctx, err, false, now.Add(searchDelay))
}

// missed handles an order that is not found although it must be closed.
func (s *operation) missed(ctx context.Context, absent error) error {
	o := s.OpenOrder()
	balance, err := s.exchange.Balance(ctx, s.account, s.Coin)
	switch {
	case err != nil:
		return s.look(ctx, err, false, s.now().Add(searchDelay))
	case balance.Total.Cmp(o.Before) < 0:
		return s.doubt(ctx, invoice.ReasonUncertain, fmt.Errorf("%w, but the account holds %s %s, and held %s before", absent, balance.Total, s.Coin, o.Before))
	case o.Lookups+1 < requiredSearches:
		return s.look(ctx, absent, true, s.now().Add(searchDelay))
	}
	return s.refused(ctx, invoice.OrderAbsent, &exchange.Refused{Kind: exchange.KindBusy, Says: "the exchange never had it"})
}

// conclude records the state of the open order at the exchange.
func (s *operation) conclude(ctx context.Context, out exchange.Outcome) error {
	now := s.now()
	if out.Open {
		if now.Sub(s.OpenOrder().Over) > maxOpenTime {
			return s.doubt(ctx, invoice.ReasonUncertain, errors.New("the exchange reports the order as still open"))
		}
		return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error { return c.Placed(out.Ref, now.Add(recheckDelay)) })
	}
	err := s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error {
		if err := c.Done(out.Ref, invoice.Proceeds{Sold: out.Sold, Euro: out.Euro, Fee: out.Fee}, now); err != nil {
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

// refused ends an order that was not accepted.
func (s *operation) refused(ctx context.Context, state invoice.OrderState, r *exchange.Refused) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error {
		if err := c.Refused(state, r.Says); err != nil {
			return err
		}
		return s.follow(c, r)
	})
}

// follow sets the state of the conversion after a refusal.
func (s *operation) follow(c *invoice.Sale, r *exchange.Refused) error {
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

// postpone handles an error of the exchange while no order has an unknown outcome. After most
// errors the conversion waits.
func (s *operation) postpone(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*exchange.Refused](err); ok {
		s.log.Warn("exchange refused call", "exchange", s.exchange.Name(), "says", refused.Says)
		return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error { return s.follow(c, refused) })
	}
	switch {
	case errors.Is(err, exchange.ErrNoMarket):
		return s.fail(ctx, invoice.ReasonRefused)
	case errors.Is(err, exchange.ErrContradiction):
		return s.fail(ctx, invoice.ReasonContradiction)
	case errors.Is(err, exchange.ErrAlike):
		return s.wait(ctx, invoice.ReasonUncertain) // no order of this sale is in doubt
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err() // the program is stopping
	}
	s.log.Warn("exchange does not answer", "exchange", s.exchange.Name(), "error", err)
	return s.wait(context.WithoutCancel(ctx), invoice.ReasonUnreachable)
}

// wait lets the conversion wait for the next attempt.
func (s *operation) wait(ctx context.Context, reason invoice.SaleReason) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error { return s.waits(c, reason) })
}

// waits sets the conversion to wait or, after waiting for too long, to fail, so that the operator
// must decide.
func (s *operation) waits(c *invoice.Sale, reason invoice.SaleReason) error {
	now := s.now()
	if now.Sub(c.Since) > maxWait {
		c.Fail(reason)
		return nil
	}
	return c.Wait(reason, now.Add(pause(c.Tries)))
}

// pause returns the time until the next attempt, which grows with the number of attempts.
func pause(tries int) time.Duration {
	return min(minPause<<min(tries, 10), maxPause)
}

// fail sets the conversion to failed, so that the operator must decide.
func (s *operation) fail(ctx context.Context, reason invoice.SaleReason) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error {
		c.Fail(reason)
		return nil
	})
}

// doubt fails a conversion whose order has an unknown outcome, so that the operator must decide.
func (s *operation) doubt(ctx context.Context, reason invoice.SaleReason, why error) error {
	return s.change(ctx, func(_ *invoice.Invoice, c *invoice.Sale) error {
		if err := c.Look(short(why), false, time.Time{}); err != nil {
			return err
		}
		c.Fail(reason)
		return nil
	})
}

// look records that the outcome of the open order is still unknown. It ignores the deadline of the
// work, because the record must not be lost.
func (s *operation) look(ctx context.Context, why error, missed bool, next time.Time) error {
	return s.change(context.WithoutCancel(ctx), func(_ *invoice.Invoice, c *invoice.Sale) error { return c.Look(short(why), missed, next) })
}

// short returns the beginning of an error, for storage.
func short(err error) string {
	text := err.Error()
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "")
	}
	return text
}

// OrderID returns the name of an order of a conversion. It is always the same for the same number.
// The name of an order that was not accepted is used for the next order, so that the names that an
// exchange knows have no gap: a restored database finds a later order under the next name.
func OrderID(invoiceID, coin string, number int) string {
	return exchange.UUID("chequer-sale-v1\n" + invoiceID + "\n" + coin + "\n" + strconv.Itoa(number))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// accountForCalls returns the account for calls to the exchange. Its calls have nonces above nonce.
func accountForCalls(a merchant.ExchangeAccount, nonce int64) exchange.Account {
	return exchange.Account{Key: a.Key, Secret: a.Secret, Nonce: func() int64 { nonce++; return nonce }}
}
