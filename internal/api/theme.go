package api

// Theme is the theme of a merchant's pages.
type Theme struct {
	Hash       string `json:"hash"` // identifies the theme; empty: default theme
	Name       string `json:"name"` // of the shop; empty: that of the invoice
	Accent     string `json:"accent"`
	Line       string `json:"line"`
	Support    string `json:"support"`
	Terms      string `json:"terms"`
	AutoReturn bool   `json:"auto_return"`
	LogoType   string `json:"logo_type"`
	Logo       string `json:"logo"` // base64
	// Colors are the colours derived from the accent, one entry per scheme; empty without an accent.
	Colors []ThemeColors `json:"colors"`
}

// ThemeColors are the colours derived from an accent in one scheme. Each contrast is the lowest on
// all backgrounds that text has.
type ThemeColors struct {
	Scheme         string `json:"scheme"` // light or dark
	Fill           string `json:"fill"`
	OnFill         string `json:"on_fill"`
	Text           string `json:"text"`
	AccentContrast string `json:"accent_contrast"` // of the chosen accent
	TextContrast   string `json:"text_contrast"`
}
