package visit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// formToken proves that a form is from a page of a session.
type formToken [sha256.Size]byte

// newFormToken returns the form token of a session: an HMAC under the session token.
func newFormToken(sessionToken string) (t formToken) {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte("desk form"))
	mac.Sum(t[:0])
	return t
}

// Seal returns a proof that this session was given a text. A page puts it into a form, so that the answer to the form can
// verify that the form still has the text.
func (v *Visit) Seal(text string) string {
	mac := hmac.New(sha256.New, []byte(v.SessionToken()))
	mac.Write([]byte("desk seal\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// IsSealed reports whether a proof is that of a text in this session.
func (v *Visit) IsSealed(text, proof string) bool {
	return hmac.Equal([]byte(proof), []byte(v.Seal(text)))
}

// masked returns the token as the forms of a page send it: a random mask, and the token XORed with the mask. It is
// different in every page, so that the sizes of compressed pages do not reveal the token (BREACH), and so that it
// identifies the page, see pageID.
func (t formToken) masked() string {
	var text [2 * sha256.Size]byte
	mask := text[:sha256.Size]
	rand.Read(mask) // never returns an error
	subtle.XORBytes(text[sha256.Size:], t[:], mask)
	return base64.RawURLEncoding.EncodeToString(text[:])
}

// isIn reports whether a masked token contains the token.
func (t formToken) isIn(masked string) bool {
	text, err := base64.RawURLEncoding.Strict().DecodeString(masked)
	if err != nil || len(text) != 2*sha256.Size {
		return false
	}
	subtle.XORBytes(text, text[:sha256.Size], text[sha256.Size:])
	return subtle.ConstantTimeCompare(text[:sha256.Size], t[:]) == 1
}
