package merchant

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/money"
	"chequer/internal/zone"
)

// maxQuoteMinutes is the longest time for which the price of a volatile asset is held, in minutes.
const maxQuoteMinutes = 60

// maxBasisPoints is the largest share of a price that a bound can name, in hundredths of a percent.
const maxBasisPoints = 2000

// percent is the unit of a share of a price, with two decimals.
var percent = money.Currency{Code: "percent", Decimals: 2}

// maxEuro is the largest amount that a bound can name.
var maxEuro = money.MustParse("999999.99", money.EUR)

// The functions below are the field set of a definition.

func setQuoteTime(p *PaymentSettings, text string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 0 // CheckWhole refuses it
	}
	p.QuoteTime = time.Duration(n) * time.Minute
	return strconv.Itoa(n), CheckWhole(n, 1, maxQuoteMinutes)
}

func setPercent(b *Bound, text string) (string, error) {
	share, err := money.Parse(text, percent)
	if err != nil || share.Cmp(money.FromCents(maxBasisPoints, percent)) > 0 {
		return "", fmt.Errorf("must be a percentage from 0 to %d, such as 0.5", maxBasisPoints/100)
	}
	b.BasisPoints = share.Cents()
	return share.String(), nil
}

func setEuro(b *Bound, text string) (normal string, err error) {
	b.Euro, err = parseEuro(text, maxEuro)
	return b.Euro.String(), err
}

// parseEuro parses an amount of euro that is at most a maximum.
func parseEuro(text string, maximum money.Amount) (money.Amount, error) {
	euro, err := money.Parse(text, money.EUR)
	if err != nil || euro.Cmp(maximum) > 0 {
		return money.Amount{}, errors.New("must be an amount of euro, such as 0.10")
	}
	return euro, nil
}

// maxZeroConfirmation is the largest zero-confirmation cap: the value below which Bitcoin payments need one confirmation.
var maxZeroConfirmation = money.MustParse("500", money.EUR)

// setZeroConfirmation sets the zero-confirmation cap of an asset.
func setZeroConfirmation(p *PaymentSettings, asset, text string) (string, error) {
	euro, err := parseEuro(text, maxZeroConfirmation)
	if err != nil {
		return "", fmt.Errorf("must be an amount of euro from 0 to %s", maxZeroConfirmation)
	}
	if p.ZeroConfirmation == nil {
		p.ZeroConfirmation = map[string]money.Amount{}
	}
	p.ZeroConfirmation[asset] = euro
	return euro.String(), nil
}

func setLatePayments(p *PaymentSettings, text string) (_ string, err error) {
	p.LatePayments, err = oneOf(text, AllLatePayments)
	return text, err
}

func setConfirmations(p *PaymentSettings, text string) (_ string, err error) {
	p.Confirmations, err = oneOf(text, AllConfirmations)
	return text, err
}

func setMethods(p *PaymentSettings, text string) (_ string, err error) {
	p.Methods, err = NewMethods(words(text))
	return string(p.Methods), err
}

func setLanguages(p *PaymentSettings, text string) (string, error) {
	for _, code := range words(text) {
		if err := CheckLanguage(code); err != nil {
			return "", err
		}
		if !slices.Contains(p.Languages, code) {
			p.Languages = append(p.Languages, code)
		}
	}
	return strings.Join(p.Languages, " "), nil
}

func setStorefront(p *PaymentSettings, text string) (string, error) {
	return setSwitch(&p.Storefront, text)
}

// setSwitch sets a setting that is on or off.
func setSwitch(on *bool, text string) (string, error) {
	word, err := oneOf(text, []string{"on", "off"})
	*on = word == "on"
	return word, err
}

// maxSatoshis is the largest amount of a payment request that a setting can name: one bitcoin.
const maxSatoshis = 100_000_000

// setSatoshis sets an amount of bitcoin from a whole number of satoshis.
func setSatoshis(amount *money.Amount, text string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 0 // CheckWhole refuses it
	}
	if err := CheckWhole(n, 1, maxSatoshis); err != nil {
		return "", err
	}
	*amount = money.FromMinor(big.NewInt(int64(n)), money.BTC)
	return strconv.Itoa(n), nil
}

// checkLightning returns an error if no amount is within the bounds of payment requests.
func (p PaymentSettings) checkLightning() error {
	if p.Lightning.Least.Cmp(p.Lightning.Most) > 0 {
		return &FieldError{Field: string(SettingLightningMost), Fault: fmt.Sprintf("must be at least %s, the smallest amount", p.Lightning.Least.Minor())}
	}
	return nil
}

func setCurrency(p *PaymentSettings, text string) (string, error) {
	p.Currency = strings.ToUpper(text)
	if _, known := money.Fiat(p.Currency); !known {
		return "", fmt.Errorf("must be the code of a currency such as EUR, not %q", text)
	}
	return p.Currency, nil
}

func setZone(p *PaymentSettings, text string) (string, error) {
	l, err := zone.Load(text)
	if err != nil {
		return "", err
	}
	p.Zone = l.String()
	return p.Zone, nil
}

// Kept is the value of SettingPersonalData and SettingBooks with which nothing is removed.
const Kept = "off"

const (
	// ProposedPersonalDataMonths is the period that the form for the payment settings proposes.
	ProposedPersonalDataMonths = 24
	// minPersonalDataMonths is longer than the time for which the events of an invoice are stored after its end: they
	// contain the same data.
	minPersonalDataMonths = 3
	maxPersonalDataMonths = 600
)

const (
	// ProposedBookYears is the period that the form for the payment settings proposes.
	ProposedBookYears = 10
	// minBookYears is longer than any time for which something is expected of an invoice.
	minBookYears = 2
	maxBookYears = 50
)

func setPersonalDataMonths(p *PaymentSettings, text string) (string, error) {
	return setPeriod(&p.PersonalDataMonths, text, "months", minPersonalDataMonths, maxPersonalDataMonths)
}

func setBookYears(p *PaymentSettings, text string) (string, error) {
	return setPeriod(&p.BookYears, text, "years", minBookYears, maxBookYears)
}

// setPeriod sets a retention period.
func setPeriod(period *int, text, unit string, low, high int) (string, error) {
	if text == Kept {
		return text, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return "", fmt.Errorf("must be %s, or a whole number of %s from %d to %d", Kept, unit, low, high)
	}
	*period = n
	return strconv.Itoa(n), nil
}

// words splits a list at commas and white space.
func words(list string) []string { return strings.Fields(strings.ReplaceAll(list, ",", " ")) }
