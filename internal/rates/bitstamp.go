package rates

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// BitstampURL is the base address of Bitstamp's public API.
const BitstampURL = "https://www.bitstamp.net"

var bitstampListings = []listing{
	{"EUR-USD", "eurusd"},
	{"BTC-EUR", "btceur"}, {"ETH-EUR", "etheur"}, {"LTC-EUR", "ltceur"}, {"USDC-EUR", "usdceur"},
	{"EURC-EUR", "eurceur"}, {"EURC-USDC", "eurcusdc"},
	{"BTC-USD", "btcusd"}, {"ETH-USD", "ethusd"}, {"LTC-USD", "ltcusd"}, {"USDC-USD", "usdcusd"},
}

// Bitstamp is a Source that reads the exchange's public ticker, with one request per market:
// https://www.bitstamp.net/api/#tag/Tickers/operation/GetMarketTicker
type Bitstamp struct {
	client *http.Client
	base   string
}

// NewBitstamp returns a new Bitstamp with the base address base, which is BitstampURL outside of
// tests.
func NewBitstamp(client *http.Client, base string) *Bitstamp {
	return &Bitstamp{client: client, base: base}
}

// Name returns "bitstamp".
func (b *Bitstamp) Name() string { return "bitstamp" }

// Fetch requests one market after the other.
func (b *Bitstamp) Fetch(ctx context.Context) ([]Ticker, error) {
	return eachListing(bitstampListings, func(l listing) (Ticker, error) {
		body, err := get(ctx, b.client, b.base+"/api/v2/ticker/"+l.symbol+"/")
		if err != nil {
			return Ticker{}, err
		}
		return bitstampTicker(l.pair, body)
	})
}

// bitstampTicker parses the ticker of a market; timestamp is in Unix seconds.
func bitstampTicker(pair string, body []byte) (Ticker, error) {
	var market struct{ Bid, Ask, Last, Timestamp json.Number }
	if err := json.Unmarshal(body, &market); err != nil {
		return Ticker{}, err
	}
	seconds, err := market.Timestamp.Int64()
	if err != nil {
		return Ticker{}, errors.New("timestamp is not a whole number")
	}
	return newTicker(pair, market.Bid, market.Ask, market.Last, time.Unix(seconds, 0).UTC())
}
