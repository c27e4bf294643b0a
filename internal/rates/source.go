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

// Source is a source of prices. It is safe for concurrent use.
type Source interface {
	// Name returns the source's name in evidence, reports and logs.
	Name() string
	// Fetch requests every pair that the source has. If some pairs fail, it returns the tickers of
	// the others and an error that names the failed pairs.
	Fetch(ctx context.Context) ([]Ticker, error)
}

// CoinSource is a Source that quotes only one coin. Rates of other coins do not need it.
type CoinSource interface {
	Source
	// Coin returns the code of the coin.
	Coin() string
}

// coinOf returns the only coin that a source quotes; "" for other sources.
func coinOf(s Source) string {
	if s, ok := s.(CoinSource); ok {
		return s.Coin()
	}
	return ""
}

// Ticker is a source's quotation for a pair.
type Ticker struct {
	Pair           string // "BTC-EUR": the price of a BTC in EUR
	Bid, Ask, Last decimal.Decimal
	// Time is the time according to the source: of the last trade or of the table. It is zero if
	// the source sends none.
	Time time.Time
}

// listing is a pair and the source's name for it.
type listing struct{ pair, symbol string }

// newTicker parses the three prices of a ticker. The error wraps money.ErrSyntax or money.ErrRate
// for an invalid price, or ErrImplausible for a year outside 0 to 9999 or if bid, ask and last are
// inconsistent: a crossed or thin order book, or a misplaced decimal point. The time may be zero.
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
	if year := at.UTC().Year(); year < 0 || year > 9999 { // the range of JSON times
		return Ticker{}, fmt.Errorf("%w: year %d", ErrImplausible, year)
	}
	if t.Bid.GreaterThan(t.Ask) || !within(t.Ask, t.Bid, guardBand) || !within(t.Last, t.Bid, guardBand) {
		return Ticker{}, fmt.Errorf("%w: bid %s, ask %s, last %s", ErrImplausible, t.Bid, t.Ask, t.Last)
	}
	return t, nil
}

// parsePrice parses a price in plain digits and rounds it like a rate, to eight significant digits.
func parsePrice(pair, text string) (decimal.Decimal, error) {
	coin, fiat, _ := strings.Cut(pair, "-")
	rate, err := money.ParseRate(text, money.Currency{Code: coin}, money.Currency{Code: fiat})
	if err != nil {
		return decimal.Decimal{}, fmt.Errorf("%.40q is %w", text, err)
	}
	return decimal.NewFromString(rate.Price())
}

// eachListing requests one pair after the other. It continues after a fault of one pair, but stops
// when the source does not answer at all.
func eachListing(listings []listing, ask func(listing) (Ticker, error)) ([]Ticker, error) {
	var tickers []Ticker
	var errs []error
	for _, l := range listings {
		ticker, err := ask(l)
		if err == nil {
			tickers = append(tickers, ticker)
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %w", l.pair, err))
		if errors.Is(err, errNoAnswer) {
			break
		}
	}
	return tickers, errors.Join(errs...)
}
