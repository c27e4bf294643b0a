package invoice

import (
	"errors"
	"math/big"
	"slices"
	"time"

	"chequer/internal/money"
)

// Sale is the sale for euro of one of the coins that paid an invoice, on the merchant's own exchange
// account. The sales of an invoice are created, with frozen amounts, when the invoice becomes paid
// for the first time.
type Sale struct {
	Coin   string       // code used by rates and exchanges, such as "BTC"
	Amount money.Amount // largest amount to sell: the part of the payments that covers the price
	Rate   money.Rate   // euro per coin, from the invoice's quotes
	Lowest money.Amount // lowest price, in euro per coin, at which the coin is sold
	// Smallest is the least euro value of an order.
	Smallest money.Amount

	State  SaleState
	Reason SaleReason
	// CreatedAt is when the invoice became paid. Since is when the sale began to wait, or when the
	// last part was sold.
	CreatedAt, Since time.Time
	// NextAt is when the next step is due; zero when no step is due, or when the merchant must
	// decide.
	NextAt  time.Time
	Retries int   // consecutive waits since an order last sold something
	Claim   int64 // identifies the process that may change the sale now; see package sale
	Orders  []SaleOrder
}

// SaleState is the state of a sale.
type SaleState string

// The states of a sale.
const (
	// SaleWaiting means that the next order is due at NextAt.
	SaleWaiting SaleState = "waiting"
	// SaleSending means that the outcome of an order is not known yet. No other order is sent until it
	// is known.
	SaleSending SaleState = "sending"
	// SaleFilled means that everything was sold, except a remainder too small to sell.
	SaleFilled SaleState = "filled"
	// SaleFailed means that the merchant must decide.
	SaleFailed SaleState = "failed"
	// SaleSettled means that the merchant ended the sale.
	SaleSettled SaleState = "settled"
	// SaleSkipped means that the amount was too small to sell.
	SaleSkipped SaleState = "skipped"
)

// SaleStates lists all sale states.
var SaleStates = []SaleState{
	SaleWaiting, SaleSending, SaleFilled, SaleFailed, SaleSettled, SaleSkipped,
}

// SaleReason is the reason why a sale waits, failed or was skipped; "" when there is none.
type SaleReason string

// The reasons of sales.
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
	// ReasonReverted: the coins of the sale no longer pay the invoice.
	ReasonReverted SaleReason = "reverted"
	// ReasonExhausted: the sale reached its limit of automatic orders, and the merchant must check.
	ReasonExhausted SaleReason = "exhausted"
)

// SaleReasons lists all sale reasons.
var SaleReasons = []SaleReason{
	ReasonLowBalance, ReasonPrice, ReasonPartial, ReasonTooSmall, ReasonMaintenance, ReasonRateLimit, ReasonUnreachable, ReasonNonce,
	ReasonKey, ReasonRefused, ReasonUncertain, ReasonContradiction, ReasonNoAccount, ReasonReverted, ReasonExhausted,
}

// SaleOrder is one order to an exchange. It is stored before it is sent.
type SaleOrder struct {
	Number    int    // from 1
	ID        string // the order ID that this program sends, derived from the invoice, the coin and AcceptedOrders
	AccountID string
	Exchange  string
	Amount    money.Amount // of the coin
	Limit     money.Amount // euro per coin
	Before    money.Amount // the account's balance of the coin before the order, including reserved coins
	SentAt    time.Time
	// Deadline is when the wait for an answer ends. WindowEnd is when the exchange can no longer execute
	// the order, even if its clock is wrong.
	Deadline, WindowEnd time.Time

	State   OrderState
	Ref     string // the exchange's own order ID; "" until it is known
	Fault   string // the last error or a remark about the outcome, as text for the merchant
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
	// OrderAbsent means that the exchange never accepted the order: it is not found, and can no longer
	// arrive.
	OrderAbsent OrderState = "absent"
)

// Open reports whether the order may still sell something.
func (o SaleOrder) Open() bool { return o.State == OrderSending || o.State == OrderPlaced }

// Proceeds is the result of an order, or of a manual sale by the merchant.
type Proceeds struct {
	Sold money.Amount // of the coin
	Euro money.Amount // proceeds in euro before the fee
	Fee  money.Amount // euro
}

// ErrOversold means that an amount is zero, or larger than its order or the remainder of the sale. The sale is
// unchanged.
var ErrOversold = errors.New("the amount is zero, or more than the remainder of the sale")

// SaleEuro is euro in the precision of exchanges, finer than a cent.
var SaleEuro = money.Currency{Code: "EUR", Decimals: 18}

// SaleCoin returns a coin in the precision of exchanges, which does not depend on its network.
func SaleCoin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// SaleTerms are the merchant's frozen settings for selling received coins. Without coins nothing
// is sold.
type SaleTerms struct {
	Coins    []string     // coins to sell; never EURC
	Smallest money.Amount // least euro value of an order
	Slippage int64        // hundredths of a percent below the invoice's rate
}

// euroToken is a token that is worth a euro, and is never sold.
const euroToken = "EURC"

// Sellable reports whether a coin, given by the code of its rate, can be sold for euro.
func Sellable(coin string) bool { return coin != euroToken && coin != money.EUR.Code }

// Sale returns the sale of a coin. It returns false if there is none.
func (inv *Invoice) Sale(coin string) (*Sale, bool) {
	i := slices.IndexFunc(inv.Sales, func(s Sale) bool { return s.Coin == coin })
	if i < 0 {
		return nil, false
	}
	return &inv.Sales[i], true
}

// Sold returns the total that is known to be sold.
func (s *Sale) Sold() Proceeds {
	proceeds := Proceeds{Sold: money.Zero(s.Amount.Currency()), Euro: money.Zero(SaleEuro), Fee: money.Zero(SaleEuro)}
	for _, o := range s.Orders {
		proceeds.Sold, proceeds.Euro, proceeds.Fee = proceeds.Sold.Add(o.Sold), proceeds.Euro.Add(o.Euro), proceeds.Fee.Add(o.Fee)
	}
	return proceeds
}

// Remaining returns the amount that may still be sold: Amount minus the amount already sold and the amount
// of an order with an unknown outcome.
func (s *Sale) Remaining() money.Amount {
	rest := s.Amount.Sub(s.Sold().Sold)
	if o := s.OpenOrder(); o != nil {
		rest = rest.Sub(o.Amount)
	}
	return rest
}

// OpenOrder returns the order that may still sell something; nil if there is none.
func (s *Sale) OpenOrder() *SaleOrder {
	if n := len(s.Orders); n > 0 && s.Orders[n-1].Open() {
		return &s.Orders[n-1]
	}
	return nil
}

// AcceptedOrders returns the number of finished orders that an exchange accepted.
func (s *Sale) AcceptedOrders() int {
	n := 0
	for _, o := range s.Orders {
		if o.State == OrderDone && o.AccountID != "" { // without an account the merchant reported the sale
			n++
		}
	}
	return n
}

// Average returns the average price of a coin in euro, before fees. It is "" if nothing is sold, and "0" if the price
// is too small for a rate.
func (s *Sale) Average() string {
	sold := s.Sold()
	if sold.Sold.IsZero() {
		return ""
	}
	rate, err := money.ParseRate(new(big.Rat).Quo(sold.Euro.Rat(), sold.Sold.Rat()).FloatString(18), s.Amount.Currency(), money.EUR)
	if err != nil {
		return "0"
	}
	return rate.Price()
}

// Begin stores an order that is about to be sent. It returns ErrState if the sale does not wait or the number of the
// order is not the next one, and ErrOversold if the amount is zero or more than Remaining.
func (s *Sale) Begin(o SaleOrder) error {
	if s.State != SaleWaiting || s.OpenOrder() != nil || o.Number != len(s.Orders)+1 {
		return ErrState
	}
	if o.Amount.IsZero() || o.Amount.Cmp(s.Remaining()) > 0 {
		return ErrOversold
	}
	o.State, o.Sold, o.Euro, o.Fee = OrderSending, money.Zero(s.Amount.Currency()), money.Zero(SaleEuro), money.Zero(SaleEuro)
	s.Orders = append(s.Orders, o)
	// The caller that began the order determines its outcome. If it fails to, other processes wait
	// until the order can no longer be executed.
	s.State, s.Reason, s.NextAt = SaleSending, "", o.WindowEnd
	return nil
}

// MarkPlaced stores the exchange's own ID of the open order.
func (s *Sale) MarkPlaced(ref string, next time.Time) error {
	o := s.OpenOrder()
	if o == nil {
		return ErrState
	}
	o.State, o.Ref, o.Fault = OrderPlaced, ref, ""
	s.NextAt = next
	return nil
}

// RecordLookup records that the outcome of the open order is not known yet, and when to look it up
// again. missed is true if the exchange did not find the order.
func (s *Sale) RecordLookup(fault string, missed bool, next time.Time) error {
	o := s.OpenOrder()
	if o == nil {
		return ErrState
	}
	o.Fault = fault
	if missed {
		o.Lookups++
	}
	s.NextAt = next
	return nil
}

// MarkDone ends the open order with the amount that it sold. It returns ErrOversold if that is more
// than the amount of the order.
func (s *Sale) MarkDone(ref string, p Proceeds, now time.Time) error {
	o := s.OpenOrder()
	if o == nil {
		return ErrState
	}
	if p.Sold.Cmp(o.Amount) > 0 {
		return ErrOversold
	}
	o.State, o.Ref, o.Fault = OrderDone, ref, ""
	o.Sold, o.Euro, o.Fee = p.Sold, p.Euro, p.Fee
	if !p.Sold.IsZero() {
		s.Since, s.Retries = now, 0
	}
	return nil
}

// MarkRefused ends the open order, which the exchange never accepted. state is OrderRefused or
// OrderAbsent.
func (s *Sale) MarkRefused(state OrderState, fault string) error {
	o := s.OpenOrder()
	if o == nil || state != OrderRefused && state != OrderAbsent {
		return ErrState
	}
	o.State, o.Fault = state, fault
	return nil
}

// Wait schedules the sale of the remainder. It returns ErrState while an order is open.
func (s *Sale) Wait(reason SaleReason, next time.Time) error {
	if s.OpenOrder() != nil {
		return ErrState
	}
	s.State, s.Reason, s.NextAt = SaleWaiting, reason, next
	s.Retries++
	return nil
}

// MarkFilled ends a sale whose remainder is too small to sell. The state is then SaleFilled, or SaleSkipped if nothing
// was sold. It returns ErrState while an order is open.
func (s *Sale) MarkFilled() error {
	if s.OpenOrder() != nil {
		return ErrState
	}
	s.State, s.Reason, s.NextAt = SaleFilled, "", time.Time{}
	if s.Sold().Sold.IsZero() {
		s.State, s.Reason = SaleSkipped, ReasonTooSmall
	}
	return nil
}

// Fail ends the automatic sale: the merchant must decide.
func (s *Sale) Fail(reason SaleReason) {
	s.State, s.Reason, s.NextAt = SaleFailed, reason, time.Time{}
}

// Retry lets a sale that failed, was skipped or waits continue now. If the outcome of an order is not
// known, Retry returns ErrUnknownOrder unless absent is true. absent means that the merchant checked
// that the exchange never had the order.
func (s *Sale) Retry(absent bool, now time.Time) error {
	if s.State != SaleFailed && s.State != SaleSkipped && s.State != SaleWaiting {
		return ErrState
	}
	if s.OpenOrder() != nil {
		if !absent {
			return ErrUnknownOrder
		}
		if err := s.MarkRefused(OrderAbsent, "the merchant reported that the exchange never had the order"); err != nil {
			return err
		}
	}
	s.State, s.Reason, s.Since, s.NextAt, s.Retries = SaleWaiting, "", now, now, 0
	return nil
}

// Settle ends a sale that failed, waits or was skipped with the result that the merchant reports: that
// of the open order or, without one, of a manual sale. It returns ErrState for other states, and ErrOversold if the
// amount is more than the order or the remainder of the sale.
func (s *Sale) Settle(p Proceeds, now time.Time) error {
	if s.State != SaleFailed && s.State != SaleSkipped && s.State != SaleWaiting {
		return ErrState
	}
	if s.OpenOrder() != nil {
		if err := s.MarkDone(s.OpenOrder().Ref, p, now); err != nil {
			return err
		}
		s.Orders[len(s.Orders)-1].Fault = "reported by the merchant"
	} else if !p.Sold.IsZero() {
		if p.Sold.Cmp(s.Remaining()) > 0 {
			return ErrOversold
		}
		s.Orders = append(s.Orders, SaleOrder{
			Number: len(s.Orders) + 1, Amount: p.Sold, Limit: s.Lowest, Before: money.Zero(s.Amount.Currency()), SentAt: now, Deadline: now, WindowEnd: now,
			State: OrderDone, Fault: "reported by the merchant", Sold: p.Sold, Euro: p.Euro, Fee: p.Fee,
		})
	}
	s.State, s.Reason, s.NextAt = SaleSettled, "", time.Time{}
	return nil
}
