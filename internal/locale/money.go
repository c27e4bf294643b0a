package locale

import (
	"strings"

	"github.com/bojanz/currency"
)

// Fiat returns an amount in the language's format: "€56.50", "56,50 €". If it is not an amount of a
// known currency, Fiat returns amount and code unchanged, separated by a space.
func (l *Language) Fiat(amount, code string) string {
	parsed, err := currency.NewAmount(amount, code)
	if err != nil {
		return strings.TrimSpace(amount + " " + code)
	}
	formatter := currency.NewFormatter(l.money)
	// All decimals of a rate are shown, as it was used, up to the ten that the formatter supports. A currency has at
	// most three.
	_, fraction, _ := strings.Cut(amount, ".")
	formatter.MaxDigits = uint8(min(max(len(fraction), 3), 10))
	return strings.TrimPrefix(formatter.Format(parsed), "\u200f") // the page sets the direction
}

// RoundFiat returns an amount in the language's format without decimals that are zero: "€250". If it is not
// an amount of a known currency, RoundFiat returns amount and code unchanged, separated by a space.
func (l *Language) RoundFiat(amount, code string) string {
	parsed, err := currency.NewAmount(amount, code)
	if err != nil {
		return strings.TrimSpace(amount + " " + code)
	}
	formatter := currency.NewFormatter(l.money)
	formatter.MinDigits = 0
	return strings.TrimPrefix(formatter.Format(parsed), "\u200f")
}

// FiatSign returns the sign of a currency: "€", "$", or the code if it has none.
func (l *Language) FiatSign(code string) string {
	sign, ok := currency.GetSymbol(code, l.money)
	if !ok {
		return code
	}
	return sign
}

// Decimal returns digits with the language's decimal mark and without thousands separators, because
// shoppers compare an amount of coins with the wallet's display.
func (l *Language) Decimal(digits string) string { return strings.Replace(digits, ".", l.point, 1) }
