package rates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"chequer/internal/money"
)

// BitfinexURL is the base address of Bitfinex's public API.
const BitfinexURL = "https://api-pub.bitfinex.com"

// bitfinexListings has only XMR, of which no other exchange except Kraken has a market with euro or dollar.
var bitfinexListings = []listing{{"XMR-USD", "tXMRUSD"}}

// Bitfinex is a Source that reads the exchange's public tickers. It requests a list of one symbol, because the answer for
// a delisted symbol is an empty list. The request for a single ticker has status 500 then, as in a failure of the exchange:
// https://docs.bitfinex.com/reference/rest-public-tickers
type Bitfinex struct {
	client *http.Client
	base   string
}

// NewBitfinex returns a new Bitfinex with the base address base, which is BitfinexURL outside of
// tests.
func NewBitfinex(client *http.Client, base string) *Bitfinex {
	return &Bitfinex{client: client, base: base}
}

// Name returns "bitfinex".
func (b *Bitfinex) Name() string { return "bitfinex" }

// Coin implements CoinSource.
func (b *Bitfinex) Coin() string { return money.XMR.Code }

// Fetch requests one symbol after the other.
func (b *Bitfinex) Fetch(ctx context.Context) ([]Ticker, error) {
	return eachListing(bitfinexListings, func(l listing) (Ticker, error) {
		body, err := get(ctx, b.client, b.base+"/v2/tickers?symbols="+l.symbol)
		if err != nil {
			return Ticker{}, err
		}
		return bitfinexTicker(l, body)
	})
}

// bitfinexTicker parses a list of one ticker, which is itself a list: the symbol, bid, size of the bids, ask, size of
// the asks, two changes within a day, and the last price. The answer has no time.
func bitfinexTicker(l listing, body []byte) (Ticker, error) {
	var tickers [][]json.RawMessage
	if err := json.Unmarshal(body, &tickers); err != nil {
		return Ticker{}, err
	}
	if len(tickers) != 1 {
		return Ticker{}, fmt.Errorf("%d tickers in the answer, want one", len(tickers))
	}
	fields := tickers[0]
	if len(fields) < 8 {
		return Ticker{}, errors.New("the ticker is cut short")
	}
	var symbol string
	var bid, ask, last json.Number
	for _, f := range []struct {
		value json.RawMessage
		into  any
	}{{fields[0], &symbol}, {fields[1], &bid}, {fields[3], &ask}, {fields[7], &last}} {
		if err := json.Unmarshal(f.value, f.into); err != nil {
			return Ticker{}, err
		}
	}
	if symbol != l.symbol {
		return Ticker{}, fmt.Errorf("requested %s, answer has %.20q", l.symbol, symbol)
	}
	return newTicker(l.pair, bid, ask, last, time.Time{})
}
