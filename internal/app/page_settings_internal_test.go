package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/web"
)

// shopStorage holds a merchant, which cannot be read while broken is set.
type shopStorage struct {
	merchant.Storage
	shop   merchant.Merchant
	broken error
	reads  int
}

func (s *shopStorage) Merchant(_ context.Context, id string) (merchant.Merchant, error) {
	s.reads++
	switch {
	case s.broken != nil:
		return merchant.Merchant{}, s.broken
	case id == "second":
		return merchant.Merchant{ID: id, Choices: merchant.Choices{merchant.SettingLanguages: "es it fr", merchant.SettingStorefront: "on", merchant.SettingCurrency: "CHF"}}, nil
	case id != "shop":
		return merchant.Merchant{}, merchant.ErrNotFound
	}
	return s.shop, nil
}

func (s *shopStorage) ChangeChoices(_ context.Context, _ string, change func(merchant.Choices) (merchant.Choices, error)) (_ merchant.Choices, err error) {
	s.shop.Choices, err = change(s.shop.Choices)
	return s.shop.Choices, err
}

// The pages have the settings of the shop. While these cannot be read, the pages have the settings that were read
// last.
func TestPageSettings_keep_the_last_values_during_a_fault(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := &shopStorage{shop: merchant.Merchant{ID: "shop"}}
	settings := merchant.NewSettings(merchant.SettingsConfig{
		Storage: s, Merchants: merchant.NewService(s, func() time.Time { return now }, nil), CheckLanguages: func([]string) error { return nil },
		Prices: merchant.NewPrices([]money.Currency{{Code: "CHF", Decimals: 2}}, "1000"),
	})
	var log strings.Builder
	p := newPageSettings(settings, "shop", "en", web.ShopSettings{Languages: locale.All()}, func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
	check := func(name string, languages int, standard string, storefront bool) {
		t.Helper()
		now = now.Add(time.Second)
		c := p.current(t.Context(), "")
		if len(c.Languages.List()) != languages || c.Languages.Default().Code != standard || c.Storefront != storefront {
			t.Errorf("%s: got %d languages, standard %s, storefront %t", name, len(c.Languages.List()), c.Languages.Default().Code, c.Storefront)
		}
	}
	all := len(locale.All().List())
	check("defaults", all, "en", false)
	s.shop.Choices = merchant.Choices{merchant.SettingLanguages: "fr de", merchant.SettingStorefront: "on"}
	check("without the standard language", 2, "fr", true)
	s.shop.Choices = merchant.Choices{merchant.SettingLanguages: "de en", merchant.SettingStorefront: "on"}
	check("with the standard language", 2, "en", true)
	s.broken = errors.New("storage does not answer")
	check("unreadable", 2, "en", true)
	if !strings.Contains(log.String(), "storage does not answer") {
		t.Errorf("the log is %q, want the error of the storage in it", log.String())
	}
	reads := s.reads
	for range 5 {
		p.current(t.Context(), "")
	}
	if s.reads != reads {
		t.Errorf("after a failure the settings were read %d times at once", s.reads-reads)
	}
	s.broken = nil
	s.shop.Choices = nil
	check("reset", all, "en", false)
	s.shop.Choices = merchant.Choices{merchant.SettingLanguages: "xx"} // of a later release
	check("unknown", all, "en", false)
}

// The pages of each shop have its own settings. After a failure for one shop, the pages of another shop do not wait
// for the storage.
func TestPageSettings_of_each_shop(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := &shopStorage{shop: merchant.Merchant{ID: "shop", Choices: merchant.Choices{merchant.SettingLanguages: "de en"}}}
	settings := merchant.NewSettings(merchant.SettingsConfig{
		Storage: s, Merchants: merchant.NewService(s, func() time.Time { return now }, nil), CheckLanguages: func([]string) error { return nil },
		Prices: merchant.NewPrices([]money.Currency{{Code: "CHF", Decimals: 2}}, "1000"),
	})
	p := newPageSettings(settings, "shop", "en", web.ShopSettings{Languages: locale.All()}, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	check := func(name string) {
		t.Helper()
		for _, tt := range []struct {
			shop, standard string
			languages      int
			storefront     bool
			currency       string
		}{{"", "en", 2, false, "EUR"}, {"shop", "en", 2, false, "EUR"}, {"second", "es", 3, true, "CHF"}, {"unknown", "en", 2, false, "EUR"}} {
			if name == "unreadable" && tt.shop == "unknown" {
				continue // the storage cannot report that the shop is unknown
			}
			c := p.current(t.Context(), tt.shop)
			if len(c.Languages.List()) != tt.languages || c.Languages.Default().Code != tt.standard || c.Storefront != tt.storefront || c.Currency != tt.currency {
				t.Errorf("%s, shop %q: got %d languages, standard %s, storefront %t, currency %q", name, tt.shop, len(c.Languages.List()), c.Languages.Default().Code, c.Storefront, c.Currency)
			}
		}
	}
	check("readable")
	if len(p.shops) != 2 {
		t.Errorf("the settings of %d shops are kept, want 2", len(p.shops))
	}
	s.broken = errors.New("storage does not answer")
	now = now.Add(2 * time.Second)
	check("unreadable")
	reads := s.reads
	if c := p.current(t.Context(), "second"); len(c.Languages.List()) != 3 || !c.Storefront || s.reads != reads {
		t.Errorf("got %d languages, storefront %t after %d reads", len(c.Languages.List()), c.Storefront, s.reads-reads)
	}
}
