package merchant_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"chequer/internal/merchant"
)

func newLinks(m *memory) *merchant.Links {
	return merchant.NewLinks(merchant.LinksConfig{Storage: m, Prices: prices, Now: now, Token: tokens()})
}

func TestLinks_refuse_invalid_links(t *testing.T) {
	t.Parallel()
	const notURL = "must be an absolute https address with a host name, and without a user name"
	for name, tt := range map[string]struct {
		set   func(*merchant.Link)
		fault string
	}{
		"valid":                           {func(*merchant.Link) {}, ""},
		"any amount":                      {func(l *merchant.Link) { l.Amount = "" }, ""},
		"slug of one letter":              {func(l *merchant.Link) { l.Slug = "a" }, ""},
		"slug of 64 characters":           {func(l *merchant.Link) { l.Slug = strings.Repeat("a", 64) }, ""},
		"slug of 65 characters":           {func(l *merchant.Link) { l.Slug = strings.Repeat("a", 65) }, "slug must have 1 to 64 letters a to z, digits and hyphens"},
		"slug in capitals":                {func(l *merchant.Link) { l.Slug = "Coffee" }, "slug must have 1 to 64 letters a to z, digits and hyphens"},
		"slug that begins with a hyphen":  {func(l *merchant.Link) { l.Slug = "-a" }, "slug must have 1 to 64 letters a to z, digits and hyphens"},
		"slug that ends with a hyphen":    {func(l *merchant.Link) { l.Slug = "a-" }, "slug must have 1 to 64 letters a to z, digits and hyphens"},
		"description of 512 characters":   {func(l *merchant.Link) { l.Description = strings.Repeat("ö", 512) }, ""},
		"description of 513 characters":   {func(l *merchant.Link) { l.Description = strings.Repeat("ö", 513) }, "description must have at most 512 characters"},
		"success address without a host":  {func(l *merchant.Link) { l.URLSuccess = "https:///thanks" }, "url_success " + notURL},
		"failure address over http":       {func(l *merchant.Link) { l.URLFailure = "http://shop.example/" }, "url_failure " + notURL},
		"language with a region":          {func(l *merchant.Link) { l.Language = "pt-BR" }, ""},
		"language that is a word":         {func(l *merchant.Link) { l.Language = "portuguese" }, "language must be a language tag such as de or pt-BR"},
		"the most uses":                   {func(l *merchant.Link) { l.MaxUses = merchant.MaxLinkUses }, ""},
		"too many uses":                   {func(l *merchant.Link) { l.MaxUses = merchant.MaxLinkUses + 1 }, "max_uses must be a whole number from 0 to 1000000"},
		"negative uses":                   {func(l *merchant.Link) { l.MaxUses = -1 }, "max_uses must be a whole number from 0 to 1000000"},
		"negative amount":                 {func(l *merchant.Link) { l.Amount = "-1" }, "amount must be a number, digits with at most one dot, such as 12.50"},
		"amount of zero":                  {func(l *merchant.Link) { l.Amount = "0.00" }, "amount must be more than 0"},
		"amount with too many decimals":   {func(l *merchant.Link) { l.Amount = "1.005" }, "amount must have at most 2 decimals in EUR"},
		"amount above the maximum":        {func(l *merchant.Link) { l.Amount = "1000000.01" }, "amount must be at most 1000000 EUR"},
		"currency in small letters":       {func(l *merchant.Link) { l.Currency = "eur" }, "fiat_currency must be EUR, USD or JPY"},
		"currency that a setting enables": {func(l *merchant.Link) { l.Amount, l.Currency = "", "CHF" }, "fiat_currency must be EUR, USD or JPY; the setting CHEQUER_FIAT adds CHF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			l := merchant.Link{Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Amount: "3.50", Currency: "EUR"}
			tt.set(&l)
			_, err := newLinks(m).Create(t.Context(), l)
			checkFault(t, err, tt.fault)
			if stored := len(m.links) == 1; stored != (tt.fault == "") {
				t.Errorf("link is stored = %v", stored)
			}

			before := merchant.Link{Slug: "tea", Amount: "1", MerchantID: "shop", Mode: merchant.Live, Currency: "EUR"}
			m = newMemory()
			m.links["tea"] = before
			_, err = newLinks(m).Change(t.Context(), "shop", merchant.Live, "tea", func(l *merchant.Link) error {
				l.Amount = "3.50"
				tt.set(l)
				return nil
			})
			checkFault(t, err, tt.fault)
			if changed := m.links["tea"] != before; changed != (tt.fault == "") {
				t.Errorf("link is changed = %v", changed)
			}
		})
	}
}

func TestLinks_Create_makes_a_slug_and_refuses_a_used_one(t *testing.T) {
	t.Parallel()
	m := newMemory()
	links := newLinks(m)
	l, err := links.Create(t.Context(), merchant.Link{Currency: "EUR", URLSuccess: "https://bücher.example/danke"})
	if err != nil || l.Slug != "a000000000000001" || !l.CreatedAt.Equal(noon) || l.URLSuccess != "https://xn--bcher-kva.example/danke" {
		t.Errorf("Create = %+v, %v", l, err)
	}
	if _, err := links.Create(t.Context(), merchant.Link{Slug: l.Slug, Currency: "EUR"}); !errors.Is(err, merchant.ErrExists) {
		t.Errorf("Create with a slug in use: %v", err)
	}
	errChange := errors.New("refused")
	if _, err := links.Change(t.Context(), "shop", merchant.Live, l.Slug, func(*merchant.Link) error { return errChange }); !errors.Is(err, errChange) {
		t.Errorf("Change that is refused: %v", err)
	}
	if _, err := links.Change(t.Context(), "shop", merchant.Live, "none", func(*merchant.Link) error { return nil }); !errors.Is(err, merchant.ErrNotFound) {
		t.Errorf("Change of no link: %v", err)
	}
}

func TestLinks_Find_reads_only_valid_slugs(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.links["coffee"] = merchant.Link{Slug: "coffee"}
	for text, want := range map[string]struct {
		err  error
		read int
	}{
		"coffee": {nil, 1}, "COFFEE": {nil, 1}, "tea": {merchant.ErrNotFound, 1},
		"": {merchant.ErrNotFound, 0}, "coffee/": {merchant.ErrNotFound, 0}, "çoffee": {merchant.ErrNotFound, 0}, "cof\x00fee": {merchant.ErrNotFound, 0},
	} {
		m.read = 0
		if _, err := newLinks(m).Find(t.Context(), text); !errors.Is(err, want.err) || m.read != want.read {
			t.Errorf("Find(%q) = %v after %d reads, want %v after %d", text, err, m.read, want.err, want.read)
		}
	}
}

func TestLink_Ended_begins_at_the_end_time(t *testing.T) {
	t.Parallel()
	for ends, want := range map[time.Time]bool{
		{}: false, noon.Add(time.Millisecond): false, noon: true, noon.Add(-time.Hour): true,
	} {
		if got := (merchant.Link{EndsAt: ends}).Ended(noon); got != want {
			t.Errorf("link that ends at %s has ended = %v at %s, want %v", ends, got, noon, want)
		}
	}
}
