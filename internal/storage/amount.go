package storage

import (
	"fmt"
	"math/big"

	"chequer/internal/money"
)

// parseAmount parses an amount that storage wrote. It does not use money.Parse, which is for user
// input and refuses numbers that are too long: an amount that a contract reports may be that long,
// and must be read.
func parseAmount(text string, c money.Currency) (money.Amount, error) {
	value, ok := new(big.Rat).SetString(text)
	if !ok || value.Sign() < 0 {
		return money.Amount{}, fmt.Errorf("amount %q is not a number", text)
	}
	return money.RoundDown(value, c), nil
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
