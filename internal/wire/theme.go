package wire

import (
	"encoding/base64"

	"chequer/internal/api"
	"chequer/internal/theme"
)

// Theme returns the API's view of a theme.
func Theme(t theme.Theme) api.Theme {
	a := api.Theme{
		Hash: t.Hash(), Name: t.Name, Accent: t.Accent, Line: t.Line, Support: t.Support, Terms: t.Terms, AutoReturn: !t.Stay,
		LogoType: t.Logo.Type, Logo: base64.StdEncoding.EncodeToString(t.Logo.Body), Colors: []api.ThemeColors{},
	}
	if t.Accent == "" {
		return a
	}
	for _, p := range theme.Palettes(t.Accent) {
		accent, text := p.Contrast()
		a.Colors = append(a.Colors, api.ThemeColors{
			Scheme: p.Scheme, Fill: p.Accent, OnFill: p.OnAccent, Text: p.Ink, AccentContrast: accent, TextContrast: text,
		})
	}
	return a
}

// NewTheme returns the theme of a request, without its logo.
func NewTheme(r api.ThemeRequest) theme.Theme {
	return theme.Theme{
		Name: r.Name, Accent: r.Accent, Line: r.Line, Support: r.Support, Terms: r.Terms,
		Stay: r.AutoReturn != nil && !*r.AutoReturn,
	}
}
