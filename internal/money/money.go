// Package money holds exact amounts of fiat and crypto currencies and the one
// division between them. Nothing here is ever a binary float.
package money

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// maxText is the longest amount that is looked at, so that no decimal library
// ever sees a hostile number.
const maxText = 40

var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// Amount is an exact, never negative quantity of one currency. The zero value
// is no amount at all: make one with Parse, FromMinor or Zero.
type Amount struct {
	value    decimal.Decimal
	currency Currency
}

// Parse reads digits with at most one dot, such as "12.50", as an amount of c.
// The error is ErrSyntax, or ErrPrecision when the text has more decimals than
// c (trailing zeros do not count).
func Parse(text string, c Currency) (Amount, error) {
	if len(text) > maxText || !plainNumber.MatchString(text) {
		return Amount{}, ErrSyntax
	}
	if whole, fraction, ok := strings.Cut(text, "."); ok {
		fraction = strings.TrimRight(fraction, "0")
		if len(fraction) > int(c.Decimals) {
			return Amount{}, ErrPrecision
		}
		text = whole
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

// MustParse is Parse for constants of ours; it panics on an error.
func MustParse(text string, c Currency) Amount {
	a, err := Parse(text, c)
	if err != nil {
		panic(fmt.Sprintf("money: %q %s: %v", text, c.Code, err))
	}
	return a
}

// FromMinor makes an amount from whole smallest units: cents, satoshis, wei.
// A negative number is a bug of ours and panics.
func FromMinor(units *big.Int, c Currency) Amount {
	if units.Sign() < 0 {
		panic("money: negative amount of " + c.Code)
	}
	return Amount{value: decimal.NewFromBigInt(new(big.Int).Set(units), -c.Decimals), currency: c}
}

// FromCents is FromMinor for numbers that fit an int64, as storage keeps fiat.
func FromCents(units int64, c Currency) Amount { return FromMinor(big.NewInt(units), c) }

// Zero is nothing of c.
func Zero(c Currency) Amount { return Amount{currency: c} }

// Currency tells what a is an amount of.
func (a Amount) Currency() Currency { return a.currency }

// Minor is a in whole smallest units.
func (a Amount) Minor() *big.Int {
	return a.value.Shift(a.currency.Decimals).BigInt()
}

// Cents is Minor as an int64; it panics when it does not fit, which no allowed
// fiat amount does.
func (a Amount) Cents() int64 {
	units := a.Minor()
	if !units.IsInt64() {
		panic("money: amount too large for 64 bits")
	}
	return units.Int64()
}

// Add is a + b. Mixing currencies is a bug of ours and panics.
func (a Amount) Add(b Amount) Amount {
	a.mustMatch(b)
	return Amount{value: a.value.Add(b.value), currency: a.currency}
}

// Times is so many of a. A negative number is a bug of ours and panics.
func (a Amount) Times(n int) Amount {
	if n < 0 {
		panic("money: a negative number of amounts of " + a.currency.Code)
	}
	return Amount{value: a.value.Mul(decimal.NewFromInt(int64(n))), currency: a.currency}
}

// Sub is a − b, or zero when b is larger: an amount is never negative.
func (a Amount) Sub(b Amount) Amount {
	a.mustMatch(b)
	if a.value.LessThan(b.value) {
		return Zero(a.currency)
	}
	return Amount{value: a.value.Sub(b.value), currency: a.currency}
}

// Cmp is −1, 0 or +1 as a is smaller than, equal to or larger than b.
func (a Amount) Cmp(b Amount) int {
	a.mustMatch(b)
	return a.value.Cmp(b.value)
}

// Equal tells whether a and b are the same amount of the same currency.
func (a Amount) Equal(b Amount) bool {
	return a.currency == b.currency && a.value.Equal(b.value)
}

// IsZero tells whether a is nothing.
func (a Amount) IsZero() bool { return a.value.IsZero() }

// String is a in plain digits: no exponent, no grouping, no trailing zeros, no
// currency ("0.00065379").
func (a Amount) String() string { return plain(a.value) }

// Fixed is a with exactly the currency's decimals ("12.50"), as people write it.
func (a Amount) Fixed() string { return a.value.StringFixed(a.currency.Decimals) }

// Scale is a × fraction, rounded up to places decimals, or to the currency's
// where it has fewer. A negative fraction gives zero.
func (a Amount) Scale(fraction *big.Rat, places int32) Amount {
	return roundUp(new(big.Rat).Mul(a.value.Rat(), fraction), min(places, a.currency.Decimals), a.currency)
}

// RoundUp makes an amount from an exact number of c's major units, rounded up
// to c's decimals; a negative number gives zero.
func RoundUp(major *big.Rat, c Currency) Amount { return roundUp(major, c.Decimals, c) }

// RoundDown is RoundUp towards zero.
func RoundDown(major *big.Rat, c Currency) Amount {
	if major.Sign() <= 0 {
		return Zero(c)
	}
	shifted := new(big.Rat).Mul(major, new(big.Rat).SetInt(pow10(c.Decimals)))
	return FromMinor(new(big.Int).Quo(shifted.Num(), shifted.Denom()), c)
}

// Rat is a in major units as an exact fraction.
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
	units, rest := new(big.Int).QuoRem(shifted.Num(), shifted.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		units.Add(units, big.NewInt(1))
	}
	return Amount{value: decimal.NewFromBigInt(units, -places), currency: c}
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// plain is a number without an exponent, and without zeros at its end. Nearly all
// are short, and one invoice writes some seventy of them.
func plain(d decimal.Decimal) string {
	if d.NumDigits() < 19 && d.Exponent() <= 0 {
		return short(d.CoefficientInt64(), int(-d.Exponent()))
	}
	text := d.String()
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// short is the plain form of units, of whose digits so many stand behind the dot.
func short(units int64, places int) string {
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
