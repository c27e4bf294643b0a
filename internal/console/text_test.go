package console_test

import (
	"testing"

	"chequer/internal/console"
)

func TestFiat_has_the_decimals_of_its_currency(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ digits, code, want string }{
		{"3.5", "EUR", "3.50 EUR"},
		{"64", "USD", "64.00 USD"},
		{"0", "EUR", "0.00 EUR"},
		{"1200", "JPY", "1200 JPY"},
		{"", "EUR", ""},
		{"3,50", "EUR", "3,50 EUR"},
		{"3.5", "XAU", "3.5 XAU"},
	} {
		if got := console.Fiat(test.digits, test.code); got != test.want {
			t.Errorf("Fiat(%q, %q) = %q, want %q", test.digits, test.code, got, test.want)
		}
	}
}
