package money

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// significantDigits is the number of digits of a rate, which is rounded half up.
const significantDigits = 8

// maxCoinDecimals is the largest number of decimals of an expected amount.
const maxCoinDecimals = 8

// inverseDecimals is the number of decimals to which an inverse is calculated before it is rounded.
const inverseDecimals = 24

// Rate is the price of one unit of a currency, the coin, in another one, the fiat currency, with eight
// significant digits. The coin of a rate such as EUR-USD is a fiat currency too.
type Rate struct {
	price decimal.Decimal
	coin  Currency
	fiat  Currency
}

// ParseRate parses the price of one coin in plain digits. The error is ErrSyntax, or ErrRate if the
// price is zero.
func ParseRate(text string, coin, fiat Currency) (Rate, error) {
	if len(text) > maxText || !isPlain(text) {
		return Rate{}, ErrSyntax
	}
	price, err := decimal.NewFromString(text)
	if err != nil {
		return Rate{}, ErrSyntax
	}
	return newRate(price, coin, fiat)
}

// Via returns the product of r and a rate whose coin is the fiat currency of r: BTC-EUR via EUR-USD is
// BTC-USD. It panics if the currencies differ.
func (r Rate) Via(exchange Rate) (Rate, error) {
	if exchange.coin != r.fiat {
		panic("money: " + r.fiat.Code + " rate through " + exchange.coin.Code)
	}
	return newRate(r.price.Mul(exchange.price), r.coin, exchange.fiat)
}

// Inverse returns the price of one unit of the fiat currency in the coin: EUR-USD becomes USD-EUR.
func (r Rate) Inverse() (Rate, error) {
	exact := new(big.Rat).Inv(r.price.Rat())
	price := decimal.NewFromBigRat(exact, inverseDecimals)
	return newRate(price, r.fiat, r.coin)
}

// Price returns the rate in plain digits.
func (r Rate) Price() string { return plain(r.price) }

// Coin returns the currency that is priced.
func (r Rate) Coin() Currency { return r.coin }

// Fiat returns the currency of the price.
func (r Rate) Fiat() Currency { return r.fiat }

// IsZero reports whether r is the zero Rate, which is not a valid rate.
func (r Rate) IsZero() bool { return r.price.IsZero() }

// Equal reports whether r and s are the same price of the same pair.
func (r Rate) Equal(s Rate) bool {
	return r.coin == s.coin && r.fiat == s.fiat && r.price.Equal(s.price)
}

// Convert returns the amount of the coin that is worth an amount of fiat, rounded up to eight decimals,
// or to those of the coin if it has fewer. It panics if the currencies differ.
func (r Rate) Convert(fiat Amount) Amount {
	if fiat.currency != r.fiat {
		panic("money: " + fiat.currency.Code + " converted at a rate in " + r.fiat.Code)
	}
	exact := new(big.Rat).Quo(fiat.Rat(), r.price.Rat())
	return roundUp(exact, min(maxCoinDecimals, r.coin.Decimals), r.coin)
}

// Value returns the exact value of an amount of the coin, in major units of fiat. It panics if
// the currencies differ.
func (r Rate) Value(coin Amount) *big.Rat {
	if coin.currency != r.coin {
		panic("money: " + coin.currency.Code + " valued at a rate of " + r.coin.Code)
	}
	return new(big.Rat).Mul(coin.Rat(), r.price.Rat())
}

func newRate(price decimal.Decimal, coin, fiat Currency) (Rate, error) {
	if price.Sign() <= 0 {
		return Rate{}, ErrRate
	}
	digits := int32(price.NumDigits()) + price.Exponent() // before the decimal point
	price = price.Round(significantDigits - digits)
	return Rate{price: price, coin: coin, fiat: fiat}, nil
}
