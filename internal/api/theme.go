package api

// Theme is the theme of a merchant's pages.
type Theme struct {
	Hash       string `json:"hash"` // identifies the theme; empty: default theme
	Name       string `json:"name"` // name of the shop; if empty, pages show the merchant name of the invoice
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

// ThemeRequest is the body of a request that sets a theme. An empty field gets the default theme's
// value.
type ThemeRequest struct {
	Name       string `json:"name,omitempty" rule:"text 512"`
	Accent     string `json:"accent,omitempty" rule:"text 64"`
	Line       string `json:"line,omitempty" rule:"text 512"`
	Support    string `json:"support,omitempty" rule:"text 2048"`
	Terms      string `json:"terms,omitempty" rule:"text 2048"`
	AutoReturn *bool  `json:"auto_return,omitempty" rule:"boolean"`
	Logo       []byte `json:"logo,omitempty" rule:"base64"` // contents of the image file
}

// ThemeColors are the colours derived from an accent in one scheme. AccentContrast and TextContrast
// are the lowest contrast ratios on all backgrounds of text.
type ThemeColors struct {
	Scheme         string `json:"scheme"` // light or dark
	Fill           string `json:"fill"`
	OnFill         string `json:"on_fill"`
	Text           string `json:"text"`
	AccentContrast string `json:"accent_contrast"` // of the chosen accent
	TextContrast   string `json:"text_contrast"`
}
