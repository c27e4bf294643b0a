package rates

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// BinanceURL is Binance's host for market data, which needs no account:
// https://github.com/binance/binance-spot-api-docs/blob/master/faqs/market_data_only.md
const BinanceURL = "https://data-api.binance.vision"

// binanceListings has no pairs with the dollar, because Binance has no such market.
var binanceListings = []listing{
	{"BTC-EUR", "BTCEUR"}, {"ETH-EUR", "ETHEUR"}, {"LTC-EUR", "LTCEUR"},
}

// Binance is a Source that reads the exchange's 24-hour ticker, which has bid, ask and last in one answer.
// It makes one request per symbol, because one delisted symbol makes a request for several fail:
// https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints#24hr-ticker-price-change-statistics
type Binance struct {
	client *http.Client
	base   string
}

// NewBinance returns a new Binance with the base address base, which is BinanceURL outside of
// tests.
func NewBinance(client *http.Client, base string) *Binance {
	return &Binance{client: client, base: base}
}

// Name returns "binance".
func (b *Binance) Name() string { return "binance" }

// Fetch requests one symbol after the other.
func (b *Binance) Fetch(ctx context.Context) ([]Ticker, error) {
	return eachListing(binanceListings, func(l listing) (Ticker, error) {
		body, err := get(ctx, b.client, b.base+"/api/v3/ticker/24hr?symbol="+l.symbol)
		if err != nil {
			return Ticker{}, err
		}
		return binanceTicker(l, body)
	})
}

// binanceTicker parses the ticker of a symbol; closeTime is in Unix milliseconds.
func binanceTicker(l listing, body []byte) (Ticker, error) {
	var s struct {
		Symbol                        string
		BidPrice, AskPrice, LastPrice json.Number
		CloseTime                     int64
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return Ticker{}, err
	}
	if s.Symbol != l.symbol {
		return Ticker{}, fmt.Errorf("requested %s, answer has %.20q", l.symbol, s.Symbol)
	}
	return newTicker(l.pair, s.BidPrice, s.AskPrice, s.LastPrice, time.UnixMilli(s.CloseTime).UTC())
}
