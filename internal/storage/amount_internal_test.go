package storage

import (
	"math/big"
	"testing"

	"chequer/internal/money"
)

// Both ways to parse an amount have the same result.
func TestParseAmount_matches_rational_arithmetic(t *testing.T) {
	t.Parallel()
	for _, c := range []money.Currency{{Code: "JPY"}, money.EUR, money.BTC, money.ETH} {
		for _, text := range []string{
			"0", "1", "0.1", "0.01", "12.5", "56.50", "0.019", "0.00065379", "9.223372036854775807", "9.223372036854775808", "10.000000000000000001",
			"9223372036854775807", "9223372036854775808", "92233720368547758.07", "92233720368547758.08", "123456789012345678901234567890.5", "007.5",
			"1e3", "1/3", "0.123456789012345678901",
		} {
			got, err := parseAmount(text, c)
			value, _ := new(big.Rat).SetString(text)
			if want := money.RoundDown(value, c); err != nil || !got.Equal(want) || got.String() != want.String() {
				t.Errorf("%s %s: got %s, error %v, want %s", text, c.Code, got, err, want)
			}
		}
		for _, text := range []string{"", ".", "-1", "+", "1.2.3", "abc", "1 "} {
			if got, err := parseAmount(text, c); err == nil {
				t.Errorf("%q %s: got %s, want an error", text, c.Code, got)
			}
		}
	}
}
