package money_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"chequer/internal/money"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
)

// An amount of any size is written in plain digits. See CASES.md, C11.
func TestAmountString_has_plain_digits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		units    int64
		currency money.Currency
		want     string
		fixed    string
	}{
		"one satoshi":        {1, money.BTC, "0.00000001", "0.00000001"},
		"dust":               {546, money.BTC, "0.00000546", "0.00000546"},
		"ten satoshi":        {10, money.BTC, "0.0000001", "0.00000010"},
		"a thousand satoshi": {1000, money.BTC, "0.00001", "0.00001000"},
		"a whole coin":       {100000000, money.BTC, "1", "1.00000000"},
		"21000 coins":        {2100000000000, money.BTC, "21000", "21000.00000000"},
		"one wei":            {1, money.ETH, "0.000000000000000001", "0.000000000000000001"},
		"a cent":             {1, money.EUR, "0.01", "0.01"},
		"fifty cents":        {50, money.EUR, "0.5", "0.50"},
		"a hundred euros":    {10000, money.EUR, "100", "100.00"},
		"a million euros":    {100000000, money.EUR, "1000000", "1000000.00"},
		"zero":               {0, money.EUR, "0", "0.00"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := money.FromCents(test.units, test.currency)
			if got := []string{a.String(), a.Fixed()}; !cmp.Equal(got, []string{test.want, test.fixed}) {
				t.Errorf("%d units are written %q, want %s and %s", test.units, got, test.want, test.fixed)
			}
			if a.Cents() != test.units {
				t.Errorf("Cents() = %d, want %d", a.Cents(), test.units)
			}
		})
	}
}

func TestAmount_arithmetic_is_exact(t *testing.T) {
	t.Parallel()
	eur := func(text string) money.Amount { return money.MustParse(text, money.EUR) }
	if got, want := eur("0.1").Add(eur("0.2")), eur("0.30"); !got.Equal(want) {
		t.Errorf("0.1 + 0.2 = %s, want %s", got, want)
	}
	if got, want := eur("5").Sub(eur("4.99")), eur("0.01"); !got.Equal(want) {
		t.Errorf("5 − 4.99 = %s, want %s", got, want)
	}
	if got := eur("4.99").Sub(eur("5")); !got.IsZero() || got.Currency() != money.EUR {
		t.Errorf("4.99 − 5 = %s %s, want zero", got, got.Currency().Code)
	}
	if got := money.Zero(money.EUR).Add(eur("0")); !got.IsZero() || got.String() != "0" || got.Fixed() != "0.00" {
		t.Errorf("0 + 0 = %s, want 0", got)
	}
	for _, test := range []struct {
		a, b string
		want int
	}{{"1", "2", -1}, {"2.00", "2", 0}, {"2.01", "2", 1}} {
		if got := eur(test.a).Cmp(eur(test.b)); got != test.want {
			t.Errorf("Cmp(%s, %s) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
	if eur("1").Equal(money.MustParse("1", money.USD)) {
		t.Error("1 EUR equals 1 USD")
	}
	a := eur("5")
	a.Minor().SetInt64(1)
	a.Rat().SetInt64(1)
	units := big.NewInt(7)
	b := money.FromMinor(units, money.EUR)
	units.SetInt64(1)
	if a.String() != "5" || b.String() != "0.07" {
		t.Errorf("the caller changed the amounts to %s and %s, want 5 and 0.07", a, b)
	}
}

func TestAmountScale_rounds_up(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		amount   string
		currency money.Currency
		num, den int64
		places   int32
		want     string
	}{
		"exact":                         {"0.001", money.BTC, 1, 2, 8, "0.0005"},
		"rounded up":                    {"0.00065379", money.BTC, 1, 2, 8, "0.0003269"},
		"a third":                       {"1", money.BTC, 1, 3, 8, "0.33333334"},
		"the whole amount":              {"0.00065379", money.BTC, 1, 1, 8, "0.00065379"},
		"more than the whole amount":    {"0.01", money.BTC, 3, 2, 8, "0.015"},
		"zero":                          {"1", money.BTC, 0, 1, 8, "0"},
		"negative":                      {"1", money.BTC, -1, 3, 8, "0"},
		"fewer places":                  {"1", money.ETH, 1, 3, 8, "0.33333334"},
		"more places than the currency": {"1", usdc, 1, 3, 8, "0.333334"},
		"a tiny part is one unit":       {"0.00000001", money.BTC, 1, 1 << 60, 8, "0.00000001"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := money.MustParse(test.amount, test.currency).Scale(big.NewRat(test.num, test.den), test.places)
			if got.String() != test.want || got.Currency() != test.currency {
				t.Errorf("Scale() = %s %s, want %s", got, got.Currency().Code, test.want)
			}
		})
	}
}

func TestRound_up_and_down_returns_whole_cents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		num, den int64
		up, down string
	}{
		"exact":            {1234, 100, "12.34", "12.34"},
		"a third":          {1, 3, "0.34", "0.33"},
		"slightly more":    {1000001, 1000000, "1.01", "1"},
		"less than a cent": {1, 1000, "0.01", "0"},
		"zero":             {0, 1, "0", "0"},
		"negative":         {-5, 1, "0", "0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := money.RoundUp(big.NewRat(test.num, test.den), money.EUR)
			down := money.RoundDown(big.NewRat(test.num, test.den), money.EUR)
			if up.String() != test.up || down.String() != test.down {
				t.Errorf("%d/%d rounds to %s and %s, want %s and %s", test.num, test.den, up, down, test.up, test.down)
			}
		})
	}
}

func TestAmount_misuse_panics(t *testing.T) {
	t.Parallel()
	eur, usd := money.MustParse("1", money.EUR), money.MustParse("1", money.USD)
	rate, err := money.ParseRate("86420", money.BTC, money.EUR)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(){
		"add":            func() { eur.Add(usd) },
		"sub":            func() { eur.Sub(usd) },
		"cmp":            func() { eur.Cmp(usd) },
		"negative units": func() { money.FromMinor(big.NewInt(-1), money.EUR) },
		"bad constant":   func() { money.MustParse("1e3", money.EUR) },
		"too many cents": func() { money.MustParse(strings.Repeat("9", 40), money.EUR).Cents() },
		"convert":        func() { rate.Convert(usd) },
		"value":          func() { rate.Value(eur) },
		"via":            func() { _, _ = rate.Via(rate) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do()
		})
	}
}

// This package formats short numbers, and the decimal library long numbers. Both produce the same text.
func TestAmountString_agrees_with_the_library(t *testing.T) {
	t.Parallel()
	units := []*big.Int{big.NewInt(0), big.NewInt(math.MaxInt64)}
	for n := int64(1); n < math.MaxInt64/10; n *= 10 {
		for _, i := range []int64{n, n - 1, n + 1, 5 * n, 7 * n / 3, 123_456_789 % (n + 1)} {
			units = append(units, big.NewInt(i), new(big.Int).Mul(big.NewInt(i), big.NewInt(1_000_000_007)))
		}
	}
	for _, u := range units {
		for decimals := range int32(25) {
			want := decimal.NewFromBigInt(u, -decimals).String()
			if strings.Contains(want, ".") {
				want = strings.TrimRight(strings.TrimRight(want, "0"), ".")
			}
			if got := money.FromMinor(u, money.Currency{Code: "XXX", Decimals: decimals}).String(); got != want {
				t.Errorf("%s units with %d decimals: got %s, want %s", u, decimals, got, want)
			}
		}
	}
}

func TestRoundHalfUp_returns_the_nearest_unit(t *testing.T) {
	t.Parallel()
	yen := money.Currency{Code: "JPY"}
	for text, want := range map[string]string{
		"12.344": "12.34", "12.345": "12.35", "12.3449999999999999999999": "12.34", "0.005": "0.01", "0.0049": "0", "12": "12", "999.995": "1000", "-1": "0",
	} {
		exact, _ := new(big.Rat).SetString(text)
		if got := money.RoundHalfUp(exact, money.EUR); got.String() != want {
			t.Errorf("RoundHalfUp(%s) = %s, want %s", text, got, want)
		}
	}
	if got := money.RoundHalfUp(big.NewRat(5, 2), yen); got.String() != "3" {
		t.Errorf("2.5 yen: got %s, want 3", got)
	}
}
