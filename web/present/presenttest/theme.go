package presenttest

import (
	"testing"

	"chequer/internal/theme"
)

// Theme returns a merchant's theme.
func Theme(t *testing.T) theme.Theme {
	t.Helper()
	merchantTheme, err := theme.Normalize(theme.Theme{
		Name: "Atelier <Nord>", Accent: "#e8573a", Line: "Prints from the far north", Support: "help@shop.example", Terms: "https://shop.example/terms",
	})
	if err != nil {
		t.Fatal(err)
	}
	merchantTheme.Logo, err = theme.NewLogo([]byte(`<svg viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#e8573a"/></svg>`))
	if err != nil {
		t.Fatal(err)
	}
	return merchantTheme
}
