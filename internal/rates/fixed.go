// Package rates provides the prices from which invoices are quoted.
package rates

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"chequer/internal/money"
)

// Fixed is a table of constant prices.
type Fixed struct {
	source string
	prices map[string]string // "BTC-EUR" → price
	cache  sync.Map          // of money.Rate by rateKey
}

// rateKey identifies a rate: the rate code and the currency of the asset that is priced, and the currency of
// the price.
type rateKey struct {
	code       string
	coin, fiat money.Currency
}

// fixedCodes are the codes that every table of fixed rates may contain.
var fixedCodes = []string{"BTC", "LTC", "ETH", "XMR", "USDC", "EURC", "EUR"}

// ParseFixed parses a table such as "BTC-EUR=86420.00,ETH-EUR=2650.10,EUR-USD=1.08". Each entry is
// the price of one unit of the first currency in the second. source is the name of the table's origin.
// EUR-USD is required, because every invoice has rates in both currencies. Other currencies are
// priced from the euro, as in "EUR-CHF=0.93". One EURC is a euro and one USDC a dollar unless the
// table has other prices. more lists further codes that the table may contain. The error names every
// fault.
func ParseFixed(text, source string, more ...string) (*Fixed, error) {
	f := &Fixed{source: source, prices: map[string]string{"EURC-EUR": "1", "USDC-USD": "1"}}
	codes := slices.Clone(fixedCodes)
	for _, code := range more {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	seen := map[string]bool{}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		pair, price, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := checkFixed(pair, price, codes); err != nil {
			errs = append(errs, err)
			continue
		}
		if seen[pair] {
			errs = append(errs, fmt.Errorf("%s is given twice", pair))
		}
		seen[pair] = true
		f.prices[pair] = price
	}
	if !seen["EUR-USD"] {
		errs = append(errs, errors.New("fixed rates need EUR-USD"))
	}
	return f, errors.Join(errs...)
}

// checkFixed returns an error if an entry of a table is invalid. codes are those that the table may
// contain.
func checkFixed(pair, price string, codes []string) error {
	coin, fiat, _ := strings.Cut(pair, "-")
	_, known := money.Fiat(fiat)
	quoted := fiat == money.EUR.Code || fiat == money.USD.Code || coin == money.EUR.Code
	if !known || !quoted || coin == fiat || price == "" {
		return fmt.Errorf("%q: must be COIN-EUR=PRICE, COIN-USD=PRICE or EUR-CURRENCY=PRICE", pair)
	}
	if !slices.Contains(codes, coin) {
		return fmt.Errorf("%s: there is no such coin; there are %s", pair, strings.Join(codes, " "))
	}
	if _, err := money.ParseRate(price, money.Currency{Code: coin, Decimals: 8}, money.EUR); err != nil {
		return fmt.Errorf("%s: price %q is %w", pair, price, err)
	}
	return nil
}

// Source returns the name of the table's origin.
func (f *Fixed) Source() string { return f.source }

// Evidence returns "", because fixed prices come from the setting alone.
func (f *Fixed) Evidence(money.Currency, ...string) string { return "" }

// Rate returns the price of one coin in fiat: directly, through EUR-USD, or, if fiat is neither
// euro nor dollar, through the euro. It returns ErrUnknown if there is none.
func (f *Fixed) Rate(code string, coin, fiat money.Currency) (money.Rate, error) {
	key := rateKey{code, coin, fiat}
	if known, ok := f.cache.Load(key); ok {
		return known.(money.Rate), nil
	}
	rate, err := f.rate(key)
	if err == nil {
		f.cache.Store(key, rate)
	}
	return rate, err
}

func (f *Fixed) rate(key rateKey) (money.Rate, error) {
	code, coin, fiat := key.code, key.coin, key.fiat
	if price, ok := f.prices[code+"-"+fiat.Code]; ok {
		return money.ParseRate(price, coin, fiat)
	}
	if exchange, ok := f.prices["EUR-"+fiat.Code]; ok && fiat != money.EUR && fiat != money.USD {
		euro, err := f.Rate(code, coin, money.EUR)
		if err != nil {
			return money.Rate{}, err
		}
		rate, err := money.ParseRate(exchange, money.EUR, fiat)
		if err != nil {
			return money.Rate{}, err
		}
		return euro.Via(rate)
	}
	euroDollar, err := money.ParseRate(f.prices["EUR-USD"], money.EUR, money.USD)
	if err != nil {
		return money.Rate{}, err
	}
	if price, ok := f.prices[code+"-EUR"]; ok && fiat == money.USD {
		return priceThrough(price, coin, money.EUR, euroDollar)
	}
	if price, ok := f.prices[code+"-USD"]; ok && fiat == money.EUR {
		dollarEuro, err := euroDollar.Inverse()
		if err != nil {
			return money.Rate{}, err
		}
		return priceThrough(price, coin, money.USD, dollarEuro)
	}
	return money.Rate{}, fmt.Errorf("%w for %s-%s", ErrUnknown, code, fiat.Code)
}

// priceThrough parses the price of a coin in the first currency, and converts it at an exchange rate of that
// currency.
func priceThrough(price string, coin, first money.Currency, exchange money.Rate) (money.Rate, error) {
	r, err := money.ParseRate(price, coin, first)
	if err != nil {
		return money.Rate{}, err
	}
	return r.Via(exchange)
}
