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

// errClaimLost means that the claim has expired, or that another process or the operator has changed
// the sale.
var errClaimLost = errors.New("the claim was lost")

// operation is a sale that is being processed.
type operation struct {
	*Worker
	claim    Claim
	exchange exchange.Exchange
	account  exchange.Account
	invoice  *invoice.Invoice
	*invoice.Sale
}

// advance takes the next step of a sale.
func (w *Worker) advance(ctx context.Context, c Claim) error {
	s := &operation{Worker: w, claim: c, exchange: w.exchanges[c.Account.Exchange], account: accountForCalls(c.Account, c.Nonce)}
	inv, err := w.invoices.Invoice(ctx, c.InvoiceID)
	if err != nil {
		return err
	}
	if err := s.setSale(inv); err != nil {
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

// setSale sets the invoice and its sale. It returns errClaimLost if the claim is lost.
func (s *operation) setSale(inv *invoice.Invoice) error {
	current, known := inv.Sale(s.claim.Coin)
	if !known || current.Claim != s.claim.Nonce {
		return errClaimLost
	}
	s.invoice, s.Sale = inv, current
	return nil
}

// change changes the sale with decide. It returns errClaimLost if the claim is lost, or if decide
// finds the sale in an unexpected state.
func (s *operation) change(ctx context.Context, decide func(*invoice.Invoice, *invoice.Sale) error) error {
	var from invoice.SaleState
	inv, err := s.invoices.UpdateSales(ctx, s.claim.InvoiceID, func(inv *invoice.Invoice) ([]invoice.EventType, error) {
		sale, known := inv.Sale(s.claim.Coin)
		if !known || sale.Claim != s.claim.Nonce {
			return nil, errClaimLost
		}
		from = sale.State
		if err := decide(inv, sale); err != nil {
			return nil, err
		}
		return stateEvents(from, sale.State), nil
	})
	if errors.Is(err, invoice.ErrState) {
		return errClaimLost
	}
	if err != nil {
		return err
	}
	if err := s.setSale(inv); err != nil {
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
		s.log.Log(ctx, level, "sale changed", "invoice", inv.ID, "coin", s.Coin, "from", from, "to", s.State, "reason", s.Reason,
			"sold", s.Sold().Sold.String(), "fault", fault)
	}
	return nil
}

// stateEvents returns the events of a change of state.
func stateEvents(from, to invoice.SaleState) []invoice.EventType {
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

// sell places an order for the unsold rest, or schedules the sale if the rest cannot be sold now.
func (s *operation) sell(ctx context.Context) error {
	if !s.invoice.Funds(s.Sale) {
		if s.invoice.State.Status != invoice.Paid {
			return errClaimLost // the sale becomes due when the invoice is paid again
		}
		return s.wait(ctx, invoice.ReasonReverted)
	}
	market, err := s.exchange.Market(ctx, s.Coin)
	if err != nil {
		return s.postpone(ctx, err)
	}
	amount, limit := market.RoundAmount(s.Remaining()), market.RoundLimit(s.Lowest)
	switch {
	case s.tooSmall(market, amount, limit):
		return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error { return sale.MarkFilled() })
	case len(s.Orders) >= maxOrders && s.Reason != "": // without a reason the operator has requested one more order
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
	// If the database was restored from a backup, the exchange may already have this order, made at
	// any time since the invoice was created.
	o := exchange.Order{ID: OrderID(s.invoice.ID, s.Coin, s.AcceptedOrders()+1), Coin: s.Coin, Amount: amount, Limit: limit, CreatedAt: earlier(s.CreatedAt, s.invoice.CreatedAt)}
	found, err := s.exchange.Find(ctx, s.account, o, "")
	if err != nil && !errors.Is(err, exchange.ErrNotFound) {
		return s.postpone(ctx, err)
	}
	exists := err == nil
	o.CreatedAt = s.now()
	var windowEnd time.Time
	o.Deadline, windowEnd = s.exchange.Window(o.CreatedAt)
	err = s.change(ctx, func(inv *invoice.Invoice, sale *invoice.Sale) error {
		if !inv.Funds(sale) {
			return errClaimLost
		}
		return sale.Begin(invoice.SaleOrder{
			Number: number, ID: o.ID, AccountID: s.claim.Account.ID, Exchange: s.exchange.Name(), Amount: amount, Limit: limit,
			Before: balance.Total, SentAt: o.CreatedAt, Deadline: o.Deadline, WindowEnd: windowEnd,
		})
	})
	if err != nil {
		return err
	}
	if exists {
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
	remaining := o.Deadline.Sub(s.now())
	if remaining <= 0 { // the write took too long, so that the order is not sent
		return s.recordRefusal(ctx, invoice.OrderAbsent, &exchange.RefusedError{Kind: exchange.KindBusy, Message: "not sent: the deadline had passed"})
	}
	bounded, cancel := context.WithTimeout(ctx, remaining)
	ref, err := s.exchange.Place(bounded, s.account, o)
	cancel()
	if refusal, ok := errors.AsType[*exchange.RefusedError](err); ok {
		return s.recordRefusal(ctx, invoice.OrderRefused, refusal)
	}
	if err != nil { // the order may have been accepted
		return s.recordLookup(ctx, err, false, s.OpenOrder().WindowEnd)
	}
	err = s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error {
		return sale.MarkPlaced(ref, s.now().Add(recheckDelay))
	})
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
	case o.Ref == "" && now.Before(o.WindowEnd):
		return s.recordLookup(ctx, errors.New(o.Fault), false, o.WindowEnd)
	}
	out, err := s.exchange.Find(ctx, s.account, exchange.Order{
		ID: o.ID, Coin: s.Coin, Amount: o.Amount, Limit: o.Limit, CreatedAt: o.SentAt, Deadline: o.Deadline,
	}, o.Ref)
	switch {
	case err == nil:
		return s.conclude(ctx, out)
	case errors.Is(err, exchange.ErrContradiction):
		return s.failUnresolved(ctx, invoice.ReasonContradiction, err)
	case errors.Is(err, exchange.ErrAmbiguous), now.Sub(o.SentAt) > maxWait:
		return s.failUnresolved(ctx, invoice.ReasonUncertain, err)
	case errors.Is(err, exchange.ErrNotFound) && o.Ref == "":
		return s.notFound(ctx, err)
	case errors.Is(err, exchange.ErrNotFound) && now.Sub(o.WindowEnd) > maxOpenTime:
		return s.failUnresolved(ctx, invoice.ReasonUncertain, err)
	}
	return s.recordLookup(ctx, err, false, now.Add(searchDelay))
}

// notFound handles an order that is not found although it can no longer be executed.
func (s *operation) notFound(ctx context.Context, absent error) error {
	o := s.OpenOrder()
	balance, err := s.exchange.Balance(ctx, s.account, s.Coin)
	switch {
	case err != nil:
		return s.recordLookup(ctx, err, false, s.now().Add(searchDelay))
	case balance.Total.Cmp(o.Before) < 0:
		return s.failUnresolved(ctx, invoice.ReasonUncertain, fmt.Errorf("%w, but the account holds %s %s, and held %s before", absent, balance.Total, s.Coin, o.Before))
	case o.Lookups+1 < requiredSearches:
		return s.recordLookup(ctx, absent, true, s.now().Add(searchDelay))
	}
	return s.recordRefusal(ctx, invoice.OrderAbsent, &exchange.RefusedError{Kind: exchange.KindBusy, Message: "the exchange never had the order"})
}

// conclude records the state of the open order at the exchange.
func (s *operation) conclude(ctx context.Context, out exchange.Outcome) error {
	now := s.now()
	if out.Open {
		if now.Sub(s.OpenOrder().WindowEnd) > maxOpenTime {
			return s.failUnresolved(ctx, invoice.ReasonUncertain, errors.New("the exchange reports the order as still open"))
		}
		return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error {
			return sale.MarkPlaced(out.Ref, now.Add(recheckDelay))
		})
	}
	err := s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error {
		if err := sale.MarkDone(out.Ref, invoice.Proceeds{Sold: out.Sold, Euro: out.Euro, Fee: out.Fee}, now); err != nil {
			return err
		}
		if sale.Remaining().IsZero() {
			return sale.MarkFilled()
		}
		reason := invoice.ReasonPartial
		if out.Sold.IsZero() {
			reason = invoice.ReasonPrice
		}
		return s.schedule(sale, reason)
	})
	if errors.Is(err, invoice.ErrOversold) {
		return s.failUnresolved(ctx, invoice.ReasonContradiction, err)
	}
	return err
}

// recordRefusal ends an order that was not accepted.
func (s *operation) recordRefusal(ctx context.Context, state invoice.OrderState, e *exchange.RefusedError) error {
	return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error {
		if err := sale.MarkRefused(state, e.Message); err != nil {
			return err
		}
		return s.afterRefusal(sale, e)
	})
}

// afterRefusal sets the state of the sale after a refusal.
func (s *operation) afterRefusal(sale *invoice.Sale, e *exchange.RefusedError) error {
	switch e.Kind {
	case exchange.KindFunds:
		return s.schedule(sale, invoice.ReasonLowBalance)
	case exchange.KindMinimum:
		return sale.MarkFilled()
	case exchange.KindPrice:
		return s.schedule(sale, invoice.ReasonPrice)
	case exchange.KindBusy:
		return s.schedule(sale, invoice.ReasonRateLimit)
	case exchange.KindMaintenance:
		return s.schedule(sale, invoice.ReasonMaintenance)
	case exchange.KindNonce:
		return s.schedule(sale, invoice.ReasonNonce)
	case exchange.KindKey:
		sale.Fail(invoice.ReasonKey)
		return nil
	}
	sale.Fail(invoice.ReasonRefused)
	return nil
}

// postpone handles an error of the exchange while no order has an unknown outcome. After most
// errors the sale waits.
func (s *operation) postpone(ctx context.Context, err error) error {
	if refusal, ok := errors.AsType[*exchange.RefusedError](err); ok {
		s.log.Warn("exchange refused call", "exchange", s.exchange.Name(), "answer", refusal.Message)
		return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error { return s.afterRefusal(sale, refusal) })
	}
	switch {
	case errors.Is(err, exchange.ErrNoMarket):
		return s.fail(ctx, invoice.ReasonRefused)
	case errors.Is(err, exchange.ErrContradiction):
		return s.fail(ctx, invoice.ReasonContradiction)
	case errors.Is(err, exchange.ErrAmbiguous):
		return s.wait(ctx, invoice.ReasonUncertain) // this sale has no order with an unknown outcome
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err() // the program is stopping
	}
	s.log.Warn("exchange does not answer", "exchange", s.exchange.Name(), "error", err)
	return s.wait(context.WithoutCancel(ctx), invoice.ReasonUnreachable)
}

// wait schedules the next attempt of the sale.
func (s *operation) wait(ctx context.Context, reason invoice.SaleReason) error {
	return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error { return s.schedule(sale, reason) })
}

// schedule sets the sale to waiting or, after maxWait, to failed, so that the operator must decide.
func (s *operation) schedule(sale *invoice.Sale, reason invoice.SaleReason) error {
	now := s.now()
	if now.Sub(sale.Since) > maxWait {
		sale.Fail(reason)
		return nil
	}
	return sale.Wait(reason, now.Add(pause(sale.Retries)))
}

// pause returns the time until the next attempt, which grows with the number of attempts.
func pause(retries int) time.Duration {
	return min(minPause<<min(retries, 10), maxPause) // the limit of 10 prevents an overflow
}

// fail sets the sale to failed, so that the operator must decide.
func (s *operation) fail(ctx context.Context, reason invoice.SaleReason) error {
	return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error {
		sale.Fail(reason)
		return nil
	})
}

// failUnresolved sets a sale whose order has an unknown outcome to failed, so that the operator must
// decide.
func (s *operation) failUnresolved(ctx context.Context, reason invoice.SaleReason, cause error) error {
	return s.change(ctx, func(_ *invoice.Invoice, sale *invoice.Sale) error {
		if err := sale.RecordLookup(shortError(cause), false, time.Time{}); err != nil {
			return err
		}
		sale.Fail(reason)
		return nil
	})
}

// recordLookup records that the outcome of the open order is still unknown. It ignores the deadline of
// ctx, because the record must not be lost.
func (s *operation) recordLookup(ctx context.Context, cause error, missed bool, next time.Time) error {
	return s.change(context.WithoutCancel(ctx), func(_ *invoice.Invoice, sale *invoice.Sale) error {
		return sale.RecordLookup(shortError(cause), missed, next)
	})
}

// maxStoredError bounds the length of a stored error, in bytes.
const maxStoredError = 300

// shortError returns the beginning of an error, for storage.
func shortError(err error) string {
	text := err.Error()
	if len(text) > maxStoredError {
		text = strings.ToValidUTF8(text[:maxStoredError], "")
	}
	return text
}

// OrderID returns the name of an order of a sale, which depends only on the arguments. The name of an
// order that was not accepted is used again for the next order, so that the accepted orders have
// consecutive numbers: after the restore of a backup, a later order is found under the next number.
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
