package invoice

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Person is who decides something about an invoice.
type Person string

const (
	// Shopper is who has the address of the invoice's page.
	Shopper Person = "shopper"
	// Seller is the merchant whose invoice it is.
	Seller Person = "merchant"
)

// maxQuotes bounds what an invoice can grow to.
const maxQuotes = 100

// Requote holds a new price for what is still due. Seen is the number of the
// newest quote that who asks has seen: when there is a newer one, nothing is done
// again; 0 asks whatever there is. Methods that cannot carry the rest, have no rate
// now, or whose network is not reached, are left out. The errors are ErrNotFound,
// ErrState, ErrTooLittle, ErrUnwatched, ErrUnreached and *NoRateError.
func (s *Service) Requote(ctx context.Context, id string, by Person, seen int) (*Invoice, error) {
	progress, err := s.storage.Progress(ctx)
	if err != nil {
		return nil, fmt.Errorf("requote: %w", err)
	}
	rates := s.rates()
	return s.updateAt(ctx, id, Lease{}, progress, func(inv *Invoice) error {
		if seen > 0 && seen < len(inv.Quotes) {
			return nil
		}
		s.coverAll(inv, progress)
		if !inv.MayRequote(by, s.now()) {
			return ErrState
		}
		return s.requote(inv, rates, progress)
	})
}

// MayRequote tells whether a person may ask for a new price, at a time on
// everybody's clock: the shopper until the invoice is expired, and for a while
// after where late money is allowed, the merchant for longer. Nobody may while
// what counts covers the price, or while a late transfer waits for a person.
func (inv *Invoice) MayRequote(by Person, now time.Time) bool {
	l := inv.ledger()
	return inv.mayRequote(inv.judge(l), l.late, by, now)
}

// mayRequote is MayRequote by how the invoice stands, and whether late money waits.
func (inv *Invoice) mayRequote(stands Standing, late bool, by Person, now time.Time) bool {
	if stands.Status == Declined || stands.Due.IsZero() || late || len(inv.Quotes) >= maxQuotes {
		return false
	}
	since := now.Add(inv.Clock).Sub(inv.firstEnd())
	switch {
	case stands.Status != Expired:
		return true
	case by == Seller:
		return since <= Watch
	}
	return inv.Terms.AllowPaidExpired && since <= inv.Terms.Rules.RequoteWindow
}

// firstEnd is when the price was held no more for the first time: a quote that
// begins while another one holds only moves the end.
func (inv *Invoice) firstEnd() time.Time {
	for i, q := range inv.Quotes[:len(inv.Quotes)-1] {
		if inv.Quotes[i+1].From.After(q.Until) {
			return q.Until
		}
	}
	return inv.ExpiresAt()
}

// requote adds a quote for what is due, held as long as the first one was.
func (s *Service) requote(inv *Invoice, rates Rates, progress map[chain.ID]Progress) error {
	due, from := inv.Judge().Due, s.now().Add(inv.Clock)
	prices, err := s.reprice(inv, due, rates, progress)
	if err != nil {
		return err
	}
	hold := inv.Quotes[0].Until.Sub(inv.Quotes[0].From)
	inv.Evidence = rates.Evidence(due.Currency(), inv.rateCodes(prices)...)
	inv.Quotes = append(inv.Quotes, Quote{
		Number: len(inv.Quotes) + 1, From: from, Until: from.Add(hold), Due: due, Prices: prices,
		Source: rates.Source(), Evidence: evidenceName(inv.Evidence),
	})
	return nil
}

// reprice returns the price of what is due by every method that is still offered and
// carries it.
func (s *Service) reprice(inv *Invoice, due money.Amount, rates Rates, progress map[chain.ID]Progress) ([]Price, error) {
	var prices []Price
	var watched, reached, rated bool
	for _, m := range inv.Methods {
		if _, offered := s.Asset(m.Asset.Network, m.Asset.Code); !offered || !s.scanned[m.Asset.Network] && !s.unwatched {
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
		if carries(m.Asset, price.Expected) {
			prices = append(prices, price)
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
	}
	return nil, ErrTooLittle
}

// rateCodes name what the rates of some prices rest on, each once.
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

// rounding is how much of an overpayment is only the rounding of rests: the last
// shown decimal of the largest method, and the cent up to which a new quote
// rounded what was due.
func (inv *Invoice) rounding(largest *big.Rat) *big.Rat {
	if len(inv.Quotes) == 1 {
		return largest
	}
	return new(big.Rat).Add(largest, big.NewRat(1, 1))
}
