package api

// Look is how a merchant's pages look.
type Look struct {
	Hash       string `json:"hash"` // names it; empty for ours
	Name       string `json:"name"` // of the shop; empty leaves that of the invoice
	Accent     string `json:"accent"`
	Line       string `json:"line"`
	Support    string `json:"support"`
	Terms      string `json:"terms"`
	AutoReturn bool   `json:"auto_return"`
	LogoType   string `json:"logo_type"`
	Logo       string `json:"logo"` // base64
	// Colors are what is made of the accent in each scheme; none without one.
	Colors []LookColors `json:"colors"`
}

// LookColors are what one scheme makes of an accent. Contrasts are the least that
// there are where text stands.
type LookColors struct {
	Scheme         string `json:"scheme"` // light or dark
	Fill           string `json:"fill"`
	OnFill         string `json:"on_fill"`
	Text           string `json:"text"`
	AccentContrast string `json:"accent_contrast"` // of the accent as it was chosen
	TextContrast   string `json:"text_contrast"`
}
