package lightning

import (
	"fmt"
	"log/slog"
)

// hidden is printed in place of a secret.
const hidden = "[hidden]"

// Secret is a text that is not printed, logged or written as JSON.
type Secret struct {
	text *string // a pointer, because package fmt prints the fields of structs
}

// NewSecret returns a new Secret.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements fmt.Formatter.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
