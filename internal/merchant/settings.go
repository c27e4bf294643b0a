package merchant

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/money"
	"chequer/internal/zone"
)

// PaymentSettings are the terms of a merchant's new invoices, of the pages on which shoppers pay, of the links of the
// desk, and the time zone of its books. Existing invoices keep the terms that they were created with.
type PaymentSettings struct {
	QuoteTime     time.Duration // for which a price is held
	Tolerance     Bound         // the part of a price that may be missing
	LatePayments  LatePayments
	Methods       Methods // empty: all
	Confirmations Confirmations
	// ShortLimit is the largest part of a price that an account waives without a confirmed sign-in.
	ShortLimit Bound
	Languages  []string // of the pages; empty: all
	Storefront bool     // the first page of the storefront is a form for an open amount
	Currency   string   // code of the fiat currency of the storefront and of the forms for new products, links and terminals
	Zone       string   // name of the time zone of the books: of the days and the times that the desk shows
	Explorers  Explorers
	// ZeroConfirmation are the zero-confirmation caps by asset, in euro: the largest value that counts without a
	// confirmation. Zero = none.
	ZeroConfirmation map[string]money.Amount
	Lightning        Lightning
	// PersonalDataMonths is the number of months after the end of an invoice after which its personal data are
	// removed; 0 = they are kept. See invoice.PersonalData.
	PersonalDataMonths int
	// BookYears is the number of whole calendar years after which invoices are removed; 0 = they are kept.
	BookYears int
}

// Bound is a part of a price. If both bounds are set, the smaller one applies.
type Bound struct {
	BasisPoints int64        // of the price, in hundredths of a percent; 0 = no such bound
	Euro        money.Amount // 0 = no such bound
}

// Lightning are the settings of payment requests.
type Lightning struct {
	// Least and Most bound the amount of a request, in bitcoin.
	Least, Most money.Amount
	// OnDemand means that a request is made only when the shopper asks for it on the page.
	OnDemand bool
	// NamesOrder means that the description of a request, which the shopper's wallet shows, has the order ID.
	NamesOrder bool
	// Unified means that the code of Bitcoin contains the request.
	Unified bool
}

// LatePayments is the treatment of payments that arrive after the quote.
type LatePayments string

const (
	// LateDecide leaves the decision to the merchant.
	LateDecide LatePayments = "decide"
	// LateWorth accepts a late payment if its market value is at least 95 % of its value under the quote.
	LateWorth LatePayments = "worth"
	// LateAccept accepts every late payment.
	LateAccept LatePayments = "accept"
)

// AllLatePayments are all treatments, the strictest first.
var AllLatePayments = []LatePayments{LateDecide, LateWorth, LateAccept}

// Confirmations is the depth that payments need, relative to the tables of the networks.
type Confirmations string

const (
	// StandardConfirmations are those of the tables.
	StandardConfirmations Confirmations = "standard"
	// MoreConfirmations are those that the tables require for the next higher range of amounts.
	MoreConfirmations Confirmations = "more"
	// MostConfirmations are those that the tables require for the highest amounts.
	MostConfirmations Confirmations = "most"
)

// AllConfirmations are all depths, the lowest first.
var AllConfirmations = []Confirmations{StandardConfirmations, MoreConfirmations, MostConfirmations}

// Steps returns the number of ranges of amounts by which the depth is higher than that of the tables.
func (c Confirmations) Steps() int {
	switch c {
	case MoreConfirmations:
		return 1
	case MostConfirmations:
		return maxSteps
	}
	return 0
}

// maxSteps is more than the number of ranges of a table.
const maxSteps = 100

// Relaxes reports whether p can make an invoice paid, or an acceptance possible, that old would not, or removes personal
// data or invoices earlier.
func (p PaymentSettings) Relaxes(old PaymentSettings) bool {
	return !p.Tolerance.within(old.Tolerance) || !p.ShortLimit.within(old.ShortLimit) ||
		slices.Index(AllLatePayments, p.LatePayments) > slices.Index(AllLatePayments, old.LatePayments) ||
		slices.Index(AllConfirmations, p.Confirmations) < slices.Index(AllConfirmations, old.Confirmations) ||
		p.raisesZeroConfirmation(old) ||
		isEarlier(p.PersonalDataMonths, old.PersonalDataMonths) || isEarlier(p.BookYears, old.BookYears)
}

// isEarlier reports whether a period ends before another; 0 never ends.
func isEarlier(period, other int) bool { return period > 0 && (other == 0 || period < other) }

// raisesZeroConfirmation reports whether a zero-confirmation cap of p is higher than in old.
func (p PaymentSettings) raisesZeroConfirmation(old PaymentSettings) bool {
	for asset, limit := range p.ZeroConfirmation {
		if limit.Cents() > old.ZeroConfirmation[asset].Cents() {
			return true
		}
	}
	return false
}

// within reports whether a bound is at most another for every price.
func (b Bound) within(other Bound) bool {
	switch {
	case b.isZero():
		return true
	case other.isZero():
		return false
	case other.BasisPoints > 0 && (b.BasisPoints == 0 || b.BasisPoints > other.BasisPoints):
		return false
	}
	return other.Euro.IsZero() || !b.Euro.IsZero() && b.Euro.Cmp(other.Euro) <= 0
}

func (b Bound) isZero() bool { return b.BasisPoints == 0 && b.Euro.IsZero() }

// SettingName is the name of a payment setting in storage, forms, commands and the audit log.
type SettingName string

// The payment settings.
const (
	SettingQuoteMinutes      SettingName = "quote_minutes"
	SettingTolerancePercent  SettingName = "tolerance_percent"
	SettingToleranceAmount   SettingName = "tolerance_amount"
	SettingLatePayments      SettingName = "late_payments"
	SettingMethods           SettingName = "payment_methods"
	SettingConfirmations     SettingName = "confirmations"
	SettingShortPercent      SettingName = "short_percent"
	SettingShortAmount       SettingName = "short_amount"
	SettingLanguages         SettingName = "languages"
	SettingStorefront        SettingName = "storefront"
	SettingCurrency          SettingName = "currency"
	SettingTimeZone          SettingName = "time_zone"
	SettingExplorers         SettingName = "explorers"
	SettingPersonalData      SettingName = "personal_data_months"
	SettingBooks             SettingName = "book_years"
	SettingZeroBTC           SettingName = "zero_confirmation_btc"
	SettingZeroLTC           SettingName = "zero_confirmation_ltc"
	SettingLightningLeast    SettingName = "lightning_least"
	SettingLightningMost     SettingName = "lightning_most"
	SettingLightningOnDemand SettingName = "lightning_on_demand"
	SettingLightningOrder    SettingName = "lightning_order_id"
	SettingLightningUnified  SettingName = "lightning_unified"
)

// definition defines a payment setting.
type definition struct {
	name     SettingName
	standard string // the default, in normal form
	// set parses a text into its field, and returns the text in normal form.
	set func(p *PaymentSettings, text string) (normal string, err error)
}

// definitions are the payment settings, in the order of lists.
var definitions = []definition{
	{SettingMethods, "", setMethods},
	{SettingQuoteMinutes, "15", setQuoteTime},
	{SettingLatePayments, string(LateDecide), setLatePayments},
	{SettingTolerancePercent, "0", func(p *PaymentSettings, text string) (string, error) { return setPercent(&p.Tolerance, text) }},
	{SettingToleranceAmount, "0", func(p *PaymentSettings, text string) (string, error) { return setEuro(&p.Tolerance, text) }},
	{SettingConfirmations, string(StandardConfirmations), setConfirmations},
	{SettingZeroBTC, "0", func(p *PaymentSettings, text string) (string, error) { return setZeroConfirmation(p, "BTC", text) }},
	{SettingZeroLTC, "0", func(p *PaymentSettings, text string) (string, error) { return setZeroConfirmation(p, "LTC", text) }},
	{SettingLightningLeast, "100", func(p *PaymentSettings, text string) (string, error) { return setSatoshis(&p.Lightning.Least, text) }},
	{SettingLightningMost, "5000000", func(p *PaymentSettings, text string) (string, error) { return setSatoshis(&p.Lightning.Most, text) }},
	{SettingLightningOnDemand, "off", func(p *PaymentSettings, text string) (string, error) { return setSwitch(&p.Lightning.OnDemand, text) }},
	{SettingLightningOrder, "off", func(p *PaymentSettings, text string) (string, error) { return setSwitch(&p.Lightning.NamesOrder, text) }},
	{SettingLightningUnified, "on", func(p *PaymentSettings, text string) (string, error) { return setSwitch(&p.Lightning.Unified, text) }},
	{SettingShortPercent, "5", func(p *PaymentSettings, text string) (string, error) { return setPercent(&p.ShortLimit, text) }},
	{SettingShortAmount, "20", func(p *PaymentSettings, text string) (string, error) { return setEuro(&p.ShortLimit, text) }},
	{SettingLanguages, "", setLanguages},
	{SettingStorefront, "off", setStorefront},
	{SettingCurrency, money.EUR.Code, setCurrency},
	{SettingTimeZone, zone.UTC, setZone},
	{SettingExplorers, "", setExplorers},
	{SettingPersonalData, Kept, setPersonalDataMonths},
	{SettingBooks, Kept, setBookYears},
}

// SettingNames returns the names of the payment settings, in the order of lists.
func SettingNames() []SettingName {
	names := make([]SettingName, len(definitions))
	for i, d := range definitions {
		names[i] = d.name
	}
	return names
}

// definitionOf returns the definition of a payment setting.
func definitionOf(name SettingName) (definition, error) {
	i := slices.IndexFunc(definitions, func(d definition) bool { return d.name == name })
	if i < 0 {
		return definition{}, &FieldError{Field: string(name), Fault: "is not a payment setting; there are " + joined(SettingNames())}
	}
	return definitions[i], nil
}

// parse sets the field of a setting from its text. An empty text is the default.
func (d definition) parse(p *PaymentSettings, text string) (normal string, err error) {
	if text == "" {
		text = d.standard
	}
	normal, err = d.set(p, text)
	if err != nil {
		return "", &FieldError{Field: string(d.name), Fault: err.Error()}
	}
	return normal, nil
}

// joined joins words with commas.
func joined[W ~string](words []W) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, ", ")
}

// oneOf returns the known word with the given text. The error lists the known words.
func oneOf[W ~string](text string, known []W) (W, error) {
	if !slices.Contains(known, W(text)) {
		return "", fmt.Errorf("must be one of %s", joined(known))
	}
	return W(text), nil
}
