package rates

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/shopspring/decimal"
)

// ECBURL is the base address of the European Central Bank's website.
const ECBURL = "https://www.ecb.europa.eu"

// publicationTime is the time of day, in UTC, that tickers get as their time. The table is published at
// 16:00 in Frankfurt, which is 15:00 UTC in winter and 14:00 UTC in summer.
const publicationTime = 15 * time.Hour

// Bounds of the price of a euro in dollars, far beyond all prices so far. A wrong table must be noticed
// here, because it is used when no exchange has a price to compare it with.
var (
	minEuroInDollars = decimal.RequireFromString("0.5")
	maxEuroInDollars = decimal.RequireFromString("2")
)

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// ECB is a Source that reads the table of euro reference rates, which is published on working days:
// https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html
type ECB struct {
	client *http.Client
	base   string
}

// NewECB returns a new ECB. base is ECBURL, except in tests.
func NewECB(client *http.Client, base string) *ECB { return &ECB{client: client, base: base} }

// Name returns "ecb".
func (e *ECB) Name() string { return "ecb" }

// Fetch implements Source. It returns the price of a euro in each currency of the table.
func (e *ECB) Fetch(ctx context.Context) ([]Ticker, error) {
	body, err := get(ctx, e.client, e.base+"/stats/eurofxref/eurofxref-daily.xml")
	if err != nil {
		return nil, err
	}
	var envelope struct {
		XMLName xml.Name `xml:"http://www.gesmes.org/xml/2002-08-01 Envelope"`
		Days    []struct {
			Time  string `xml:"time,attr"`
			Rates []struct {
				Currency string `xml:"currency,attr"`
				Rate     string `xml:"rate,attr"`
			} `xml:"Cube"`
		} `xml:"Cube>Cube"`
	}
	if err := xml.Unmarshal(body, &envelope); err != nil {
		return nil, err
	}
	if len(envelope.Days) != 1 {
		return nil, fmt.Errorf("%d days in the table, want one", len(envelope.Days))
	}
	day, err := time.Parse(time.DateOnly, envelope.Days[0].Time)
	if err != nil {
		return nil, errors.New("the table has no date")
	}
	var tickers []Ticker
	var errs []error
	found := map[string]bool{}
	for _, r := range envelope.Days[0].Rates {
		if found[r.Currency] {
			return nil, fmt.Errorf("EUR-%.3s is in the table twice", r.Currency)
		}
		found[r.Currency] = true
		ticker, err := ecbTicker(r.Currency, r.Rate, day.Add(publicationTime))
		if err != nil {
			errs = append(errs, fmt.Errorf("EUR-%.3s: %w", r.Currency, err))
			continue
		}
		tickers = append(tickers, ticker)
	}
	if len(tickers) == 0 {
		errs = append(errs, errors.New("the table is empty"))
	}
	return tickers, errors.Join(errs...)
}

func ecbTicker(currency, text string, at time.Time) (Ticker, error) {
	if !currencyCode.MatchString(currency) {
		return Ticker{}, errors.New("not a currency")
	}
	pair := "EUR-" + currency
	price, err := parsePrice(pair, text)
	if err != nil {
		return Ticker{}, err
	}
	if currency == "USD" && (price.LessThan(minEuroInDollars) || price.GreaterThan(maxEuroInDollars)) {
		return Ticker{}, fmt.Errorf("%w: a euro for %s dollars", ErrImplausible, price)
	}
	return Ticker{Pair: pair, Bid: price, Ask: price, Last: price, Time: at}, nil
}
