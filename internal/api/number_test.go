package api_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"chequer/internal/api"
)

func TestPlain_expands_exponents_and_refuses_other_forms(t *testing.T) {
	t.Parallel()
	tests := map[json.Number]struct {
		want string
		err  error
	}{
		"0":                                  {"0", nil},
		"0.00":                               {"0", nil},
		"20.0":                               {"20", nil},
		"56.50":                              {"56.5", nil},
		"5.0E-4":                             {"0.0005", nil},
		"1.23456785E7":                       {"12345678.5", nil},
		"1e18":                               {"1000000000000000000", nil},
		"1E+2":                               {"100", nil},
		"1e-18":                              {"0.000000000000000001", nil},
		"100e-2":                             {"1", nil},
		"12.34e1":                            {"123.4", nil},
		"0e18":                               {"0", nil},
		"1e0002":                             {"100", nil},
		"":                                   {"", api.ErrNotNumber},
		"-1":                                 {"", api.ErrNegative},
		"-0":                                 {"", api.ErrNegative},
		"+1":                                 {"", api.ErrNotNumber},
		"01":                                 {"", api.ErrNotNumber},
		"1.":                                 {"", api.ErrNotNumber},
		".5":                                 {"", api.ErrNotNumber},
		"1e":                                 {"", api.ErrNotNumber},
		"NaN":                                {"", api.ErrNotNumber},
		"1e19":                               {"", api.ErrExponent},
		"1e-19":                              {"", api.ErrExponent},
		"1e99999999999999999999":             {"", api.ErrExponent},
		json.Number(strings.Repeat("1", 41)): {"", api.ErrLong},
	}
	for number, test := range tests {
		t.Run(number.String(), func(t *testing.T) {
			t.Parallel()
			got, err := api.Plain(number)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("Plain(%s) = %q, %v; want %q, %v", number, got, err, test.want, test.err)
			}
		})
	}
}

func FuzzPlain(f *testing.F) {
	for _, number := range []string{"0", "5.0E-4", "1.23456785E7", "1e18", "-1", "1e-18", "100e-2"} {
		f.Add(number)
	}
	f.Fuzz(func(t *testing.T, number string) {
		got, err := api.Plain(json.Number(number))
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(number)
		value, plain := new(big.Rat).SetString(got)
		if !ok || !plain || want.Cmp(value) != 0 || strings.ContainsAny(got, "eE+-") || !json.Valid([]byte(got)) {
			t.Fatalf("Plain(%q) = %q", number, got)
		}
	})
}
