package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/clocktest"
	"chequer/internal/config"
	"chequer/internal/merchant"
)

// A server applies payment settings that another process changes after at most a second, without a restart.
// Invoices that exist keep their terms.
func TestApp_applies_settings_of_another_process(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	clock := clocktest.New(noon)
	p := demoWithClock(t, clock.Now)
	create := func() api.Invoice {
		t.Helper()
		_, text := p.create(api.PathInvoiceNew)
		var inv api.Invoice
		if err := json.Unmarshal([]byte(text), &inv); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return inv
	}
	before := create()
	if want := "2026-11-29T12:15:00.000Z"; before.ExpiredAt != want {
		t.Errorf("with the default the quote ends at %s, want %s", before.ExpiredAt, want)
	}
	if _, list := fetch(t, p.url+"/?lang="); !strings.Contains(list, "Deutsch") || !strings.Contains(list, "français") {
		t.Error("the list of languages does not have all")
	}
	core, err := app.OpenCore(t.Context(), p.config, app.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	shop, err := core.FirstShop(t.Context(), p.config, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes := merchant.Choices{merchant.SettingQuoteMinutes: "30", merchant.SettingMethods: "LTC", merchant.SettingLanguages: "en de"}
	if _, err := core.Settings.Change(t.Context(), shop.ID, "", changes); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	after := create()
	if want := "2026-11-29T12:30:01.000Z"; after.ExpiredAt != want || len(after.Addresses) != 1 || after.Addresses[0].CryptoCurrency != "LTC" {
		t.Errorf("the new invoice is %+v, want a quote until %s and only LTC", after, want)
	}
	if _, list := fetch(t, p.url+"/?lang="); !strings.Contains(list, "Deutsch") || strings.Contains(list, "français") {
		t.Error("the list of languages does not have the chosen ones")
	}
	_, text := fetch(t, p.url+api.PathInvoiceStatus+"?id="+before.ForeignID)
	if !strings.Contains(text, before.ExpiredAt) {
		t.Errorf("the older invoice does not keep the end of its quote, %s: %s", before.ExpiredAt, text)
	}
}

// Settings that the environment sets take precedence over those of the shop.
func TestOpenCore_finds_settings_of_the_environment(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{
		"CHEQUER_DATA_DIR=" + t.TempDir(), "CHEQUER_STOREFRONT=off", "CHEQUER_LANGUAGES=de,en", "CHEQUER_TOLERANCE_AMOUNT=0.10",
	})
	if err != nil {
		t.Fatal(err)
	}
	core, err := app.OpenCore(t.Context(), c, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	var got []string
	for _, s := range core.Settings.Overrides.List(nil) {
		if s.By != "" {
			got = append(got, s.By+"="+s.Value)
		}
	}
	if want := "CHEQUER_TOLERANCE_AMOUNT=0.10 CHEQUER_LANGUAGES=de,en CHEQUER_STOREFRONT=off"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}
