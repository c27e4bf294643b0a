package money

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

// Fiat finds a fiat currency by its upper-case code.
func Fiat(code string) (Currency, bool) {
	switch code {
	case EUR.Code:
		return EUR, true
	case USD.Code:
		return USD, true
	}
	return Currency{}, false
}
