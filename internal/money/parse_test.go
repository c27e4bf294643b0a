package money_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"chequer/internal/money"
)

var usdc = money.Currency{Code: "USDC", Decimals: 6}

func TestParse_reads_amounts_without_loss(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text     string
		currency money.Currency
		want     string
		minor    string
	}{
		"whole":                          {"5", money.EUR, "5", "500"},
		"one decimal":                    {"56.5", money.EUR, "56.5", "5650"},
		"all decimals":                   {"12.34", money.EUR, "12.34", "1234"},
		"trailing zeros do not count":    {"12.3400000", money.EUR, "12.34", "1234"},
		"only trailing zeros":            {"5.000", money.EUR, "5", "500"},
		"leading zeros do not count":     {"007.50", money.EUR, "7.5", "750"},
		"zero":                           {"0", money.EUR, "0", "0"},
		"zero with decimals":             {"0.000000", money.EUR, "0", "0"},
		"one satoshi":                    {"0.00000001", money.BTC, "0.00000001", "1"},
		"dust":                           {"0.00000546", money.BTC, "0.00000546", "546"},
		"all bitcoin":                    {"21000000.00000000", money.BTC, "21000000", "2100000000000000"},
		"one wei":                        {"0.000000000000000001", money.ETH, "0.000000000000000001", "1"},
		"twenty-seven digits":            {"120000000.000000000000000001", money.ETH, "120000000.000000000000000001", "120000000000000000000000001"},
		"forty characters":               {strings.Repeat("9", 40), money.EUR, strings.Repeat("9", 40), strings.Repeat("9", 40) + "00"},
		"a token":                        {"2.01", usdc, "2.01", "2010000"},
		"a number that floats get wrong": {"0.29", money.EUR, "0.29", "29"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := money.Parse(test.text, test.currency)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != test.want || got.Minor().String() != test.minor || got.Currency() != test.currency {
				t.Errorf("Parse(%q) = %s = %s units of %v, want %s = %s units", test.text, got, got.Minor(), got.Currency(), test.want, test.minor)
			}
		})
	}
}

// A number consists of digits with at most one dot between them. See CASES.md, C05 and C08.
func TestParse_refuses_malformed_numbers(t *testing.T) {
	t.Parallel()
	syntax := []string{
		"", " ", " 5", "5 ", "\t5", "5\n", "5\x00", "+5", "-0", "-0.00", "-1", ".5", "5.", ".", "..", "1..2", "1.2.3",
		"0e5", "1e3", "1E3", "5.0E-4", "1e-7", "0x10", "0b1", "0o7", "1_000", "NaN", "nan", "Infinity", "Inf", "-Inf",
		"1,50", "1.234,56", "1,234.56", "1 234.56", "1\u00a0234.56", "1'234.56", "12,345", "５", "٥", "१", "½", "5€", "€5",
		"null", "true", "[]", "{}", `"5"`, "5;", "5%", "1/2", "five",
		strings.Repeat("9", 41), "0." + strings.Repeat("0", 39), strings.Repeat("9", 1<<20),
	}
	for _, text := range syntax {
		if got, err := money.Parse(text, money.EUR); !errors.Is(err, money.ErrSyntax) {
			t.Errorf("Parse(%.50q) = %s, %v, want ErrSyntax", text, got, err)
		}
		if got, err := money.ParseRate(text, money.BTC, money.EUR); !errors.Is(err, money.ErrSyntax) {
			t.Errorf("ParseRate(%.50q) = %s, %v, want ErrSyntax", text, got.Price(), err)
		}
	}
	precision := map[string]money.Currency{
		"0.001":                 money.EUR,
		"12.345":                money.USD,
		"0.000000001":           money.BTC,
		"2.0100001":             usdc,
		"0.0000000000000000001": money.ETH,
		"0.00000000000000000000000000000000000001": money.ETH,
	}
	for text, currency := range precision {
		if got, err := money.Parse(text, currency); !errors.Is(err, money.ErrPrecision) {
			t.Errorf("Parse(%q, %s) = %s, %v, want ErrPrecision", text, currency.Code, got, err)
		}
	}
}

// These amounts lose a unit in a binary float. See CASES.md, C02.
func TestParse_loses_no_unit(t *testing.T) {
	t.Parallel()
	known := []struct {
		text     string
		currency money.Currency
		units    int64
	}{
		{"0.00012215", money.BTC, 12215},
		{"0.00012220", money.BTC, 12220},
		{"2.01", usdc, 2010000},
	}
	for _, test := range known {
		if got := money.MustParse(test.text, test.currency).Minor(); got.Cmp(big.NewInt(test.units)) != 0 {
			t.Errorf("%s %s = %s units, want %d", test.text, test.currency.Code, got, test.units)
		}
	}
	random := rand.New(rand.NewPCG(2, 200))
	for range 200 {
		units := random.Int64N(1 << random.IntN(50))
		text := fmt.Sprintf("%d.%08d", units/1e8, units%1e8)
		amount := money.MustParse(text, money.BTC)
		if got := amount.Minor(); got.Cmp(big.NewInt(units)) != 0 {
			t.Errorf("%s BTC = %s units, want %d", text, got, units)
		}
		if parsed := money.FromMinor(big.NewInt(units), money.BTC); !parsed.Equal(amount) || parsed.Fixed() != text {
			t.Errorf("%d units = %s BTC, want %s", units, parsed.Fixed(), text)
		}
	}
}

var plainDigits = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$`)

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "56.50", "0.00012215", "1e3", "+5", ".5", "5.", "0x10", "５", "00", "-1", strings.Repeat("9", 40)} {
		f.Add(text, int32(8))
	}
	f.Fuzz(func(t *testing.T, text string, decimals int32) {
		c := money.Currency{Code: "XXX", Decimals: min(max(decimals, 0), 18)}
		a, err := money.Parse(text, c)
		if err != nil {
			if !errors.Is(err, money.ErrSyntax) && !errors.Is(err, money.ErrPrecision) {
				t.Errorf("Parse(%q) = %v, want ErrSyntax or ErrPrecision", text, err)
			}
			return
		}
		if !plainDigits.MatchString(a.String()) {
			t.Errorf("Parse(%q).String() = %s, want it without needless zeros", text, a)
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok || exact.Cmp(a.Rat()) != 0 {
			t.Errorf("Parse(%q).Rat() = %s, want the number of the text", text, a.Rat())
		}
		if parsed := money.FromMinor(a.Minor(), c); !parsed.Equal(a) {
			t.Errorf("FromMinor(%s) = %s, want Parse(%q) = %s", a.Minor(), parsed, text, a)
		}
		if reparsed, err := money.Parse(a.String(), c); err != nil || !reparsed.Equal(a) {
			t.Errorf("Parse(%q) = %s, %v, want Parse(%q) = %s", a, reparsed, err, text, a)
		}
	})
}
