package money

import "slices"

// Currency is a code and how many decimals its smallest unit has.
type Currency struct {
	Code     string
	Decimals int32
}

// The currencies with a meaning of their own in this program. ISO 4217 gives
// the decimals of fiat, the networks those of coins.
var (
	EUR = Currency{Code: "EUR", Decimals: 2}
	USD = Currency{Code: "USD", Decimals: 2}
	BTC = Currency{Code: "BTC", Decimals: 8}
	LTC = Currency{Code: "LTC", Decimals: 8}
	ETH = Currency{Code: "ETH", Decimals: 18}
)

// fiats are euro, dollar, and what else the European Central Bank prices in euro:
// https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html
var fiats = []Currency{
	EUR, USD,
	{"AUD", 2}, {"BRL", 2}, {"CAD", 2}, {"CHF", 2}, {"CNY", 2}, {"CZK", 2}, {"DKK", 2}, {"GBP", 2}, {"HKD", 2}, {"HUF", 2},
	{"IDR", 2}, {"ILS", 2}, {"INR", 2}, {"ISK", 0}, {"JPY", 0}, {"KRW", 0}, {"MXN", 2}, {"MYR", 2}, {"NOK", 2}, {"NZD", 2},
	{"PHP", 2}, {"PLN", 2}, {"RON", 2}, {"SEK", 2}, {"SGD", 2}, {"THB", 2}, {"TRY", 2}, {"ZAR", 2},
}

// Fiats lists the fiat currencies there are: euro, dollar, the others by code.
func Fiats() []Currency { return slices.Clone(fiats) }

// Fiat finds a fiat currency by its upper-case code.
func Fiat(code string) (Currency, bool) {
	i := slices.IndexFunc(fiats, func(c Currency) bool { return c.Code == code })
	if i < 0 {
		return Currency{}, false
	}
	return fiats[i], true
}
