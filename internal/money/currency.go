package money

import "slices"

// Currency is a currency code with the number of decimals of its smallest unit.
type Currency struct {
	Code     string
	Decimals int32
}

// The currencies that this program treats specially. The decimals of fiat currencies are
// specified by ISO 4217, and the decimals of coins by their networks.
var (
	EUR = Currency{Code: "EUR", Decimals: 2}
	USD = Currency{Code: "USD", Decimals: 2}
	BTC = Currency{Code: "BTC", Decimals: 8}
	LTC = Currency{Code: "LTC", Decimals: 8}
	XMR = Currency{Code: "XMR", Decimals: 12}
	ETH = Currency{Code: "ETH", Decimals: 18}
)

// fiats are euro, dollar, and the other currencies for which the European Central Bank publishes
// euro rates:
// https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html
var fiats = []Currency{
	EUR, USD,
	{"AUD", 2}, {"BRL", 2}, {"CAD", 2}, {"CHF", 2}, {"CNY", 2}, {"CZK", 2}, {"DKK", 2}, {"GBP", 2}, {"HKD", 2}, {"HUF", 2},
	{"IDR", 2}, {"ILS", 2}, {"INR", 2}, {"ISK", 0}, {"JPY", 0}, {"KRW", 0}, {"MXN", 2}, {"MYR", 2}, {"NOK", 2}, {"NZD", 2},
	{"PHP", 2}, {"PLN", 2}, {"RON", 2}, {"SEK", 2}, {"SGD", 2}, {"THB", 2}, {"TRY", 2}, {"ZAR", 2},
}

// Fiats returns the supported fiat currencies: euro, dollar, then the others sorted by code.
func Fiats() []Currency { return slices.Clone(fiats) }

// Fiat returns a fiat currency by its upper-case code.
func Fiat(code string) (Currency, bool) {
	i := slices.IndexFunc(fiats, func(c Currency) bool { return c.Code == code })
	if i < 0 {
		return Currency{}, false
	}
	return fiats[i], true
}
