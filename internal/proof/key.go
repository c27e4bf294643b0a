package proof

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// scheme is the prefix of a key's text.
const scheme = "ed25519:"

// PublicKey is the text of a key with which statements are verified: "ed25519:" and base64 (RFC
// 4648, section 5, without padding) of the 32 bytes of RFC 8032.
type PublicKey string

// NewPublicKey returns the text of a key.
func NewPublicKey(raw ed25519.PublicKey) PublicKey {
	return PublicKey(scheme + base64.RawURLEncoding.EncodeToString(raw))
}

// ParsePublicKey parses a key from user input. The error is ErrKey.
func ParsePublicKey(text string) (PublicKey, error) {
	k := PublicKey(text)
	if _, err := k.raw(); err != nil {
		return "", err
	}
	return k, nil
}

func (k PublicKey) raw() (ed25519.PublicKey, error) {
	text, found := strings.CutPrefix(string(k), scheme)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !found || err != nil || len(raw) != ed25519.PublicKeySize || base64.RawURLEncoding.EncodeToString(raw) != text {
		return nil, ErrKey
	}
	return raw, nil
}

// Key is one of an installation's signing keys.
type Key struct {
	// Number counts the keys from 1; the key with the highest number signs.
	Number int64
	Public PublicKey
	// Private is nil once the key is retired, so that it cannot sign any more.
	Private   ed25519.PrivateKey
	CreatedAt time.Time
	RetiredAt time.Time // zero for the key that signs
}

// Trusted is a key that is accepted for statements.
type Trusted struct {
	Public PublicKey
	// RetiredAt is the time when the key was replaced; zero for the active key. The key is not accepted for
	// later quotes.
	RetiredAt time.Time
}

// listHead is the first line of a list of keys.
const listHead = "chequer-proof-keys-v1"

// maxList is the size of the longest list of keys, in bytes.
const maxList = 64 << 10

// FormatKeys returns the text of an installation's list of keys, the newest first.
func FormatKeys(keys []Key) string {
	var b strings.Builder
	fmt.Fprintln(&b, listHead)
	for _, k := range keys {
		fmt.Fprintf(&b, "%s since %s", k.Public, stamp(k.CreatedAt))
		if !k.RetiredAt.IsZero() {
			fmt.Fprintf(&b, " until %s", stamp(k.RetiredAt))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ParseKeys parses the text of FormatKeys, or a single key. The error is ErrKey.
func ParseKeys(text string) ([]Trusted, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxList {
		return nil, fmt.Errorf("list of keys is longer than %d bytes: %w", maxList, ErrKey)
	}
	rows, isList := strings.CutPrefix(text, listHead+"\n")
	if !isList {
		k, err := ParsePublicKey(text)
		return []Trusted{{Public: k}}, err
	}
	var keys []Trusted
	lines := bufio.NewScanner(strings.NewReader(rows))
	for n := 2; lines.Scan(); n++ {
		k, err := parseRow(strings.Fields(lines.Text()))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// parseRow parses "KEY since TIME" or "KEY since TIME until TIME".
func parseRow(words []string) (k Trusted, err error) {
	isRow := len(words) == 3 && words[1] == "since" || len(words) == 5 && words[1] == "since" && words[3] == "until"
	if !isRow {
		return k, ErrKey
	}
	if k.Public, err = ParsePublicKey(words[0]); err != nil {
		return k, err
	}
	if len(words) == 5 {
		if k.RetiredAt, err = time.Parse(layout, words[4]); err != nil {
			return k, ErrKey
		}
	}
	return k, nil
}
