package merchant

import (
	"maps"
	"slices"
	"time"

	"chequer/internal/money"
	"chequer/internal/zone"
)

// Choices are the payment settings that a merchant has chosen, as texts in normal form. The default holds
// for a name that is absent.
type Choices map[SettingName]string

// Revision identifies the choices.
func (c Choices) Revision() string {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all = append(all, string(name), c[name])
	}
	return revision(all...)
}

// Zone returns the time zone of the merchant's books: UTC if the merchant has chosen none. The environment cannot set it.
func (c Choices) Zone() *time.Location {
	l, err := zone.Load(c[SettingTimeZone])
	if err != nil {
		return time.UTC
	}
	return l
}

// PersonalDataMonths returns the number of months after which personal data are removed: 0, which keeps them, if the
// merchant has chosen none. The environment cannot set it.
func (c Choices) PersonalDataMonths() int {
	var p PaymentSettings
	if text, chosen := c[SettingPersonalData]; chosen {
		if _, err := setPersonalDataMonths(&p, text); err != nil {
			return 0
		}
	}
	return p.PersonalDataMonths
}

// BookYears returns the number of whole calendar years after which invoices are removed: 0, which keeps them, if the merchant has
// chosen none. The environment cannot set it.
func (c Choices) BookYears() int {
	var p PaymentSettings
	if text, chosen := c[SettingBooks]; chosen {
		if _, err := setBookYears(&p, text); err != nil {
			return 0
		}
	}
	return p.BookYears
}

// With returns the choices after changes. An empty text or the default removes a choice. The error is a
// *FieldError.
func (c Choices) With(changes Choices) (Choices, error) {
	next := maps.Clone(c)
	if next == nil {
		next = Choices{}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		d, err := definitionOf(name)
		if err != nil {
			return nil, err
		}
		normal, err := d.parse(&PaymentSettings{}, changes[name])
		if err != nil {
			return nil, err
		}
		if next[name] = normal; normal == d.standard {
			delete(next, name)
		}
	}
	p, err := Overrides(nil).Effective(next)
	if err != nil {
		return next, nil //nolint:nilerr // a choice of an earlier release is broken, which is no fault of the changes
	}
	return next, p.checkLightning()
}

// Overrides are the settings of the server's environment, which take precedence over those of merchants.
type Overrides map[SettingName]Override

// Override is a setting that merchants cannot change.
type Override struct {
	Value string
	By    string // name of its source, such as "CHEQUER_STOREFRONT"
}

// Setting is a payment setting that is in force.
type Setting struct {
	Name    SettingName
	Value   string
	Default string
	// Chosen reports whether the merchant has chosen the value.
	Chosen bool
	// By names the source that takes precedence over the merchant; "" if the merchant can change the value.
	By string
}

// Check returns an error for an override that breaks a rule.
func (o Overrides) Check() error {
	_, err := o.Effective(nil)
	return err
}

// Effective returns the settings that are in force for a merchant with the given choices. The error is a
// *FieldError.
func (o Overrides) Effective(c Choices) (PaymentSettings, error) {
	var p PaymentSettings
	for _, d := range definitions {
		if _, err := d.parse(&p, o.setting(d, c).Value); err != nil {
			return PaymentSettings{}, err
		}
	}
	if p.ShortLimit.BasisPoints == 0 || p.ShortLimit.Euro.IsZero() {
		p.ShortLimit = Bound{Euro: money.Zero(money.EUR)} // if one bound is zero, the lower of both is
	}
	return p, nil
}

// List returns the settings that are in force for a merchant with the given choices.
func (o Overrides) List(c Choices) []Setting {
	all := make([]Setting, len(definitions))
	for i, d := range definitions {
		all[i] = o.setting(d, c)
	}
	return all
}

// setting returns the value of a setting that is in force.
func (o Overrides) setting(d definition, c Choices) Setting {
	s := Setting{Name: d.name, Value: d.standard, Default: d.standard}
	if chosen, ok := c[d.name]; ok {
		s.Value, s.Chosen = chosen, true
	}
	if over, ok := o[d.name]; ok {
		s.Value, s.Chosen, s.By = over.Value, false, over.By
	}
	return s
}
