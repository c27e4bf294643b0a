package money

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// significant is how many digits of a rate are kept: it is rounded half up to
// these, then frozen, used for the division and shown.
const significant = 8

// offered is how many decimals an expected amount has at most.
const offered = 8

// Rate is the price of one coin in a fiat currency, at eight significant digits.
type Rate struct {
	price decimal.Decimal
	coin  Currency
	fiat  Currency
}

// ParseRate reads the price of one coin from plain digits. The error is
// ErrSyntax, or ErrRate when the price is zero.
func ParseRate(text string, coin, fiat Currency) (Rate, error) {
	if len(text) > maxText || !plainNumber.MatchString(text) {
		return Rate{}, ErrSyntax
	}
	price, err := decimal.NewFromString(text)
	if err != nil {
		return Rate{}, ErrSyntax
	}
	return newRate(price, coin, fiat)
}

// Via is the price of the coin in another fiat currency, through the price of
// one unit of r's fiat in it: BTC-EUR via EUR-USD is BTC-USD.
func (r Rate) Via(exchange Rate) (Rate, error) {
	if exchange.coin.Code != r.fiat.Code {
		panic("money: " + r.fiat.Code + " rate through " + exchange.coin.Code)
	}
	return newRate(r.price.Mul(exchange.price), r.coin, exchange.fiat)
}

// Inverse is the price of one unit of the fiat currency in the coin: EUR-USD
// becomes USD-EUR.
func (r Rate) Inverse() (Rate, error) {
	exact := new(big.Rat).Inv(r.price.Rat())
	price := decimal.NewFromBigRat(exact, 24)
	return newRate(price, r.fiat, r.coin)
}

// Price is the rate in plain digits.
func (r Rate) Price() string { return plain(r.price) }

// Coin is what is priced.
func (r Rate) Coin() Currency { return r.coin }

// Fiat is what it is priced in.
func (r Rate) Fiat() Currency { return r.fiat }

// IsZero tells whether r is no rate.
func (r Rate) IsZero() bool { return r.price.IsZero() }

// Equal tells whether r and s are the same price of the same pair.
func (r Rate) Equal(s Rate) bool {
	return r.coin == s.coin && r.fiat == s.fiat && r.price.Equal(s.price)
}

// Convert is what an amount of fiat costs in the coin: the one division, rounded
// up to eight decimals, or to the coin's where it has fewer.
func (r Rate) Convert(fiat Amount) Amount {
	if fiat.currency != r.fiat {
		panic("money: " + fiat.currency.Code + " converted at a rate in " + r.fiat.Code)
	}
	exact := new(big.Rat).Quo(fiat.Rat(), r.price.Rat())
	return roundUp(exact, min(offered, r.coin.Decimals), r.coin)
}

// Value is what an amount of the coin is worth, exactly, in major units of fiat.
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
	digits := int32(price.NumDigits()) + price.Exponent() // before the dot
	price = price.Round(significant - digits)
	return Rate{price: price, coin: coin, fiat: fiat}, nil
}
