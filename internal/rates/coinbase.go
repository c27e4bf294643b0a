package rates

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// CoinbaseURL is the base address of Coinbase Exchange's public API.
const CoinbaseURL = "https://api.exchange.coinbase.com"

// coinbaseListings lacks EURC-EUR and EURC-USD, which are delisted but still answered with old
// prices, and USDC-USD, which Coinbase treats as one currency.
var coinbaseListings = []listing{
	{"BTC-EUR", "BTC-EUR"}, {"ETH-EUR", "ETH-EUR"}, {"LTC-EUR", "LTC-EUR"}, {"USDC-EUR", "USDC-EUR"},
	{"BTC-USD", "BTC-USD"}, {"ETH-USD", "ETH-USD"}, {"LTC-USD", "LTC-USD"}, {"EURC-USDC", "EURC-USDC"},
}

// Coinbase is a Source that reads the exchange's public ticker, with one request per product:
// https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-ticker
type Coinbase struct {
	client *http.Client
	base   string
}

// NewCoinbase returns a new Coinbase with the base address base, which is CoinbaseURL outside of
// tests.
func NewCoinbase(client *http.Client, base string) *Coinbase {
	return &Coinbase{client: client, base: base}
}

// Name returns "coinbase".
func (c *Coinbase) Name() string { return "coinbase" }

// Fetch requests one product after the other.
func (c *Coinbase) Fetch(ctx context.Context) ([]Ticker, error) {
	return eachListing(coinbaseListings, func(l listing) (Ticker, error) {
		body, err := get(ctx, c.client, c.base+"/products/"+l.symbol+"/ticker")
		if err != nil {
			return Ticker{}, err
		}
		return coinbaseTicker(l.pair, body)
	})
}

// coinbaseTicker parses the ticker of a product: price and time are those of the last trade.
func coinbaseTicker(pair string, body []byte) (Ticker, error) {
	var product struct {
		Bid, Ask, Price json.Number
		Time            time.Time
	}
	if err := json.Unmarshal(body, &product); err != nil {
		return Ticker{}, err
	}
	return newTicker(pair, product.Bid, product.Ask, product.Price, product.Time)
}
