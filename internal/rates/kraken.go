package rates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// KrakenURL is the base address of Kraken's public API.
const KrakenURL = "https://api.kraken.com"

// krakenListings are requested in groups, because one delisted market can make a whole request
// fail. The most important markets are in a separate request. Symbols are Kraken's long names, which
// its answers use. XMR-EUR is not in the list, because no other source has this market, so that its price could never be
// confirmed: the price of XMR in euro is derived from XMR-USD.
var krakenListings = [][]listing{
	{
		{"EUR-USD", "ZEURZUSD"},
		{"BTC-EUR", "XXBTZEUR"}, {"ETH-EUR", "XETHZEUR"}, {"LTC-EUR", "XLTCZEUR"},
		{"BTC-USD", "XXBTZUSD"}, {"ETH-USD", "XETHZUSD"}, {"LTC-USD", "XLTCZUSD"},
	},
	{{"USDC-EUR", "USDCEUR"}, {"USDC-USD", "USDCUSD"}, {"EURC-EUR", "EURCEUR"}},
	{{"EURC-USDC", "EURCUSDC"}},
	{{"XMR-USD", "XXMRZUSD"}},
}

// Kraken is a Source that reads the exchange's public ticker:
// https://docs.kraken.com/api-reference/market-data/get-ticker-information
type Kraken struct {
	client *http.Client
	base   string
}

// NewKraken returns a new Kraken with the base address base, which is KrakenURL outside of tests.
func NewKraken(client *http.Client, base string) *Kraken {
	return &Kraken{client: client, base: base}
}

// Name returns "kraken".
func (k *Kraken) Name() string { return "kraken" }

// Fetch sends one request per group of markets.
func (k *Kraken) Fetch(ctx context.Context) ([]Ticker, error) {
	var tickers []Ticker
	var errs []error
	for _, group := range krakenListings {
		found, err := k.fetchGroup(ctx, group)
		tickers = append(tickers, found...)
		errs = append(errs, err)
		if errors.Is(err, errNoAnswer) {
			break
		}
	}
	return tickers, errors.Join(errs...)
}

func (k *Kraken) fetchGroup(ctx context.Context, listings []listing) ([]Ticker, error) {
	symbols := make([]string, len(listings))
	for i, l := range listings {
		symbols[i] = l.symbol
	}
	body, err := get(ctx, k.client, k.base+"/0/public/Ticker?pair="+strings.Join(symbols, ","))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(symbols, ","), err)
	}
	var answer struct {
		Error  []string
		Result map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(symbols, ","), err)
	}
	// An answer may have both errors and results. The errors are reported only with missing pairs.
	return eachListing(listings, func(l listing) (Ticker, error) {
		market, ok := answer.Result[l.symbol]
		if !ok {
			return Ticker{}, fmt.Errorf("not in the answer %.100q", answer.Error)
		}
		return krakenTicker(l.pair, market)
	})
}

// krakenTicker parses the ticker of a market: a is the ask, b the bid, c the last trade, each a
// list that begins with the price. The answer has no time.
func krakenTicker(pair string, market json.RawMessage) (Ticker, error) {
	var m struct{ A, B, C []json.Number }
	if err := json.Unmarshal(market, &m); err != nil {
		return Ticker{}, err
	}
	if len(m.A) == 0 || len(m.B) == 0 || len(m.C) == 0 {
		return Ticker{}, errors.New("a, b or c is missing")
	}
	return newTicker(pair, m.B[0], m.A[0], m.C[0], time.Time{})
}
