package invoice

import (
	"math/big"

	"chequer/internal/money"
)

// MaxTolerance is the largest share of a price that may be missing, in hundredths of a percent.
const MaxTolerance = 2000

// Tolerance is the merchant's setting for the part of a price that may be missing. If both bounds
// are set, the smaller one applies. The zero value allows no missing amount.
type Tolerance struct {
	Percent int64        // of the price, in hundredths of a percent; 0 = no such bound
	Euro    money.Amount // 0 = no such bound
}

// of returns the tolerance for a price, in its currency and rounded down. An amount of euro is
// converted with the rates at which the invoice prices one of its coins.
func (t Tolerance) of(due money.Amount, by Price) money.Amount {
	share := t.Percent
	if share == 0 && !t.Euro.IsZero() {
		share = MaxTolerance
	}
	least := new(big.Rat).Mul(due.Rat(), big.NewRat(min(share, MaxTolerance), 10_000))
	if !t.Euro.IsZero() {
		euro := t.Euro.Rat()
		if fiat := due.Currency(); fiat != money.EUR {
			euro = new(big.Rat).Mul(euro, new(big.Rat).Quo(by.Rate(fiat).Value(by.Expected), by.EUR.Value(by.Expected)))
		}
		if euro.Cmp(least) < 0 {
			least = euro
		}
	}
	return money.RoundDown(least, due.Currency())
}
