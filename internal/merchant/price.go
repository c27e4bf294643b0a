package merchant

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"chequer/internal/money"
)

// ErrNotPositive is the fault of an amount that is zero or negative.
var ErrNotPositive = errors.New("must be more than 0")

// maxAmountText bounds the text of an amount, in characters.
const maxAmountText = 40

// textAmount matches an amount as text: no sign, no exponent, at most one dot.
var textAmount = regexp.MustCompile(`^0*([0-9]+)(?:\.([0-9]+))?$`)

// ParseAmount returns the amount of a text in plain digits, without leading and trailing zeros.
func ParseAmount(text string) (plain string, err error) {
	if len(text) > maxAmountText {
		return "", fmt.Errorf("must have at most %d characters", maxAmountText)
	}
	parts := textAmount.FindStringSubmatch(text)
	if parts == nil {
		return "", errors.New("must be a number, digits with at most one dot, such as 12.50")
	}
	return strings.TrimSuffix(parts[1]+"."+strings.TrimRight(parts[2], "0"), "."), nil
}

// ParseVATRate returns the VAT rate of a text, see money.ParseVATRate. The error completes a sentence that begins with the
// name of the field.
func ParseVATRate(text string) (money.VATRate, error) {
	v, err := money.ParseVATRate(text)
	switch {
	case errors.Is(err, money.ErrPrecision):
		return v, errors.New("must have at most 2 decimals")
	case errors.Is(err, money.ErrVATRate):
		return v, errors.New("must be at most 50 percent")
	case err != nil:
		return v, errors.New("must be a percentage from 0 to 50, digits with at most one dot, such as 19 or 7.7")
	}
	return v, nil
}

// Prices are the prices that a server accepts.
type Prices struct {
	currencies []money.Currency
	maximum    string
}

// NewPrices returns Prices in euro, dollar and more currencies, up to a maximum in whole units of
// any of them.
func NewPrices(additional []money.Currency, maximum string) Prices {
	return Prices{currencies: append([]money.Currency{money.EUR, money.USD}, additional...), maximum: maximum}
}

// Parse returns the price of an amount in plain digits and the code of its currency. The error is a
// *FieldError.
func (p Prices) Parse(plain, code string) (money.Amount, error) {
	return p.parse("amount", plain, code)
}

// parse is Parse for an amount in a field with the given name. It checks the length of the amount
// before it parses it.
func (p Prices) parse(field, plain, code string) (money.Amount, error) {
	i := slices.IndexFunc(p.currencies, func(c money.Currency) bool { return c.Code == code })
	if i < 0 {
		return money.Amount{}, invalid("fiat_currency", errors.New("must be "+listed(p.Codes())+howToAdd(code)))
	}
	fiat := p.currencies[i]
	maximum := p.Max(fiat)
	tooMuch := fmt.Errorf("must be at most %s %s", maximum, fiat.Code)
	integer, fraction, _ := strings.Cut(plain, ".")
	switch {
	case len(integer) > len(p.maximum):
		return money.Amount{}, invalid(field, tooMuch)
	case len(fraction) > int(fiat.Decimals):
		return money.Amount{}, invalid(field, fmt.Errorf("must have at most %d decimals in %s", fiat.Decimals, fiat.Code))
	}
	a, err := money.Parse(plain, fiat)
	switch {
	case err != nil:
		return money.Amount{}, fmt.Errorf("price %s: %w", plain, err)
	case a.IsZero():
		return money.Amount{}, invalid(field, ErrNotPositive)
	case a.Cmp(maximum) > 0:
		return money.Amount{}, invalid(field, tooMuch)
	}
	return a, nil
}

// parseText is parse for an amount as text.
func (p Prices) parseText(field, text, code string) (money.Amount, error) {
	plain, err := ParseAmount(text)
	if err != nil {
		return money.Amount{}, invalid(field, err)
	}
	return p.parse(field, plain, code)
}

// Codes returns the codes of the currencies.
func (p Prices) Codes() []string {
	codes := make([]string, len(p.currencies))
	for i, c := range p.currencies {
		codes[i] = c.Code
	}
	return codes
}

// Max returns the largest price in a currency.
func (p Prices) Max(c money.Currency) money.Amount { return money.MustParse(p.maximum, c) }

// howToAdd names the setting that adds a currency; it is empty for an unknown code.
func howToAdd(code string) string {
	if _, known := money.Fiat(code); !known {
		return ""
	}
	return "; the setting CHEQUER_FIAT adds " + code
}
