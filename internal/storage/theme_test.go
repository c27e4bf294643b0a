package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
	"chequer/internal/storage"
	"chequer/internal/theme"
)

// oddTheme has values with characters that have a meaning in SQL, JSON and HTML.
var oddTheme = theme.Theme{
	Name: "Süd \"<&>\" 🥨", Accent: "#0a7d5a", Line: "'x'; -- \\u0041", Support: "mailto:help@shop.example", Terms: "https://shop.example/?a=1&b=2",
	Stay: true, Logo: theme.Logo{Type: theme.TypePNG, Body: []byte("\x89PNG\x00\xff\n")},
}

func TestTheme_is_read_back(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		if _, err := s.Theme(ctx, "shop"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("before a theme is set: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if err := s.SetTheme(ctx, "unknown", "", oddTheme, noon); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("set for an unknown merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		red := theme.Theme{Accent: "#e8573a"}
		replaces := ""
		for _, l := range []theme.Theme{red, oddTheme} {
			if err := s.SetTheme(ctx, "shop", replaces, l, noon); err != nil {
				t.Fatal(err)
			}
			replaces = l.Hash()
		}
		for _, stale := range []string{"", red.Hash(), "unknown"} {
			if err := s.SetTheme(ctx, "shop", stale, red, noon); !errors.Is(err, merchant.ErrStale) {
				t.Errorf("set in place of the theme %q: got error %v, want %v", stale, err, merchant.ErrStale)
			}
		}
		if err := s.SetTheme(ctx, "bakery", "", red, noon); err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			read func() (theme.Theme, error)
			want theme.Theme
		}{
			"the current theme":              {func() (theme.Theme, error) { return s.Theme(ctx, "shop") }, oddTheme},
			"the theme of another merchant":  {func() (theme.Theme, error) { return s.Theme(ctx, "bakery") }, red},
			"the current theme by its hash":  {func() (theme.Theme, error) { return s.ThemeByHash(ctx, "", oddTheme.Hash()) }, oddTheme},
			"the previous theme by its hash": {func() (theme.Theme, error) { return s.ThemeByHash(ctx, "", red.Hash()) }, red},
		} {
			if got, err := tt.read(); err != nil || cmp.Diff(got, tt.want) != "" {
				t.Errorf("%s: got %+v, %v, want %+v", name, got, err, tt.want)
			}
		}
		if got, err := s.Theme(ctx, "shop"); err != nil || got.Hash() != oddTheme.Hash() {
			t.Errorf("the theme that was read has the hash %s, error %v", got.Hash(), err)
		}
	})
}

// Open pages refer to the theme that they were rendered with.
func TestSetTheme_keeps_the_last_eight_themes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		var themes []theme.Theme
		replaces := ""
		for i := range 12 {
			themes = append(themes, theme.Theme{Name: fmt.Sprint(i)})
			if err := s.SetTheme(ctx, "shop", replaces, themes[i], noon); err != nil {
				t.Fatal(err)
			}
			replaces = themes[i].Hash()
		}
		for i, l := range themes {
			_, err := s.ThemeByHash(ctx, "", l.Hash())
			if want := i >= 4; (err == nil) != want || err != nil && !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("theme %d: got error %v, want it found: %v", i, err, want)
			}
		}
	})
}
