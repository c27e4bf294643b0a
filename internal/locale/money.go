package locale

import (
	"strings"

	"github.com/bojanz/currency"
)

// Fiat is an amount as people write it: "€56.50", "56,50 €". What is no amount of
// a known currency is shown as it came.
func (l *Language) Fiat(amount, code string) string {
	parsed, err := currency.NewAmount(amount, code)
	if err != nil {
		return strings.TrimSpace(amount + " " + code)
	}
	formatter := currency.NewFormatter(l.money)
	// All decimals of a rate are shown, as it was used. More than ten would be
	// beyond what the formatter can hold.
	_, fraction, _ := strings.Cut(amount, ".")
	formatter.MaxDigits = uint8(min(max(len(fraction), 3), 10))
	return strings.TrimPrefix(formatter.Format(parsed), "\u200f") // where it stands decides its direction
}

// FiatSign is the sign of a currency: "€", "$", or the code.
func (l *Language) FiatSign(code string) string {
	sign, ok := currency.GetSymbol(code, l.money)
	if !ok {
		return code
	}
	return sign
}

// Decimal is plain digits with the language's decimal mark, and never one for
// thousands: an amount of coins is compared with what a wallet shows.
func (l *Language) Decimal(digits string) string { return strings.Replace(digits, ".", l.point, 1) }
