package invoice

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Method is one way to pay: an asset and its destination.
type Method struct {
	Asset chain.Asset
	// Destination is zero if the asset is Requested; see Quote.Requests.
	Destination chain.Destination
	Index       uint32 // of the destination under its wallet's key
	// Birth is the network's tip when the invoice was made: money at or below it is older than the
	// invoice and never counts. Zero if no tip was known.
	Birth chain.Cursor
	// Forked is true if the birth block left the chain and Birth is a block below the fork, so that
	// the times of the blocks above must be checked, too.
	Forked bool
	// Watched is false if the network was not watched at creation.
	Watched bool
}

// OtherNetwork is a network that the invoice does not offer, but where the merchant owns the same
// destination, as on all EVM networks. Money that is sent there by mistake is detected. The expiry
// of the invoice does not depend on such a network.
type OtherNetwork struct {
	Network chain.ID
	Script  string
	Index   uint32
}

// Quote is one frozen set of prices for the amount that was due when it was made.
type Quote struct {
	Number int
	From   time.Time
	Until  time.Time
	Due    money.Amount // fiat
	Prices []Price
	// Requests are the payment requests that were made under the quote, oldest first.
	Requests []PaymentRequest
	Source   string // source of the rates
	// Evidence is the name of the evidence of the rates, see Service.Evidence; "" for fixed rates.
	Evidence string
}

// Price is the price of one method under a quote.
type Price struct {
	Asset    string
	Expected money.Amount
	EUR      money.Rate
	USD      money.Rate
	Other    money.Rate // in the invoice's currency; zero if that is euro or dollar
}

// Rate returns the rate in fiat, which is euro, dollar or the invoice's currency.
func (p Price) Rate(fiat money.Currency) money.Rate {
	switch fiat {
	case money.EUR:
		return p.EUR
	case money.USD:
		return p.USD
	}
	return p.Other
}

// Price returns the price of an asset.
func (q Quote) Price(asset string) (Price, bool) {
	for _, p := range q.Prices {
		if p.Asset == asset {
			return p, true
		}
	}
	return Price{}, false
}

// Remaining returns the amount still to be sent by a method: the share of its expected amount that is not
// counted yet, rounded up like the amount itself, and at least the network's dust limit. It is zero
// if nothing is due.
func (inv *Invoice) Remaining(m Method) money.Amount {
	return inv.remaining(m, inv.ledger())
}

// shownDecimals is the largest number of decimals of an offered amount.
const shownDecimals = 8

// remaining is Remaining with a ledger that is computed already.
func (inv *Invoice) remaining(m Method, l ledger) money.Amount {
	price, offered := inv.Quote().Price(m.Asset.Code)
	if !offered || inv.State.Due.IsZero() {
		return money.Zero(m.Asset.Currency)
	}
	due := new(big.Rat).Sub(minor(inv.Terms.Price), l.sum(false))
	rest := price.Expected.Scale(due.Quo(due, minor(inv.Quote().Due)), shownDecimals)
	if rest.Cmp(m.Asset.Dust) < 0 {
		return m.Asset.Dust
	}
	return rest
}

// maxPredicted is the largest number of outstanding predictions for a counter.
const maxPredicted = 64

// indexPredictor predicts, for each counter, the index that the next creation will get. The zero value is
// ready to use.
type indexPredictor struct {
	mu   sync.Mutex
	next map[string]uint32
}

// predict returns the predicted index of the next creation.
func (p *indexPredictor) predict(counter string) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[string]uint32{}
	}
	index := p.next[counter]
	p.next[counter] = index + 1
	return index
}

// correct corrects the prediction with an index that was allocated.
func (p *indexPredictor) correct(counter string, index uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := p.next[counter]; next <= index || next > index+maxPredicted {
		p.next[counter] = index + 1
	}
}

// prederive derives the destinations that a creation will probably need, before the transaction that
// allocates their indexes. Networks cache destinations, so the transaction, which blocks other
// writers, does not derive them. A wrong prediction costs only the time of the derivation.
func (s *Service) prederive(methods []pricedMethod) {
	predicted := map[string]uint32{}
	done := map[string]bool{}
	for _, m := range methods {
		if m.asset.Requested() {
			continue
		}
		index, known := predicted[m.wallet.Counter]
		if !known {
			index = s.predictor.predict(m.wallet.Counter)
			predicted[m.wallet.Counter] = index
		}
		if key := string(m.network.ID()) + m.wallet.Counter; !done[key] {
			done[key] = true
			_, _ = m.network.NewDestination(chain.Request{Asset: m.asset, Key: m.wallet.Key, Index: index})
		}
	}
}

// Decider is the actor that decides about an invoice.
type Decider string

const (
	// Shopper is the actor that has the address of the invoice's page.
	Shopper Decider = "shopper"
	// Merchant is the merchant that made the invoice.
	Merchant Decider = "merchant"
)

// maxQuotes bounds the size of an invoice.
const maxQuotes = 100

// Requote adds a quote for the amount still due. seen is the number of the newest quote that the
// caller has seen: if there is a newer one, Requote changes nothing. If seen is 0, Requote always
// adds a quote. It leaves out methods that cannot carry the remainder, have no rate now, or whose
// network is not reached.
// The errors are ErrNotFound, ErrState, ErrTooLittle, ErrTooMuch, ErrUnwatched, ErrUnreached and *NoRateError.
func (s *Service) Requote(ctx context.Context, id string, actor Decider, seen int) (*Invoice, error) {
	progress, err := s.storage.Progress(ctx)
	if err != nil {
		return nil, fmt.Errorf("requote: %w", err)
	}
	rates := s.rates()
	inv, err := s.updateWithProgress(ctx, id, Lease{}, progress, func(inv *Invoice) error {
		if seen > 0 && seen < len(inv.Quotes) {
			return nil
		}
		s.coverAll(inv, progress)
		if !inv.MayRequote(actor, s.now()) {
			return ErrState
		}
		return s.requote(inv, rates, progress)
	})
	if err != nil {
		return nil, err
	}
	return s.awaitRequests(ctx, inv)
}

// MayRequote reports whether an actor may ask for a new quote, at a time on the real clock. Both actors
// may ask until the invoice is expired. Later the merchant may ask within WatchPeriod of the first
// expiry, and the shopper within RequoteWindow of it if the terms allow late payments. MayRequote returns
// false while the payments cover the price, while a late transfer waits for the merchant's decision, or if a part
// of the price was refunded.
func (inv *Invoice) MayRequote(actor Decider, now time.Time) bool {
	l := inv.ledger()
	return inv.mayRequote(inv.evaluate(l), l.late, actor, now)
}

// mayRequote is MayRequote for a state that is computed already. late is true if a late transfer waits
// for the merchant's decision.
func (inv *Invoice) mayRequote(state State, late bool, actor Decider, now time.Time) bool {
	if state.Status == Declined || state.Due.IsZero() || late || len(inv.Quotes) >= maxQuotes {
		return false
	}
	if len(inv.Refunds) > 0 && inv.refundsPrice(inv.ledger(), state) {
		return false
	}
	since := now.Add(inv.Clock).Sub(inv.firstExpiry())
	switch {
	case state.Status != Expired:
		return true
	case actor == Merchant:
		return since <= WatchPeriod
	}
	return inv.Terms.AllowPaidExpired && since <= inv.Terms.Rules.RequoteWindow
}

// firstExpiry returns the first time at which no quote was valid.
func (inv *Invoice) firstExpiry() time.Time {
	for i, q := range inv.Quotes[:len(inv.Quotes)-1] {
		if inv.Quotes[i+1].From.After(q.Until) {
			return q.Until
		}
	}
	return inv.ExpiresAt()
}

// requote adds a quote for the amount due, with the duration of the first quote.
func (s *Service) requote(inv *Invoice, rates Rates, progress map[chain.ID]Progress) error {
	due, from := inv.Evaluate().Due, s.now().Add(inv.Clock)
	prices, err := s.currentPrices(inv, due, rates, progress)
	if err != nil {
		return err
	}
	duration := inv.Quotes[0].Until.Sub(inv.Quotes[0].From)
	inv.Evidence = rates.Evidence(due.Currency(), inv.rateCodes(prices)...)
	inv.Quotes = append(inv.Quotes, Quote{
		Number: len(inv.Quotes) + 1, From: from, Until: from.Add(duration), Due: due, Prices: prices,
		Source: rates.Source(), Evidence: evidenceName(inv.Evidence),
	})
	return nil
}

// currentPrices returns the price of the amount due for every method that is still offered and carries
// the amount.
func (s *Service) currentPrices(inv *Invoice, due money.Amount, rates Rates, progress map[chain.ID]Progress) ([]Price, error) {
	var prices []Price
	var watched, reached, rated, tooLittle bool
	for _, m := range inv.Methods {
		if _, offered := s.Asset(m.Asset.Network, m.Asset.Code); !offered || !s.isScanned(m.Asset.Network) && !s.unwatched {
			continue
		}
		watched = true
		if !s.Reached(m.Asset.Network, progress) {
			continue
		}
		reached = true
		price, err := priceOf(m.Asset, due, rates)
		if err != nil {
			continue
		}
		rated = true
		switch {
		case isPayable(m.Asset, inv.Terms.Lightning, price.Expected):
			prices = append(prices, price)
		case !isTooLarge(m.Asset, inv.Terms.Lightning, price.Expected):
			tooLittle = true
		}
	}
	switch {
	case len(prices) > 0:
		return prices, nil
	case !watched:
		return nil, ErrUnwatched
	case !reached:
		return nil, ErrUnreached
	case !rated:
		return nil, &NoRateError{Fiat: due.Currency()}
	case !tooLittle:
		return nil, ErrTooMuch
	}
	return nil, ErrTooLittle
}

// rateCodes returns the rate codes of the methods that have a price, each once.
func (inv *Invoice) rateCodes(prices []Price) []string {
	var list []string
	for _, m := range inv.Methods {
		priced := slices.ContainsFunc(prices, func(p Price) bool { return p.Asset == m.Asset.Code })
		if priced && !slices.Contains(list, m.Asset.Rate) {
			list = append(list, m.Asset.Rate)
		}
	}
	return list
}

// rounding returns the largest overpayment that can result from rounding alone: largest, which is the
// largest value of the last shown decimal of a method, and one cent if a new quote rounded up the amount
// due.
func (inv *Invoice) rounding(largest *big.Rat) *big.Rat {
	if len(inv.Quotes) == 1 {
		return largest
	}
	return new(big.Rat).Add(largest, big.NewRat(1, 1))
}
