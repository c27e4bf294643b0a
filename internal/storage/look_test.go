package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/look"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

// oddLook has values that are hard to store.
var oddLook = look.Look{
	Name: "Süd \"<&>\" 🥨", Accent: "#0a7d5a", Line: "'x'; -- \\u0041", Support: "mailto:help@shop.example", Terms: "https://shop.example/?a=1&b=2",
	Stay: true, Logo: look.Logo{Type: look.TypePNG, Body: []byte("\x89PNG\x00\xff\n")},
}

func TestLooks(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		if _, err := s.Look(ctx, "shop"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("before a theme is set: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if err := s.SetLook(ctx, "unknown", oddLook, noon); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("of an unknown merchant: got error %v, want %v", err, merchant.ErrNotFound)
		}
		red := look.Look{Accent: "#e8573a"}
		for _, l := range []look.Look{red, oddLook} {
			if err := s.SetLook(ctx, "shop", l, noon); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SetLook(ctx, "bakery", red, noon); err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			read func() (look.Look, error)
			want look.Look
		}{
			"the current one":    {func() (look.Look, error) { return s.Look(ctx, "shop") }, oddLook},
			"another merchant's": {func() (look.Look, error) { return s.Look(ctx, "bakery") }, red},
			"by hash":            {func() (look.Look, error) { return s.LookByHash(ctx, oddLook.Hash()) }, oddLook},
			"the one before":     {func() (look.Look, error) { return s.LookByHash(ctx, red.Hash()) }, red},
		} {
			if got, err := tt.read(); err != nil || cmp.Diff(got, tt.want) != "" {
				t.Errorf("%s: got %+v, %v, want %+v", name, got, err, tt.want)
			}
		}
		if got, err := s.Look(ctx, "shop"); err != nil || got.Hash() != oddLook.Hash() {
			t.Errorf("the theme that was read has the hash %s, error %v", got.Hash(), err)
		}
	})
}

// Open pages refer to the theme that they were rendered with.
func TestSetLook_keeps_the_last_eight(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		var all []look.Look
		for i := range 12 {
			all = append(all, look.Look{Name: fmt.Sprint(i)})
			if err := s.SetLook(ctx, "shop", all[i], noon); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range all {
			_, err := s.LookByHash(ctx, l.Hash())
			if want := i >= 4; (err == nil) != want || err != nil && !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("look %d: got error %v, want it found: %v", i, err, want)
			}
		}
	})
}
