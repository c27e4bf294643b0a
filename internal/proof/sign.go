package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// signatureLine is the prefix of the last line of a signed statement.
const signatureLine = "signature: "

// keyLine is the prefix of the last line of the signed part.
const keyLine = "key: "

// Sign returns the text of a statement, signed with an active key. It returns ErrFormat if a value has
// no form in a statement or the text would exceed MaxSize. The same statement and key give the same text.
func Sign(s Statement, k Key) (string, error) { return signBody(s.body(k.Public), k) }

func signBody(body string, k Key) (string, error) {
	if _, _, err := parseBody(body); err != nil {
		return "", fmt.Errorf("sign statement: %w", err)
	}
	if len(body) > MaxSize-len(signatureLine)-base64.RawURLEncoding.EncodedLen(ed25519.SignatureSize)-1 {
		return "", fmt.Errorf("sign statement: %w: longer than %d bytes", ErrFormat, MaxSize)
	}
	return appendSignature(body, k), nil
}

// appendSignature returns a text with the line of its signature.
func appendSignature(body string, k Key) string {
	signature := ed25519.Sign(k.Private, []byte(body))
	return body + signatureLine + base64.RawURLEncoding.EncodeToString(signature) + "\n"
}

// Signed is a parsed statement whose signature has not been verified. The author is unknown until
// Verify succeeds.
type Signed struct {
	statement Statement
	key       PublicKey
	body      string
	signature []byte
}

// Parse parses a signed statement. It returns ErrFormat if the text is not a signed statement.
func Parse(text string) (Signed, error) {
	if len(text) > MaxSize {
		return Signed{}, fmt.Errorf("%w: longer than %d bytes", ErrFormat, MaxSize)
	}
	body, last, found := strings.Cut(text, "\n"+signatureLine)
	if !found {
		_, _, err := parseBody(text)
		if err == nil {
			err = fmt.Errorf("%w: the line %q is missing", ErrFormat, strings.TrimSpace(signatureLine))
		}
		return Signed{}, err
	}
	body += "\n"
	s, key, err := parseBody(body)
	if err != nil {
		return Signed{}, err
	}
	signature, err := parseSignature(last)
	if err != nil {
		return Signed{}, err
	}
	return Signed{statement: s, key: key, body: body, signature: signature}, nil
}

// parseSignature parses the rest of a text after signatureLine.
func parseSignature(last string) ([]byte, error) {
	encoded, terminated := strings.CutSuffix(last, "\n")
	signature, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	switch {
	case !terminated:
		return nil, fmt.Errorf("%w: the line feed at its end is missing", ErrFormat)
	case strings.Contains(encoded, "\n"):
		return nil, fmt.Errorf("%w: there is text after the signature", ErrFormat)
	case err != nil || len(signature) != ed25519.SignatureSize || base64.RawURLEncoding.EncodeToString(signature) != encoded:
		return nil, fmt.Errorf("%w: the signature is not 86 characters of base64url", ErrFormat)
	}
	return signature, nil
}

// KeyIn returns the key in the line before the signature, or false if there is no such line. It checks
// nothing else: use Parse for untrusted text.
func KeyIn(text string) (PublicKey, bool) {
	body, _, signed := strings.Cut(text, "\n"+signatureLine)
	key, named := strings.CutPrefix(body[strings.LastIndexByte(body, '\n')+1:], keyLine)
	return PublicKey(key), signed && named
}

// Key returns the key that signed the statement, according to the statement.
func (s Signed) Key() PublicKey { return s.key }

// maxValidity is the longest validity of a quote that Verify accepts. A stolen key can sign statements
// with any times, so the limit bounds how long each of them is valid.
const maxValidity = 24 * time.Hour

// Verify checks that one of the trusted keys signed the statement, and returns the statement. The
// errors are ErrUntrusted, ErrKey for a malformed trusted key, ErrSignature, ErrRetired and ErrValidity.
// Verify does not check expiry: see Statement.CheckExpiry.
func (s Signed) Verify(trusted []Trusted) (Statement, error) {
	if err := verify(s.body, s.signature, s.key, s.statement.From, trusted); err != nil {
		return Statement{}, err
	}
	if validity := s.statement.Until.Sub(s.statement.From); validity < 0 || validity > maxValidity {
		return Statement{}, ErrValidity
	}
	return s.statement, nil
}

// verify checks that a trusted key made a signature, and was not retired before a time.
func verify(body string, signature []byte, key PublicKey, at time.Time, trusted []Trusted) error {
	known := false
	for _, t := range trusted {
		if t.Public != key {
			continue
		}
		known = true
		raw, err := t.Public.raw()
		if err != nil {
			return err
		}
		switch {
		case !ed25519.Verify(raw, []byte(body), signature):
			return ErrSignature
		case !t.RetiredAt.IsZero() && at.After(t.RetiredAt):
			return ErrRetired
		}
	}
	if !known {
		return ErrUntrusted
	}
	return nil
}

// CheckExpiry returns ErrExpired if the statement expired before the given time.
func (s Statement) CheckExpiry(at time.Time) error {
	if at.After(s.Until) {
		return ErrExpired
	}
	return nil
}
