package money_test

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"chequer/internal/money"
)

func TestParseRate_rounds_once_to_eight_digits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"few digits":                       {"86420", "86420"},
		"trailing zeros":                   {"86420.5000", "86420.5"},
		"eight digits":                     {"86420.123", "86420.123"},
		"below the half":                   {"86420.12349999", "86420.123"},
		"the half goes up":                 {"86420.1235", "86420.124"},
		"above the half":                   {"86420.12350001", "86420.124"},
		"rounded once, not step by step":   {"86420.12344999999", "86420.123"},
		"carried through":                  {"99999.9996", "100000"},
		"carried to a ninth digit":         {"99999999.5", "100000000"},
		"more than eight before the dot":   {"1234567890.5", "1234567900"},
		"the half before the dot":          {"123456785", "123456790"},
		"ten billion":                      {"10000000000", "10000000000"},
		"less than one":                    {"0.92233905183545", "0.92233905"},
		"leading zeros are no digits":      {"0.000012345678951", "0.000012345679"},
		"leading zeros before the dot too": {"00086420.12349", "86420.123"},
		"very small":                       {"0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"},
		"one":                              {"1", "1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rate, err := money.ParseRate(test.text, money.BTC, money.EUR)
			if err != nil {
				t.Fatal(err)
			}
			if rate.Price() != test.want || rate.Coin() != money.BTC || rate.Fiat() != money.EUR || rate.IsZero() {
				t.Errorf("ParseRate(%s) = %s %s-%s, want %s BTC-EUR", test.text, rate.Price(), rate.Coin().Code, rate.Fiat().Code, test.want)
			}
		})
	}
	for _, text := range []string{"0", "0.0", "0.00000000"} {
		if _, err := money.ParseRate(text, money.BTC, money.EUR); !errors.Is(err, money.ErrRate) {
			t.Errorf("ParseRate(%s) = %v, want ErrRate", text, err)
		}
	}
	if !(money.Rate{}).IsZero() {
		t.Error("IsZero() = false for the zero Rate")
	}
}

func TestRateConvert_rounds_up_to_at_most_eight_decimals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fiat, price string
		coin        money.Currency
		want        string
	}{
		"the example of SETTLEMENT":    {"56.50", "86420", money.BTC, "0.00065379"},
		"an exact result is unchanged": {"50", "50000", money.BTC, "0.001"},
		"slightly more is rounded up":  {"50.01", "50000", money.BTC, "0.0010002"},
		"less than a unit is a unit":   {"0.01", "99999999", money.BTC, "0.00000001"},
		"nothing":                      {"0", "86420", money.BTC, "0"},
		"eight decimals of 18":         {"10", "3", money.ETH, "3.33333334"},
		"six decimals of six":          {"10", "3", usdc, "3.333334"},
		"one to one":                   {"56.50", "1", usdc, "56.5"},
		"the largest amount":           {"1000000", "0.00012345", money.BTC, "8100445524.50384772"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rate := mustRate(t, test.price, test.coin, money.EUR)
			got := rate.Convert(money.MustParse(test.fiat, money.EUR))
			if got.String() != test.want || got.Currency() != test.coin {
				t.Errorf("%s EUR at %s = %s %s, want %s", test.fiat, test.price, got, got.Currency().Code, test.want)
			}
		})
	}
}

func TestRate_Via_multiplies_rates(t *testing.T) {
	t.Parallel()
	btc := mustRate(t, "86420", money.BTC, money.EUR)
	exchange := mustRate(t, "1.0842137", money.EUR, money.USD)
	got, err := btc.Via(exchange)
	if err != nil {
		t.Fatal(err)
	}
	// 86420 × 1.0842137 = 93697.747954
	if want := mustRate(t, "93697.748", money.BTC, money.USD); !got.Equal(want) {
		t.Errorf("Via() = %s %s-%s, want %s", got.Price(), got.Coin().Code, got.Fiat().Code, want.Price())
	}
}

func TestRate_Inverse_has_eight_digits(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"1.0842":    "0.92233905", // 0.922339051834…
		"3":         "0.33333333",
		"0.0000003": "3333333.3",
		"8":         "0.125",
		"1":         "1",
		"1.5":       "0.66666667",
		"6":         "0.16666667",
		"12345.678": "0.000081000007", // 0.0000810000066…
	}
	for price, want := range tests {
		got, err := mustRate(t, price, money.EUR, money.USD).Inverse()
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(mustRate(t, want, money.USD, money.EUR)) {
			t.Errorf("Inverse(%s) = %s %s-%s, want %s USD-EUR", price, got.Price(), got.Coin().Code, got.Fiat().Code, want)
		}
	}
}

func TestRate_Value_is_exact(t *testing.T) {
	t.Parallel()
	rate := mustRate(t, "86420", money.BTC, money.EUR)
	got := rate.Value(money.MustParse("0.00065379", money.BTC))
	if want := big.NewRat(565005318, 10000000); got.Cmp(want) != 0 {
		t.Errorf("Value() = %s, want %s", got, want)
	}
}

func TestRate_Equal_compares_price_and_pair(t *testing.T) {
	t.Parallel()
	rate := mustRate(t, "86420.0", money.BTC, money.EUR)
	for name, other := range map[string]money.Rate{
		"price": mustRate(t, "86421", money.BTC, money.EUR),
		"coin":  mustRate(t, "86420", money.LTC, money.EUR),
		"fiat":  mustRate(t, "86420", money.BTC, money.USD),
	} {
		if rate.Equal(other) {
			t.Errorf("Equal() = true with another %s", name)
		}
	}
	if !rate.Equal(mustRate(t, "86420", money.BTC, money.EUR)) {
		t.Error("Equal() = false for the same price")
	}
}

func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"86420", "0.92233905183545", "99999999.5", "1234567890.5", "0", "1e5", "0.00000000000000000000000000000000000001", strings.Repeat("9", 40)} {
		f.Add(text, int64(5650))
	}
	eightDigits := regexp.MustCompile(`^0*[1-9][0-9]{0,7}0*$`)
	f.Fuzz(func(t *testing.T, text string, cents int64) {
		rate, err := money.ParseRate(text, money.BTC, money.EUR)
		if err != nil {
			if !errors.Is(err, money.ErrSyntax) && !errors.Is(err, money.ErrRate) {
				t.Errorf("ParseRate(%q) = %v, want ErrSyntax or ErrRate", text, err)
			}
			return
		}
		price := rate.Price()
		if !plainDigits.MatchString(price) || !eightDigits.MatchString(strings.Replace(price, ".", "", 1)) {
			t.Errorf("ParseRate(%q) = %s, want eight plain digits", text, price)
		}
		exact, _ := new(big.Rat).SetString(text)
		stored, _ := new(big.Rat).SetString(price)
		deviation := new(big.Rat).Sub(stored, exact)
		if deviation.Abs(deviation).Cmp(exact.Mul(exact, big.NewRat(5, 1e8))) > 0 {
			t.Errorf("ParseRate(%q) = %s, want a price that differs by at most half of its eighth digit", text, price)
		}
		if len(price) <= 40 {
			if reparsed := mustRate(t, price, money.BTC, money.EUR); !reparsed.Equal(rate) {
				t.Errorf("ParseRate(%q) = %s, want %s", price, reparsed.Price(), price)
			}
		}
		// The converted amount is worth at least the fiat amount, and one unit less is not.
		fiat := money.FromCents(max(cents, 0), money.EUR)
		coin := rate.Convert(fiat)
		if rate.Value(coin).Cmp(fiat.Rat()) < 0 {
			t.Errorf("%s EUR at %s = %s BTC, want an amount that is worth at least as much", fiat, price, coin)
		}
		if less := coin.Sub(money.FromCents(1, money.BTC)); !coin.IsZero() && rate.Value(less).Cmp(fiat.Rat()) >= 0 {
			t.Errorf("%s EUR at %s = %s BTC, want at most %s", fiat, price, coin, less)
		}
	})
}

func mustRate(t testing.TB, price string, coin, fiat money.Currency) money.Rate {
	t.Helper()
	rate, err := money.ParseRate(price, coin, fiat)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}
