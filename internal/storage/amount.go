package storage

import (
	"fmt"
	"math/big"

	"chequer/internal/money"
)

// parseAmount reads the text of an amount as it was written here. money.Parse is
// for people and refuses numbers longer than any honest one; what a contract
// claimed to have moved is recorded and read all the same.
func parseAmount(text string, c money.Currency) (money.Amount, error) {
	value, ok := new(big.Rat).SetString(text)
	if !ok || value.Sign() < 0 {
		return money.Amount{}, fmt.Errorf("amount %q is no number", text)
	}
	return money.RoundDown(value, c), nil
}

// parseOptional is parseAmount for amounts that are left out when zero.
func parseOptional(text string, c money.Currency) (money.Amount, error) {
	if text == "" {
		return money.Zero(c), nil
	}
	return parseAmount(text, c)
}

// optional is the text of an amount, "" when it is zero.
func optional(a money.Amount) string {
	if a.IsZero() {
		return ""
	}
	return a.String()
}
