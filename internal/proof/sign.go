package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// signatureLine begins the last line.
const signatureLine = "signature: "

// Sign writes a statement and signs it with a key in force; ErrForm when it says
// something that cannot be written. The same statement has the same text always.
func Sign(s Statement, k Key) (string, error) {
	body := s.body(k.Public)
	if _, _, err := parseBody(body); err != nil {
		return "", fmt.Errorf("sign statement: %w", err)
	}
	if len(body) > MaxSize-len(signatureLine)-base64.RawURLEncoding.EncodedLen(ed25519.SignatureSize)-1 {
		return "", fmt.Errorf("sign statement: %w: longer than %d bytes", ErrForm, MaxSize)
	}
	signature := ed25519.Sign(k.Private, []byte(body))
	return body + signatureLine + base64.RawURLEncoding.EncodeToString(signature) + "\n", nil
}

// Signed is a statement whose form is right, and nothing more: who made it is not
// known before Verify.
type Signed struct {
	statement Statement
	key       PublicKey
	body      string
	signature []byte
}

// Parse reads a signed statement; ErrForm.
func Parse(text string) (Signed, error) {
	if len(text) > MaxSize {
		return Signed{}, fmt.Errorf("%w: longer than %d bytes", ErrForm, MaxSize)
	}
	body, last, found := strings.Cut(text, "\n"+signatureLine)
	if !found {
		_, _, err := parseBody(text)
		if err == nil {
			err = fmt.Errorf("%w: the line %q is missing", ErrForm, strings.TrimSpace(signatureLine))
		}
		return Signed{}, err
	}
	body += "\n"
	s, key, err := parseBody(body)
	if err != nil {
		return Signed{}, err
	}
	encoded, whole := strings.CutSuffix(last, "\n")
	signature, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	switch {
	case !whole:
		return Signed{}, fmt.Errorf("%w: the line feed at its end is missing", ErrForm)
	case strings.Contains(encoded, "\n"):
		return Signed{}, fmt.Errorf("%w: something follows the signature", ErrForm)
	case err != nil || len(signature) != ed25519.SignatureSize || base64.RawURLEncoding.EncodeToString(signature) != encoded:
		return Signed{}, fmt.Errorf("%w: the signature is not 86 letters of base64", ErrForm)
	}
	return Signed{statement: s, key: key, body: body, signature: signature}, nil
}

// Key is the key that a statement claims to be made by.
func (s Signed) Key() PublicKey { return s.key }

// maxHold is how long a server holds a price at most. What a key signed that was stolen
// before it was replaced ends with it, whatever times the thief wrote.
const maxHold = 24 * time.Hour

// Verify checks that one of the trusted keys made the statement, and returns what it
// says; ErrStranger, ErrSignature, ErrRetired, ErrHold. Whether it still holds is
// Statement.Holds.
func (s Signed) Verify(trusted []Trusted) (Statement, error) {
	known := false
	for _, t := range trusted {
		if t.Public != s.key {
			continue
		}
		known = true
		raw, err := t.Public.raw()
		if err != nil {
			return Statement{}, err
		}
		switch {
		case !ed25519.Verify(raw, []byte(s.body), s.signature):
			return Statement{}, ErrSignature
		case !t.RetiredAt.IsZero() && s.statement.From.After(t.RetiredAt):
			return Statement{}, ErrRetired
		}
	}
	if !known {
		return Statement{}, ErrStranger
	}
	if hold := s.statement.Until.Sub(s.statement.From); hold < 0 || hold > maxHold {
		return Statement{}, ErrHold
	}
	return s.statement, nil
}

// Holds tells whether a statement still holds at a time; ErrEnded.
func (s Statement) Holds(at time.Time) error {
	if at.After(s.Until) {
		return ErrEnded
	}
	return nil
}
