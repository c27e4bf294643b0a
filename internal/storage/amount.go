package storage

import (
	"fmt"
	"math"
	"math/big"

	"chequer/internal/money"
)

// parseAmount parses an amount that storage wrote. It does not use money.Parse, which is for user
// input and refuses numbers that are too long: an amount that a contract reports may be that long,
// and must be read.
func parseAmount(text string, c money.Currency) (money.Amount, error) {
	if units, ok := parseUnits(text, c.Decimals); ok && units > 0 { // zero is money.Zero, which RoundDown returns
		return money.FromCents(units, c), nil
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || value.Sign() < 0 {
		return money.Amount{}, fmt.Errorf("amount %q is not a number", text)
	}
	return money.RoundDown(value, c), nil
}

// parseUnits parses an amount in plain digits into smallest units. ok is false if the text has another form, or
// if the number does not fit into an int64. Nearly all amounts fit, and a list has several for each invoice, so
// this is the fast path of parseAmount.
func parseUnits(text string, decimals int32) (units int64, ok bool) {
	fraction, point := int32(0), false
	for i := range len(text) {
		switch digit := text[i]; {
		case digit == '.' && !point && i > 0:
			point = true
			continue
		case digit < '0' || digit > '9' || units > (math.MaxInt64-9)/10:
			return 0, false
		default:
			units = units*10 + int64(digit-'0')
		}
		if point {
			fraction++
		}
	}
	if text == "" || fraction > decimals || point && fraction == 0 {
		return 0, false
	}
	for ; fraction < decimals; fraction++ {
		if units > math.MaxInt64/10 {
			return 0, false
		}
		units *= 10
	}
	return units, true
}

// parseOptional is parseAmount for amounts whose text is empty if they are zero.
func parseOptional(text string, c money.Currency) (money.Amount, error) {
	if text == "" {
		return money.Zero(c), nil
	}
	return parseAmount(text, c)
}

// optional returns the text of an amount, "" if it is zero.
func optional(a money.Amount) string {
	if a.IsZero() {
		return ""
	}
	return a.String()
}
