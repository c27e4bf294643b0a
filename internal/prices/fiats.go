// Package prices builds the currencies and the rates of the settings.
package prices

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"chequer/internal/config"
	"chequer/internal/money"
)

// Fiats returns the currencies that the settings add to euro and dollar. The error names every
// unknown code.
func Fiats(c config.Config) ([]money.Currency, error) {
	var list []money.Currency
	var errs []error
	for _, code := range c.Fiats() {
		fiat, known := money.Fiat(code)
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("CHEQUER_FIAT: there is no currency %q; there are %s", code, fiatCodes()))
		case fiat != money.EUR && fiat != money.USD && !slices.Contains(list, fiat):
			list = append(list, fiat)
		}
	}
	return list, errors.Join(errs...)
}

func fiatCodes() string {
	var codes []string
	for _, c := range money.Fiats() {
		codes = append(codes, c.Code)
	}
	return strings.Join(codes, " ")
}
