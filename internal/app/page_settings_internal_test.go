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
	"chequer/web"
)

// shopStorage holds a merchant, which cannot be read while broken is set.
type shopStorage struct {
	merchant.Storage
	shop   merchant.Merchant
	broken error
	reads  int
}

func (s *shopStorage) Merchant(context.Context, string) (merchant.Merchant, error) {
	s.reads++
	return s.shop, s.broken
}

func (s *shopStorage) ChangeChoices(_ context.Context, _ string, change func(merchant.Choices) (merchant.Choices, error)) (_ merchant.Choices, err error) {
	s.shop.Choices, err = change(s.shop.Choices)
	return s.shop.Choices, err
}

// The pages have the settings of the shop, and the last ones while these cannot be read.
func TestPageSettings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := &shopStorage{shop: merchant.Merchant{ID: "shop"}}
	settings := merchant.NewSettings(merchant.SettingsConfig{
		Storage: s, Merchants: merchant.NewService(s, func() time.Time { return now }, nil), CheckLanguages: func([]string) error { return nil },
	})
	var log strings.Builder
	p := newPageSettings(settings, "shop", "en", web.Current{Languages: locale.All()}, func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
	check := func(what string, languages int, standard string, storefront bool) {
		t.Helper()
		now = now.Add(time.Second)
		c := p.current(t.Context())
		if len(c.Languages.List()) != languages || c.Languages.Default().Code != standard || c.Storefront != storefront {
			t.Errorf("%s: got %d languages, standard %s, storefront %t", what, len(c.Languages.List()), c.Languages.Default().Code, c.Storefront)
		}
	}
	all := len(locale.All().List())
	check("defaults", all, "en", false)
	s.shop.Choices = merchant.Choices{merchant.SettingLanguages: "fr de", merchant.SettingStorefront: "on"}
	check("without the standard language", 2, "fr", true)
	s.shop.Choices = merchant.Choices{merchant.SettingLanguages: "de en", merchant.SettingStorefront: "on"}
	check("with the standard language", 2, "en", true)
	s.broken = errors.New("storage is away")
	check("unreadable", 2, "en", true)
	if !strings.Contains(log.String(), "storage is away") {
		t.Errorf("the log is %q", log.String())
	}
	reads := s.reads
	for range 5 {
		p.current(t.Context())
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
