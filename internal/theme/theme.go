// Package theme defines a merchant's theme: a name, a logo, a colour with enough contrast, and
// texts. It checks input and encodes it again, so that pages can show the result safely.
package theme

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"chequer/internal/idn"
)

// Limits of a theme's texts, in characters.
const (
	maxName = 64
	maxLine = 140
	maxURL  = 2048 // in bytes
)

// Theme is a merchant's theme. The zero Theme is the default theme.
type Theme struct {
	Name    string `json:"name"`    // name of the shop; if empty, the merchant name of the invoice is shown
	Accent  string `json:"accent"`  // such as "#2b3fd6"; if empty, the default colour
	Line    string `json:"line"`    // one line of text
	Support string `json:"support"` // mailto: or https address
	Terms   string `json:"terms"`   // https address
	// Stay keeps the shopper on the page of a paid invoice until they press the button.
	Stay bool `json:"stay"`
	Logo Logo `json:"logo"`
}

// IsZero reports whether no field is set.
func (t Theme) IsZero() bool {
	return t.Name == "" && t.Accent == "" && t.Line == "" && t.Support == "" && t.Terms == "" && !t.Stay && len(t.Logo.Body) == 0
}

// Hash returns a hash of the theme's content; empty for the zero Theme.
func (t Theme) Hash() string {
	if t.IsZero() {
		return ""
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic("theme: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// FieldError is the error for one field of a theme.
type FieldError struct {
	Field string
	Fault string // the end of a sentence that begins with the field's name
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " " + e.Fault }

// Normalize checks a theme and returns it in normal form: a colour with six digits, a mail address as a
// link. The error is a *FieldError.
func Normalize(t Theme) (Theme, error) {
	t.Name, t.Line = strings.TrimSpace(t.Name), strings.TrimSpace(t.Line)
	for _, f := range []struct {
		name      string
		normalize func() error
	}{
		{"name", func() error { return checkLine(t.Name, maxName) }},
		{"line", func() error { return checkLine(t.Line, maxLine) }},
		{"accent", func() (err error) { t.Accent, err = normalizeColour(t.Accent); return err }},
		{"support", func() (err error) { t.Support, err = normalizeSupport(t.Support); return err }},
		{"terms", func() error { t.Terms = idn.URL(t.Terms); return checkWebAddress(t.Terms) }},
	} {
		if err := f.normalize(); err != nil {
			return Theme{}, &FieldError{Field: f.name, Fault: err.Error()}
		}
	}
	return t, nil
}

// New checks a theme and returns it in normal form, with a logo made from a file: the old logo if the file is that one,
// none if the file is empty. The error is a *FieldError.
func New(t Theme, old Logo, file []byte) (Theme, error) {
	t, err := Normalize(t)
	if err != nil {
		return Theme{}, err
	}
	t.Logo = Logo{}
	switch {
	case len(file) == 0:
	case bytes.Equal(file, old.Body): // encoding it again each time would lower its quality
		t.Logo = old
	default:
		if t.Logo, err = NewLogo(file); err != nil {
			return Theme{}, err
		}
	}
	return t, nil
}

// checkLine returns an error if a text has more than limit characters or more than one line. It refuses
// characters that change the direction of the text after them, because a shop's name must not change the
// direction of the text beside it, such as an amount. See Unicode Standard Annex #9, "Directional Formatting Characters".
func checkLine(text string, limit int) error {
	switch {
	case !utf8.ValidString(text):
		return errors.New("must be UTF-8")
	case utf8.RuneCountInString(text) > limit:
		return fmt.Errorf("must have at most %d characters", limit)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return errors.New("must be one line without control characters")
	case strings.ContainsFunc(text, func(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }):
		return errors.New("must not have characters that change the direction of text")
	}
	return nil
}

// normalizeSupport returns the shop's contact in normal form. It is a mail address, with or without
// "mailto:", or an https address.
func normalizeSupport(text string) (string, error) {
	if text == "" || strings.HasPrefix(text, "https://") {
		text = idn.URL(text)
		return text, checkWebAddress(text)
	}
	address := strings.TrimPrefix(text, "mailto:")
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > 254 || strings.ContainsAny(address, "%?&#\"<> ") || !utf8.ValidString(address) {
		return "", errors.New("must be a mail address such as mailto:help@shop.example, or an https address")
	}
	return "mailto:" + address, nil
}

// checkWebAddress returns an error unless a text is empty or an absolute https address. It refuses a
// backslash, which browsers treat as a slash.
func checkWebAddress(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || len(text) > maxURL || !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return errors.New("must be an absolute https address")
	}
	return nil
}
