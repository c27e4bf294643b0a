package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"chequer/internal/api"
	"chequer/internal/money"
)

// textAmount matches an amount in quotes: no sign, no exponent, at most one dot.
var textAmount = regexp.MustCompile(`^0*([0-9]+(?:\.[0-9]+)?)$`)

var (
	errNotPositive = errors.New("must be more than 0")
	errNotAmount   = errors.New("must be a number, digits with at most one dot, such as 12.50")
)

// amount parses a JSON number, or a string of digits, into plain digits. It never uses a float.
func amount(into *string) func(any) error {
	return func(value any) (err error) {
		switch v := value.(type) {
		case json.Number:
			*into, err = api.Plain(v)
		case string:
			if len(v) > 40 {
				return api.ErrLong
			}
			parts := textAmount.FindStringSubmatch(v)
			if parts == nil {
				return errNotAmount
			}
			*into, err = api.Plain(json.Number(parts[1]))
		default:
			return api.ErrNotNumber
		}
		if errors.Is(err, api.ErrNegative) {
			return errNotPositive
		}
		return err
	}
}

// price parses an amount in plain digits as money, more than zero and at most a maximum. It checks
// the length before the value.
func price(plain string, fiat money.Currency, maximum string) (money.Amount, error) {
	most := money.MustParse(maximum, fiat)
	tooMuch := invalid("amount", fmt.Sprintf("must be at most %s %s", most, fiat.Code))
	whole, fraction, _ := strings.Cut(plain, ".")
	switch {
	case len(whole) > len(maximum):
		return money.Amount{}, tooMuch
	case len(fraction) > int(fiat.Decimals):
		return money.Amount{}, invalid("amount", fmt.Sprintf("must have at most %d decimals in %s", fiat.Decimals, fiat.Code))
	}
	a, err := money.Parse(plain, fiat)
	switch {
	case err != nil:
		return money.Amount{}, fmt.Errorf("price %s: %w", plain, err)
	case a.IsZero():
		return money.Amount{}, invalid("amount", errNotPositive.Error())
	case a.Cmp(most) > 0:
		return money.Amount{}, tooMuch
	}
	return a, nil
}
