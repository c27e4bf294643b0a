package rates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/money"
)

// Source is one place where prices come from. It is safe for concurrent use.
type Source interface {
	// Name is the source's word in evidence, reports and logs.
	Name() string
	// Fetch asks for every pair the source knows. It returns what could be
	// understood, also beside an error, which names the rest.
	Fetch(ctx context.Context) ([]Ticker, error)
}

// Ticker is what a source says of a pair at a moment.
type Ticker struct {
	Pair           string // "BTC-EUR": one of the first in the second
	Bid, Ask, Last decimal.Decimal
	// Time is the source's own: of the last trade or of the table. Zero when it
	// does not tell.
	Time time.Time
}

// listing is a pair and a source's own name for it.
type listing struct{ pair, symbol string }

// newTicker reads the three prices of a ticker. The error is money.ErrSyntax or
// money.ErrRate for a price that is none, or ErrAbsurd when bid, ask and last do
// not belong together: a crossed or an empty book, a slipped decimal point.
// The time may be zero.
func newTicker(pair string, bid, ask, last json.Number, at time.Time) (Ticker, error) {
	t := Ticker{Pair: pair, Time: at}
	for _, p := range []struct {
		name string
		text json.Number
		into *decimal.Decimal
	}{{"bid", bid, &t.Bid}, {"ask", ask, &t.Ask}, {"last", last, &t.Last}} {
		price, err := parsePrice(pair, p.text.String())
		if err != nil {
			return Ticker{}, fmt.Errorf("%s: %w", p.name, err)
		}
		*p.into = price
	}
	if year := at.UTC().Year(); year < 0 || year > 9999 { // what JSON can say
		return Ticker{}, fmt.Errorf("%w: year %d", ErrAbsurd, year)
	}
	if t.Bid.GreaterThan(t.Ask) || !within(t.Ask, t.Bid, guardBand) || !within(t.Last, t.Bid, guardBand) {
		return Ticker{}, fmt.Errorf("%w: bid %s, ask %s, last %s", ErrAbsurd, t.Bid, t.Ask, t.Last)
	}
	return t, nil
}

// parsePrice reads plain digits, at a rate's eight significant digits.
func parsePrice(pair, text string) (decimal.Decimal, error) {
	coin, fiat, _ := strings.Cut(pair, "-")
	rate, err := money.ParseRate(text, money.Currency{Code: coin}, money.Currency{Code: fiat})
	if err != nil {
		return decimal.Decimal{}, fmt.Errorf("%.40q is %w", text, err)
	}
	return decimal.NewFromString(rate.Price())
}

// eachListing asks for one pair after the other. One pair that fails does not
// keep the next from being asked, a source that does not answer does.
func eachListing(listings []listing, ask func(listing) (Ticker, error)) ([]Ticker, error) {
	var heard []Ticker
	var faults []error
	for _, l := range listings {
		ticker, err := ask(l)
		if err == nil {
			heard = append(heard, ticker)
			continue
		}
		faults = append(faults, fmt.Errorf("%s: %w", l.pair, err))
		if errors.Is(err, errNoAnswer) {
			break
		}
	}
	return heard, errors.Join(faults...)
}
