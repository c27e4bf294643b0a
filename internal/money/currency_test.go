package money_test

import (
	"testing"

	"github.com/bojanz/currency"

	"chequer/internal/money"
)

func TestFiat_finds_currencies_by_code(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int32{"EUR": 2, "USD": 2, "CHF": 2, "GBP": 2, "PLN": 2, "HUF": 2, "IDR": 2, "JPY": 0, "KRW": 0, "ISK": 0} {
		if got, known := money.Fiat(code); !known || got != (money.Currency{Code: code, Decimals: want}) {
			t.Errorf("Fiat(%q) = %v, %v, want %d decimals", code, got, known, want)
		}
	}
	for _, code := range []string{"eur", "chf", "BTC", "EURC", "BGN", "XYZ", ""} {
		if got, known := money.Fiat(code); known {
			t.Errorf("Fiat(%q) = %v, want none", code, got)
		}
	}
}

// The decimals agree with the ISO 4217 data of another package.
func TestFiats_have_the_decimals_of_ISO_4217(t *testing.T) {
	t.Parallel()
	list := money.Fiats()
	if len(list) != 30 || list[0] != money.EUR || list[1] != money.USD {
		t.Fatalf("Fiats() = %v, want euro, dollar and the other currencies of the European Central Bank", list)
	}
	for _, c := range list {
		if digits, known := currency.GetDigits(c.Code); !known || int32(digits) != c.Decimals {
			t.Errorf("%s has %d decimals, want %d (known: %v)", c.Code, c.Decimals, digits, known)
		}
	}
}
