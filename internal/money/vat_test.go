package money_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"

	"chequer/internal/money"
)

func parseVAT(t *testing.T, text string) money.VATRate {
	t.Helper()
	v, err := money.ParseVATRate(text)
	if err != nil {
		t.Fatalf("ParseVATRate(%q): %v", text, err)
	}
	return v
}

func TestParseVATRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"19": "19", "19.0": "19", "19.00": "19", "7.7": "7.7", "7.70": "7.7", "2.55": "2.55", "0": "0", "0.00": "0", "50": "50", "050.000": "50", "": "",
	} {
		v, err := money.ParseVATRate(text)
		if err != nil || v.String() != want || v.Stated() != (want != "") {
			t.Errorf("%q: got %q, stated %t, error %v, want %q", text, v, v.Stated(), err, want)
		}
	}
	for text, want := range map[string]error{
		"50.01": money.ErrVATRate, "51": money.ErrVATRate, "9999999999999999999999": money.ErrVATRate, "19.005": money.ErrPrecision,
		"-1": money.ErrSyntax, "7,7": money.ErrSyntax, "19 %": money.ErrSyntax, "1e1": money.ErrSyntax, "nineteen": money.ErrSyntax, " ": money.ErrSyntax,
	} {
		if v, err := money.ParseVATRate(text); !errors.Is(err, want) || v.Stated() {
			t.Errorf("%q: got %q, error %v, want error %v", text, v, err, want)
		}
	}
}

func TestVATRate_of_zero_is_stated(t *testing.T) {
	t.Parallel()
	if zero, none := parseVAT(t, "0"), (money.VATRate{}); zero.Equal(none) || !zero.Equal(parseVAT(t, "0.00")) {
		t.Error("a rate of 0 percent does not differ from no rate")
	}
}

func TestVATRate_Split(t *testing.T) {
	t.Parallel()
	jpy := money.Currency{Code: "JPY", Decimals: 0}
	for _, tt := range []struct {
		rate     string
		gross    money.Amount
		net, vat string
	}{
		{"19", money.MustParse("29.80", money.EUR), "25.04", "4.76"},
		{"19", money.MustParse("0.01", money.EUR), "0.01", "0.00"},
		{"25", money.MustParse("0.03", money.EUR), "0.02", "0.01"}, // 0.024
		{"20", money.MustParse("0.03", money.EUR), "0.03", "0.00"}, // 0.025
		{"50", money.MustParse("0.03", money.EUR), "0.02", "0.01"},
		{"7.7", money.MustParse("107.70", money.EUR), "100.00", "7.70"},
		{"0", money.MustParse("12.34", money.EUR), "12.34", "0.00"},
		{"", money.MustParse("12.34", money.EUR), "12.34", "0.00"},
		{"10", money.FromCents(1000, jpy), "909", "91"},
		{"19", money.Zero(money.EUR), "0.00", "0.00"},
	} {
		net, vat := parseVAT(t, tt.rate).Split(tt.gross)
		if net.Fixed() != tt.net || vat.Fixed() != tt.vat {
			t.Errorf("%s at %s percent: got %s + %s, want %s + %s", tt.gross.Fixed(), tt.rate, net.Fixed(), vat.Fixed(), tt.net, tt.vat)
		}
	}
}

// The parts add up to the amount, and the net amount is the nearest one: (2·net−1)·(1+rate) ≤ 2·gross < (2·net+1)·(1+rate).
func TestVATRate_Split_parts_add_up(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	currencies := []money.Currency{money.EUR, {Code: "JPY", Decimals: 0}, {Code: "BHD", Decimals: 3}, money.BTC}
	for range 20_000 {
		hundredths := random.Int64N(5001)
		rate := parseVAT(t, money.FromCents(hundredths, money.EUR).Fixed())
		gross := money.FromCents(random.Int64N(int64(1)<<(1+random.IntN(60))), currencies[random.IntN(len(currencies))])
		net, vat := rate.Split(gross)
		if !net.Add(vat).Equal(gross) {
			t.Fatalf("%s at %s percent: %s + %s is not the amount", gross.Fixed(), rate, net.Fixed(), vat.Fixed())
		}
		twiceNet := new(big.Int).Lsh(net.Minor(), 1)
		bound := func(offset int64) *big.Int {
			n := new(big.Int).Add(twiceNet, big.NewInt(offset))
			return n.Mul(n, big.NewInt(10_000+hundredths))
		}
		exact := new(big.Int).Mul(gross.Minor(), big.NewInt(20_000))
		if exact.Cmp(bound(-1)) < 0 || exact.Cmp(bound(1)) >= 0 {
			t.Fatalf("%s at %s percent: the net amount %s is not the nearest one", gross.Fixed(), rate, net.Fixed())
		}
	}
}
