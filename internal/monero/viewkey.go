package monero

import (
	"fmt"
	"log/slog"
	"strings"
	"unicode"

	"filippo.io/edwards25519"
)

// hidden is printed in place of a private key.
const hidden = "[hidden]"

// ViewKey is the private view key of a wallet. It shows all payments that the wallet receives, and cannot spend. It is not printed,
// logged or written as JSON. The zero value is not a key: use ParseViewKey or NewViewKey.
type ViewKey struct {
	scalar *edwards25519.Scalar // a pointer, because package fmt prints the fields of structs
}

// ParseViewKey parses the 64 hex digits of a private view key, as pasted by a user. White space around them is ignored. It returns
// ErrSeed for seed words, ErrKeyForm for other texts, or ErrKeyRange.
func ParseViewKey(text string) (ViewKey, error) {
	if isSeed(text) {
		return ViewKey{}, ErrSeed
	}
	var secret [32]byte
	if decodeHex(secret[:], strings.TrimSpace(text)) != nil {
		return ViewKey{}, ErrKeyForm
	}
	return NewViewKey(secret)
}

// NewViewKey returns a new ViewKey with a little-endian number. It returns ErrKeyRange if the number is zero, or not below the order
// of the group.
func NewViewKey(secret [32]byte) (ViewKey, error) {
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(secret[:])
	if err != nil || secret == [32]byte{} {
		return ViewKey{}, ErrKeyRange
	}
	return ViewKey{s}, nil
}

// Reveal returns the key as a little-endian number, for storage under encryption.
func (k ViewKey) Reveal() [32]byte { return [32]byte(k.scalar.Bytes()) }

// String returns a text without the key.
func (k ViewKey) String() string { return hidden }

// Format implements fmt.Formatter. Every verb prints String.
func (k ViewKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue implements slog.LogValuer.
func (k ViewKey) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler.
func (k ViewKey) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// public returns the public key of a private key.
func (k ViewKey) public() PublicKey {
	return PublicKey(new(edwards25519.Point).ScalarBaseMult(k.scalar).Bytes())
}

// minSeedWords is the number of words from which a text is taken for a seed. Seeds have 12 to 26 words: 25 of Monero's wallets, 13 of
// MyMonero, 14 or 16 of Feather and Cake, 12 or 24 of BIP 39. A smaller number recognizes a seed whose last words are missing.
const minSeedWords = 10

// isSeed reports whether a text has the form of seed words in any language. Numbers and punctuation between the words are ignored.
func isSeed(text string) bool {
	words := 0
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;|", r) }) {
		field = strings.TrimFunc(field, func(r rune) bool { return unicode.IsDigit(r) || unicode.IsPunct(r) })
		letters := strings.TrimFunc(field, isLetter)
		if field != "" && letters == "" {
			words++
		}
	}
	return words >= minSeedWords
}

// isLetter reports whether a rune is a letter, or a mark that modifies one.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }
