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

// oddLook has values that are hard to store.
var oddLook = theme.Theme{
	Name: "Süd \"<&>\" 🥨", Accent: "#0a7d5a", Line: "'x'; -- \\u0041", Support: "mailto:help@shop.example", Terms: "https://shop.example/?a=1&b=2",
	Stay: true, Logo: theme.Logo{Type: theme.TypePNG, Body: []byte("\x89PNG\x00\xff\n")},
}

func TestLooks(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		if _, err := s.Theme(ctx, "shop"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("before a theme is set: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if err := s.SetTheme(ctx, "unknown", oddLook, noon); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("of an unknown merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		red := theme.Theme{Accent: "#e8573a"}
		for _, l := range []theme.Theme{red, oddLook} {
			if err := s.SetTheme(ctx, "shop", l, noon); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SetTheme(ctx, "bakery", red, noon); err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			read func() (theme.Theme, error)
			want theme.Theme
		}{
			"the current one":    {func() (theme.Theme, error) { return s.Theme(ctx, "shop") }, oddLook},
			"another merchant's": {func() (theme.Theme, error) { return s.Theme(ctx, "bakery") }, red},
			"by hash":            {func() (theme.Theme, error) { return s.ThemeByHash(ctx, oddLook.Hash()) }, oddLook},
			"the one before":     {func() (theme.Theme, error) { return s.ThemeByHash(ctx, red.Hash()) }, red},
		} {
			if got, err := tt.read(); err != nil || cmp.Diff(got, tt.want) != "" {
				t.Errorf("%s: got %+v, %v, want %+v", name, got, err, tt.want)
			}
		}
		if got, err := s.Theme(ctx, "shop"); err != nil || got.Hash() != oddLook.Hash() {
			t.Errorf("the theme that was read has the hash %s, error %v", got.Hash(), err)
		}
	})
}

// Open pages refer to the theme that they were rendered with.
func TestSetLook_keeps_the_last_eight(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		var all []theme.Theme
		for i := range 12 {
			all = append(all, theme.Theme{Name: fmt.Sprint(i)})
			if err := s.SetTheme(ctx, "shop", all[i], noon); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range all {
			_, err := s.ThemeByHash(ctx, l.Hash())
			if want := i >= 4; (err == nil) != want || err != nil && !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("look %d: got error %v, want it found: %v", i, err, want)
			}
		}
	})
}
