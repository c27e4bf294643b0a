package merchant_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
	"chequer/internal/money"
)

// memoryMerchant holds one merchant and counts the reads.
type memoryMerchant struct {
	merchant.Storage
	shop  merchant.Merchant
	reads int
}

func (b *memoryMerchant) Merchant(context.Context, string) (merchant.Merchant, error) {
	b.reads++
	return b.shop, nil
}

func (b *memoryMerchant) ChangeChoices(_ context.Context, _ string, change func(merchant.Choices) (merchant.Choices, error)) (merchant.Choices, error) {
	next, err := change(b.shop.Choices)
	if err != nil {
		return nil, err
	}
	b.shop.Choices = next
	return next, nil
}

// newSettings returns settings of a merchant.
func newSettings(b *memoryMerchant, now func() time.Time, o merchant.Overrides) *merchant.Settings {
	return merchant.NewSettings(merchant.SettingsConfig{
		Storage: b, Merchants: merchant.NewService(b, now, tokens()), Overrides: o, Prices: prices,
		CheckLanguages: func(codes []string) error {
			if codes[0] != "de" {
				return errors.New("must begin with de")
			}
			return nil
		},
	})
}

// A new currency in which the server accepts no prices is refused. A stored one remains until another is chosen, and the pages
// use euro instead.
func TestSettings_Change_checks_the_currency(t *testing.T) {
	t.Parallel()
	b := &memoryMerchant{shop: merchant.Merchant{ID: "shop", Choices: merchant.Choices{merchant.SettingCurrency: "GBP"}}}
	s := newSettings(b, now, nil)
	_, err := s.Change(t.Context(), "shop", "", merchant.Choices{merchant.SettingCurrency: "CHF"})
	if wrong, ok := errors.AsType[*merchant.FieldError](err); !ok || wrong.Field != "currency" || wrong.Fault != "must be EUR, USD or JPY; the setting CHEQUER_FIAT adds CHF" {
		t.Errorf("got error %v", err)
	}
	for code, want := range map[string]string{"GBP": "EUR", "JPY": "JPY"} {
		chosen, err := s.Change(t.Context(), "shop", "", merchant.Choices{merchant.SettingCurrency: code})
		if err != nil || chosen[merchant.SettingCurrency] != code {
			t.Errorf("%s: got %v, error %v, want the currency", code, chosen, err)
		}
		if now, err := s.Effective(t.Context(), "shop"); err != nil || now.Currency != want {
			t.Errorf("%s: the currency is %s, error %v, want %s", code, now.Currency, err, want)
		}
		b.shop.Choices = merchant.Choices{merchant.SettingCurrency: "GBP"}
	}
}

func TestOverrides_Effective_has_the_defaults(t *testing.T) {
	t.Parallel()
	euro := func(text string) money.Amount { return money.MustParse(text, money.EUR) }
	bitcoin := func(text string) money.Amount { return money.MustParse(text, money.BTC) }
	want := merchant.PaymentSettings{
		QuoteTime: 15 * time.Minute, Tolerance: merchant.Bound{Euro: euro("0")}, LatePayments: merchant.LateDecide, Confirmations: merchant.StandardConfirmations,
		ShortLimit: merchant.Bound{BasisPoints: 500, Euro: euro("20")}, Zone: "UTC", Currency: "EUR",
		ZeroConfirmation: map[string]money.Amount{"BTC": euro("0"), "LTC": euro("0")},
		Lightning:        merchant.Lightning{Least: bitcoin("0.000001"), Most: bitcoin("0.05"), Unified: true},
	}
	if got, err := merchant.Overrides(nil).Effective(nil); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	chosen, err := merchant.Choices{}.With(merchant.Choices{
		merchant.SettingMethods: "EURC,BTC", merchant.SettingQuoteMinutes: "030", merchant.SettingTolerancePercent: "0.50", merchant.SettingToleranceAmount: "0.10",
		merchant.SettingLatePayments: "worth", merchant.SettingConfirmations: "most", merchant.SettingShortPercent: "0", merchant.SettingShortAmount: "9.5",
		merchant.SettingLanguages: "de en de", merchant.SettingStorefront: "on", merchant.SettingCurrency: "chf", merchant.SettingTimeZone: "asia/kathmandu", merchant.SettingZeroLTC: "25",
		merchant.SettingLightningLeast: "01000", merchant.SettingLightningMost: "10000000", merchant.SettingLightningOnDemand: "on",
		merchant.SettingLightningOrder: "on", merchant.SettingLightningUnified: "off",
	})
	if err != nil {
		t.Fatal(err)
	}
	want = merchant.PaymentSettings{
		QuoteTime: 30 * time.Minute, Tolerance: merchant.Bound{BasisPoints: 50, Euro: euro("0.1")}, LatePayments: merchant.LateWorth, Methods: "EURC BTC",
		Confirmations: merchant.MostConfirmations, ShortLimit: merchant.Bound{Euro: euro("0")}, Languages: []string{"de", "en"}, Storefront: true, Currency: "CHF", Zone: "Asia/Kathmandu",
		ZeroConfirmation: map[string]money.Amount{"BTC": euro("0"), "LTC": euro("25")},
		Lightning:        merchant.Lightning{Least: bitcoin("0.00001"), Most: bitcoin("0.1"), OnDemand: true, NamesOrder: true},
	}
	if got, err := merchant.Overrides(nil).Effective(chosen); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

// entryFault begins the errors about an entry of the explorers.
const entryFault = "explorers must have entries such as bitcoin=https://explorer.example/tx/{tx}; "

// A value that is not valid is refused with the name of its setting, and the default is no choice.
func TestChoices_With_refuses_invalid_values_by_name(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  merchant.SettingName
		value string
		want  string // normal form, or the beginning of an error
	}{
		{merchant.SettingQuoteMinutes, "60", "60"},
		{merchant.SettingQuoteMinutes, "15", ""},
		{merchant.SettingQuoteMinutes, "", ""},
		{merchant.SettingQuoteMinutes, "0", "quote_minutes must be a whole number from 1 to 60"},
		{merchant.SettingQuoteMinutes, "61", "quote_minutes must be"},
		{merchant.SettingQuoteMinutes, "1.5", "quote_minutes must be"},
		{merchant.SettingLightningLeast, "-1", "lightning_least must be a whole number from 1 to"},
		{merchant.SettingLightningMost, "0.5", "lightning_most must be a whole number from 1 to"},
		{merchant.SettingTolerancePercent, "20.00", "20"},
		{merchant.SettingTolerancePercent, "20.01", "tolerance_percent must be a percentage from 0 to 20"},
		{merchant.SettingTolerancePercent, "-1", "tolerance_percent must be"},
		{merchant.SettingToleranceAmount, "0.001", "tolerance_amount must be an amount of euro"},
		{merchant.SettingToleranceAmount, "1000000", "tolerance_amount must be"},
		{merchant.SettingLatePayments, "Accept", "late_payments must be one of decide, worth, accept"},
		{merchant.SettingConfirmations, "0", "confirmations must be one of standard, more, most"},
		{merchant.SettingZeroBTC, "49.90", "49.9"},
		{merchant.SettingZeroLTC, "0.00", ""},
		{merchant.SettingZeroBTC, "500", "500"},
		{merchant.SettingZeroBTC, "500.01", "zero_confirmation_btc must be an amount of euro from 0 to 500"},
		{merchant.SettingZeroLTC, "-1", "zero_confirmation_ltc must be an amount of euro from 0 to 500"},
		{merchant.SettingBooks, "02", "2"},
		{merchant.SettingBooks, "50", "50"},
		{merchant.SettingBooks, "off", ""},
		{merchant.SettingBooks, "1", "book_years must be off, or a whole number of years from 2 to 50"},
		{merchant.SettingBooks, "51", "book_years must be off"},
		{merchant.SettingMethods, "BTC BTC", "payment_methods must not contain BTC twice"},
		{merchant.SettingMethods, "btc", "payment_methods must be codes"},
		{merchant.SettingShortPercent, "all", "short_percent must be"},
		{merchant.SettingShortAmount, "20", ""},
		{merchant.SettingLanguages, "d", "languages must be a language tag"},
		{merchant.SettingCurrency, "eur", ""},
		{merchant.SettingCurrency, "BTC", `currency must be the code of a currency such as EUR, not "BTC"`},
		{merchant.SettingLightningLeast, "0", "lightning_least must be a whole number from 1 to 100000000"},
		{merchant.SettingLightningMost, "0.05", "lightning_most must be a whole number from 1 to 100000000"},
		{merchant.SettingLightningMost, "99", "lightning_most must be at least 100, the smallest amount"},
		{merchant.SettingLightningLeast, "5000001", "lightning_most must be at least 5000001, the smallest amount"},
		{merchant.SettingLightningLeast, "5000000", "5000000"},
		{merchant.SettingLightningUnified, "yes", "lightning_unified must be one of on, off"},
		{merchant.SettingStorefront, "yes", "storefront must be one of on, off"},
		{merchant.SettingExplorers, " bitcoin=https://e.example/tx/{tx}\n bitcoin=https://e.example/a/{address} ", "bitcoin=https://e.example/tx/{tx} bitcoin=https://e.example/a/{address}"},
		{merchant.SettingExplorers, "base-sepolia=https://e.example:8443/?q={tx}&x=1#y", "base-sepolia=https://e.example:8443/?q={tx}&x=1#y"},
		{merchant.SettingExplorers, "bitcoin", entryFault + `"bitcoin" must contain exactly one placeholder, {tx} or {address}`},
		{merchant.SettingExplorers, "https://e.example/{tx}", entryFault + `"https://e.example/{tx}" does not begin with the name of a network and =`},
		{merchant.SettingExplorers, "b=http://e.example/{tx}", entryFault + `"b=http://e.example/{tx}" does not begin with https:// and a host`},
		{merchant.SettingExplorers, "b=javascript:{tx}", entryFault + `"b=javascript:{tx}" does not begin with https:// and a host`},
		{merchant.SettingExplorers, "b=https:///{tx}", entryFault + `"b=https:///{tx}" does not begin with https:// and a host`},
		{merchant.SettingExplorers, "b=https://{tx}.e.example/", entryFault + `"b=https://{tx}.e.example/" does not begin with https://, a host in lower case and /`},
		{merchant.SettingExplorers, "b=https://e.example?tx={tx}", entryFault + `"b=https://e.example?tx={tx}" does not begin with https://, a host in lower case and /`},
		{merchant.SettingExplorers, "b=https://e.example", entryFault + `"b=https://e.example" must contain exactly one placeholder`},
		{merchant.SettingExplorers, "b=https://e.example/{tx}/{tx}", entryFault + `"b=https://e.example/{tx}/{tx}" must contain exactly one placeholder`},
		{merchant.SettingExplorers, "b=https://e.example/{tx}/{address}", entryFault + `"b=https://e.example/{tx}/{address}" must contain exactly one placeholder`},
		{merchant.SettingExplorers, "b=https://u:p@e.example/{tx}", entryFault + `"b=https://u:p@e.example/{tx}" contains a user name`},
		{merchant.SettingExplorers, `b=https://e.example/"{tx}`, entryFault + `"b=https://e.example/\"{tx}" is not the address of a page`},
		{merchant.SettingExplorers, "b=https://e.example/ä{tx}", entryFault + `"b=https://e.example/ä{tx}" is not the address of a page`},
		{merchant.SettingExplorers, "b=https://e.example/{tx}" + strings.Repeat("x", 300), "explorers must have entries such as"},
		{merchant.SettingExplorers, "b=https://e.example/{tx} b=https://f.example/{tx}", "explorers must have one entry with {tx} for each network; b has several"},
		{"colour", "red", "colour is not a payment setting; there are payment_methods, quote_minutes, "},
	} {
		got, err := merchant.Choices{}.With(merchant.Choices{tt.name: tt.value})
		if err != nil {
			if field, ok := errors.AsType[*merchant.FieldError](err); !ok || tt.want == "" || !strings.HasPrefix(field.Error(), tt.want) {
				t.Errorf("%s=%s: got error %v, want %q", tt.name, tt.value, err, tt.want)
			}
			continue
		}
		if got[tt.name] != tt.want || len(got) > 0 && tt.want == "" {
			t.Errorf("%s=%s: got %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestPaymentSettings_Relaxes_reports_looser_rules_only(t *testing.T) {
	t.Parallel()
	type choices = merchant.Choices
	for name, tt := range map[string]struct {
		old, next choices
		want      bool
	}{
		"nothing":                              {nil, nil, false},
		"a longer quote":                       {nil, choices{"quote_minutes": "60"}, false},
		"a tolerance":                          {nil, choices{"tolerance_percent": "0.5"}, true},
		"less tolerance":                       {choices{"tolerance_percent": "0.5"}, nil, false},
		"a second bound":                       {choices{"tolerance_percent": "0.5"}, choices{"tolerance_percent": "0.5", "tolerance_amount": "1"}, false},
		"no second bound any more":             {choices{"tolerance_percent": "0.5", "tolerance_amount": "1"}, choices{"tolerance_percent": "0.5"}, true},
		"another bound":                        {choices{"tolerance_amount": "1"}, choices{"tolerance_percent": "0.5"}, true},
		"a larger amount":                      {choices{"tolerance_amount": "1"}, choices{"tolerance_amount": "1.01"}, true},
		"late payments with their worth":       {nil, choices{"late_payments": "worth"}, true},
		"late payments are decided again":      {choices{"late_payments": "accept"}, choices{"late_payments": "worth"}, false},
		"fewer confirmations":                  {choices{"confirmations": "more"}, nil, true},
		"more confirmations":                   {choices{"confirmations": "more"}, choices{"confirmations": "most"}, false},
		"a larger limit of short acceptance":   {nil, choices{"short_amount": "20.01"}, true},
		"no acceptance of short payments":      {nil, choices{"short_percent": "0"}, false},
		"acceptance of short payments allowed": {choices{"short_percent": "0"}, nil, true},
		"payments without confirmation":        {nil, choices{"zero_confirmation_ltc": "1"}, true},
		"a higher zero-confirmation cap":       {choices{"zero_confirmation_btc": "50"}, choices{"zero_confirmation_btc": "50.01"}, true},
		"a lower zero-confirmation cap":        {choices{"zero_confirmation_btc": "50"}, choices{"zero_confirmation_btc": "49"}, false},
		"invoices are removed":                 {nil, choices{"book_years": "10"}, true},
		"invoices are removed earlier":         {choices{"book_years": "10"}, choices{"book_years": "9"}, true},
		"invoices are removed later":           {choices{"book_years": "10"}, choices{"book_years": "11"}, false},
		"personal data are removed":            {nil, choices{"personal_data_months": "24"}, true},
		"personal data are removed earlier":    {choices{"personal_data_months": "24"}, choices{"personal_data_months": "23"}, true},
		"personal data are removed later":      {choices{"personal_data_months": "24"}, choices{"personal_data_months": "36"}, false},
		"personal data are kept":               {choices{"personal_data_months": "24"}, choices{"personal_data_months": "off"}, false},
	} {
		old, err := merchant.Overrides(nil).Effective(tt.old)
		if err != nil {
			t.Fatal(err)
		}
		next, err := merchant.Overrides(nil).Effective(tt.next)
		if err != nil {
			t.Fatal(err)
		}
		if got := next.Relaxes(old); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// A setting of the environment takes precedence, is listed with its source, and cannot be changed.
func TestSettings_of_the_environment(t *testing.T) {
	t.Parallel()
	b := &memoryMerchant{shop: merchant.Merchant{ID: "shop", Choices: merchant.Choices{merchant.SettingStorefront: "on", merchant.SettingQuoteMinutes: "30"}}}
	s := newSettings(b, func() time.Time { return noon }, merchant.Overrides{merchant.SettingStorefront: {Value: "off", By: "CHEQUER_STOREFRONT"}})
	if p, err := s.Effective(t.Context(), "shop"); err != nil || p.Storefront || p.QuoteTime != 30*time.Minute {
		t.Errorf("got %+v, %v", p, err)
	}
	var sources []string
	for _, setting := range s.Overrides.List(b.shop.Choices) {
		switch {
		case setting.Chosen:
			sources = append(sources, string(setting.Name)+"="+setting.Value+" chosen")
		case setting.By != "":
			sources = append(sources, string(setting.Name)+"="+setting.Value+" by "+setting.By)
		}
	}
	if diff := cmp.Diff([]string{"quote_minutes=30 chosen", "storefront=off by CHEQUER_STOREFRONT"}, sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	_, err := s.Change(t.Context(), "shop", "", merchant.Choices{merchant.SettingStorefront: "off", merchant.SettingQuoteMinutes: "45"})
	if field, ok := errors.AsType[*merchant.FieldError](err); !ok || field.Error() != "storefront is set by CHEQUER_STOREFRONT" {
		t.Errorf("got error %v", err)
	}
	if b.shop.Choices[merchant.SettingQuoteMinutes] != "30" {
		t.Error("a refused change was partly stored")
	}
	if err := (merchant.Overrides{merchant.SettingToleranceAmount: {Value: "much"}}).Check(); err == nil {
		t.Error("an override that breaks a rule is accepted")
	}
}

// A change of settings that were changed meanwhile is refused.
func TestSettings_Change_refuses_a_stale_revision(t *testing.T) {
	t.Parallel()
	b := &memoryMerchant{shop: merchant.Merchant{ID: "shop"}}
	s := newSettings(b, func() time.Time { return noon }, nil)
	seen := b.shop.Choices.Revision()
	if _, err := s.Change(t.Context(), "shop", seen, merchant.Choices{merchant.SettingLanguages: "de,en"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Change(t.Context(), "shop", seen, merchant.Choices{merchant.SettingQuoteMinutes: "30"}); !errors.Is(err, merchant.ErrStale) {
		t.Errorf("got error %v", err)
	}
	if _, err := s.Change(t.Context(), "shop", "", merchant.Choices{merchant.SettingLanguages: "en"}); err == nil || !strings.Contains(err.Error(), "languages must begin with de") {
		t.Errorf("got error %v", err)
	}
	if want := (merchant.Choices{merchant.SettingLanguages: "de en"}); !cmp.Equal(want, b.shop.Choices) {
		t.Errorf("got %q, want %q", b.shop.Choices, want)
	}
}

// A change is in force at once in this process, and after a second in another one. Until then the settings are
// read once.
func TestSettings_are_cached_like_keys(t *testing.T) {
	t.Parallel()
	at := noon
	now := func() time.Time { return at }
	b := &memoryMerchant{shop: merchant.Merchant{ID: "shop"}}
	here, elsewhere := newSettings(b, now, nil), newSettings(b, now, nil)
	minutes := func(s *merchant.Settings) time.Duration {
		t.Helper()
		p, err := s.Effective(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		return p.QuoteTime / time.Minute
	}
	for range 5 {
		minutes(here)
		minutes(elsewhere)
	}
	if b.reads != 2 {
		t.Errorf("the settings were read %d times, want once per process", b.reads)
	}
	if _, err := here.Change(t.Context(), "shop", "", merchant.Choices{merchant.SettingQuoteMinutes: "30"}); err != nil {
		t.Fatal(err)
	}
	if got := minutes(here); got != 30 {
		t.Errorf("in this process the quote has %d minutes", got)
	}
	at = noon.Add(time.Second)
	if got := minutes(elsewhere); got != 30 {
		t.Errorf("in another process the quote has %d minutes", got)
	}
}
