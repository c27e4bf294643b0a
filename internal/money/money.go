// Package money implements exact amounts of fiat and crypto currencies, and the single division
// between them. It never uses binary floating point.
package money

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// maxText is the length of the longest accepted number, in bytes, so that the decimal library never parses
// a longer, possibly hostile text.
const maxText = 40

// isPlain reports whether a text is a number in plain digits, such as 12 or 12.50.
func isPlain(text string) bool {
	integer, fraction, point := strings.Cut(text, ".")
	return isDigits(integer) && (!point || isDigits(fraction))
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// Amount is an exact, never negative quantity of one currency. The zero value is not a valid
// amount: use Parse, FromMinor or Zero.
type Amount struct {
	value    decimal.Decimal
	currency Currency
}

// Parse parses digits with at most one dot, such as "12.50", as an amount of c. The error is
// ErrSyntax, or ErrPrecision if the text has more decimals than c (trailing zeros do not count).
func Parse(text string, c Currency) (Amount, error) {
	if len(text) > maxText || !isPlain(text) {
		return Amount{}, ErrSyntax
	}
	if integer, fraction, ok := strings.Cut(text, "."); ok {
		fraction = strings.TrimRight(fraction, "0")
		if len(fraction) > int(c.Decimals) {
			return Amount{}, ErrPrecision
		}
		text = integer
		if fraction != "" {
			text += "." + fraction
		}
	}
	value, err := decimal.NewFromString(text)
	if err != nil {
		return Amount{}, ErrSyntax
	}
	return Amount{value: value, currency: c}, nil
}

// MustParse is Parse for constants in the program; it panics on an error.
func MustParse(text string, c Currency) Amount {
	a, err := Parse(text, c)
	if err != nil {
		panic(fmt.Sprintf("money: %q %s: %v", text, c.Code, err))
	}
	return a
}

// FromMinor returns the amount for a number of smallest units: cents, satoshis, wei. It panics if
// the number is negative, which is a bug in the program.
func FromMinor(units *big.Int, c Currency) Amount {
	if units.Sign() < 0 {
		panic("money: negative amount of " + c.Code)
	}
	return Amount{value: decimal.NewFromBigInt(new(big.Int).Set(units), -c.Decimals), currency: c}
}

// FromCents is FromMinor for numbers that fit an int64, like fiat amounts in storage.
func FromCents(units int64, c Currency) Amount { return FromMinor(big.NewInt(units), c) }

// Zero returns the zero amount of c.
func Zero(c Currency) Amount { return Amount{currency: c} }

// Currency returns the currency of a.
func (a Amount) Currency() Currency { return a.currency }

// Minor returns a in smallest units.
func (a Amount) Minor() *big.Int {
	return a.value.Shift(a.currency.Decimals).BigInt()
}

// HasCents reports whether Minor fits an int64. It is true for prices, and for amounts that count towards a price. The
// value of received coins may be larger: a contract or the test network can report any amount.
func (a Amount) HasCents() bool { return a.Minor().IsInt64() }

// Cents returns Minor as an int64. It panics if the number does not fit: see HasCents.
func (a Amount) Cents() int64 {
	units := a.Minor()
	if !units.IsInt64() {
		panic("money: amount too large for 64 bits")
	}
	return units.Int64()
}

// Add returns a + b. It panics if the currencies differ, which is a bug in the program.
func (a Amount) Add(b Amount) Amount {
	a.mustMatch(b)
	return Amount{value: a.value.Add(b.value), currency: a.currency}
}

// Times returns a × n. It panics if n is negative, which is a bug in the program.
func (a Amount) Times(n int) Amount {
	if n < 0 {
		panic("money: a negative number of amounts of " + a.currency.Code)
	}
	return Amount{value: a.value.Mul(decimal.NewFromInt(int64(n))), currency: a.currency}
}

// Sub returns a − b, or zero if b is larger: an amount is never negative.
func (a Amount) Sub(b Amount) Amount {
	a.mustMatch(b)
	if a.value.LessThan(b.value) {
		return Zero(a.currency)
	}
	return Amount{value: a.value.Sub(b.value), currency: a.currency}
}

// Cmp returns −1, 0 or +1 if a is smaller than, equal to or larger than b.
func (a Amount) Cmp(b Amount) int {
	a.mustMatch(b)
	return a.value.Cmp(b.value)
}

// Equal reports whether a and b are the same amount of the same currency.
func (a Amount) Equal(b Amount) bool {
	return a.currency == b.currency && a.value.Equal(b.value)
}

// IsZero reports whether a is zero.
func (a Amount) IsZero() bool { return a.value.IsZero() }

// String returns a in plain digits: no exponent, no grouping, no trailing zeros, no currency
// ("0.00065379").
func (a Amount) String() string { return plain(a.value) }

// Fixed returns a with exactly the currency's decimals ("12.50").
func (a Amount) Fixed() string { return a.value.StringFixed(a.currency.Decimals) }

// Scale returns a × fraction, rounded up to the given decimals, or to the currency's if it has
// fewer. It returns zero for a negative fraction.
func (a Amount) Scale(fraction *big.Rat, places int32) Amount {
	return roundUp(new(big.Rat).Mul(a.value.Rat(), fraction), min(places, a.currency.Decimals), a.currency)
}

// RoundUp returns the amount for an exact number of c's major units, rounded up to c's decimals. It
// returns zero for a negative number.
func RoundUp(major *big.Rat, c Currency) Amount { return roundUp(major, c.Decimals, c) }

// RoundDown is RoundUp with rounding towards zero.
func RoundDown(major *big.Rat, c Currency) Amount {
	if major.Sign() <= 0 {
		return Zero(c)
	}
	shifted := new(big.Rat).Mul(major, new(big.Rat).SetInt(pow10(c.Decimals)))
	return FromMinor(new(big.Int).Quo(shifted.Num(), shifted.Denom()), c)
}

// RoundHalfUp is RoundUp with rounding to the nearest amount, up from the middle.
func RoundHalfUp(major *big.Rat, c Currency) Amount {
	half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), pow10(c.Decimals)))
	if major.Sign() <= 0 {
		return Zero(c)
	}
	return RoundDown(half.Add(half, major), c)
}

// Rat returns a in major units as an exact fraction.
func (a Amount) Rat() *big.Rat { return a.value.Rat() }

func (a Amount) mustMatch(b Amount) {
	if a.currency != b.currency {
		panic("money: " + a.currency.Code + " mixed with " + b.currency.Code)
	}
}

func roundUp(major *big.Rat, places int32, c Currency) Amount {
	if major.Sign() <= 0 {
		return Zero(c)
	}
	shifted := new(big.Rat).Mul(major, new(big.Rat).SetInt(pow10(places)))
	units, remainder := new(big.Int).QuoRem(shifted.Num(), shifted.Denom(), new(big.Int))
	if remainder.Sign() > 0 {
		units.Add(units, big.NewInt(1))
	}
	return Amount{value: decimal.NewFromBigInt(units, -places), currency: c}
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// plain returns a number without an exponent and without trailing zeros. It has a fast path for numbers that
// fit an int64, because nearly all do, and the resource of an invoice has about seventy numbers.
func plain(d decimal.Decimal) string {
	const maxInt64Digits = 18 // every number of 18 digits fits an int64
	if d.NumDigits() <= maxInt64Digits && d.Exponent() <= 0 {
		return withoutZeros(d.CoefficientInt64(), int(-d.Exponent()))
	}
	text := d.String()
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// withoutZeros returns a number of units of 10^−places as a plain number without trailing zeros.
func withoutZeros(units int64, places int) string {
	for places > 0 && units%10 == 0 {
		units /= 10
		places--
	}
	digits := strconv.FormatInt(units, 10)
	if places == 0 {
		return digits
	}
	digits, negative := strings.CutPrefix(digits, "-")
	if len(digits) <= places {
		digits = strings.Repeat("0", places+1-len(digits)) + digits
	}
	dot := len(digits) - places
	text := digits[:dot] + "." + digits[dot:]
	if negative {
		return "-" + text
	}
	return text
}
