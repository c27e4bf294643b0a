package merchant_test

import (
	"math/big"
	"strings"
	"testing"

	"chequer/internal/merchant"
)

func TestParseAmount_accepts_digits_with_at_most_one_dot(t *testing.T) {
	t.Parallel()
	const notAmount = "must be a number, digits with at most one dot, such as 12.50"
	for text, want := range map[string]struct{ plain, fault string }{
		"0":                       {"0", ""},
		"0.00":                    {"0", ""},
		"12.50":                   {"12.5", ""},
		"20.0":                    {"20", ""},
		"0007":                    {"7", ""},
		"000.5":                   {"0.5", ""},
		"100":                     {"100", ""},
		strings.Repeat("1", 40):   {strings.Repeat("1", 40), ""},
		strings.Repeat("1", 41):   {"", "must have at most 40 characters"},
		"":                        {"", notAmount},
		".5":                      {"", notAmount},
		"5.":                      {"", notAmount},
		"1.2.3":                   {"", notAmount},
		"-1":                      {"", notAmount},
		"+1":                      {"", notAmount},
		"1e2":                     {"", notAmount},
		"1,5":                     {"", notAmount},
		" 1":                      {"", notAmount},
		"1\n":                     {"", notAmount},
		"１":                       {"", notAmount},
		strings.Repeat("\xff", 9): {"", notAmount},
	} {
		got, err := merchant.ParseAmount(text)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if got != want.plain || fault != want.fault {
			t.Errorf("ParseAmount(%q) = %q, %q, want %q, %q", text, got, fault, want.plain, want.fault)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"0", "12.50", "0007", ".5", "1e2", "-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := merchant.ParseAmount(text)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		value, plain := new(big.Rat).SetString(got)
		if !ok || !plain || want.Cmp(value) != 0 || strings.Trim(got, "0123456789.") != "" {
			t.Fatalf("ParseAmount(%q) = %q", text, got)
		}
		if reparsed, err := merchant.ParseAmount(got); err != nil || reparsed != got {
			t.Fatalf("ParseAmount(%q) = %q, %v", got, reparsed, err)
		}
	})
}

func TestPrices_Parse_enforces_decimals_and_limits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ plain, code, fault string }{
		{"0.01", "EUR", ""},
		{"1", "JPY", ""},
		{"1000000", "USD", ""},
		{"1000000.01", "USD", "amount must be at most 1000000 USD"},
		{"0", "EUR", "amount must be more than 0"},
		{"0.001", "EUR", "amount must have at most 2 decimals in EUR"},
		{"0.1", "JPY", "amount must have at most 0 decimals in JPY"},
		{strings.Repeat("9", 58), "EUR", "amount must be at most 1000000 EUR"},
		{"1", "", "fiat_currency must be EUR, USD or JPY"},
		{"1", "BTC", "fiat_currency must be EUR, USD or JPY"},
		{"1", "CHF", "fiat_currency must be EUR, USD or JPY; the setting CHEQUER_FIAT adds CHF"},
		{"", "EUR", "price : "},
	} {
		got, err := prices.Parse(tt.plain, tt.code)
		if tt.plain == "" { // a fault of the program, not of the request
			if err == nil || !strings.HasPrefix(err.Error(), tt.fault) {
				t.Errorf("Parse(%q) = %v", tt.plain, err)
			}
			continue
		}
		checkFault(t, err, tt.fault)
		if err == nil && (got.String() != tt.plain || got.Currency().Code != tt.code) {
			t.Errorf("Parse(%q, %q) = %s %s", tt.plain, tt.code, got, got.Currency().Code)
		}
	}
}
