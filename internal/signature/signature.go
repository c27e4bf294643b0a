// Package signature makes and checks the HMAC-SHA512 signatures of requests and
// callbacks. It knows bytes and secrets, nothing of what they are about.
package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
)

// Sign is the HMAC-SHA512 of a message in lower-case hex. See RFC 2104 and
// RFC 4231.
func Sign(secret string, message []byte) string {
	return hex.EncodeToString(sum(secret, message))
}

// Verify tells whether a signature, in hex of either case, is that of the exact
// bytes of a message. The decoded bytes are compared in constant time.
func Verify(secret string, message []byte, signature string) bool {
	given, err := hex.DecodeString(signature)
	if err != nil {
		return false
	}
	return hmac.Equal(given, sum(secret, message))
}

// VerifyBody tells whether a signature is that of a request body: of its exact
// bytes, or of those bytes after json.Compact, since one public client signs
// compact JSON and sends spaced JSON. Nothing else is made canonical: the order
// of keys and the spelling of numbers and texts stay as sent. A body that is no
// JSON has only its exact bytes.
func VerifyBody(secret string, body []byte, signature string) bool {
	if Verify(secret, body, signature) {
		return true
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return false
	}
	return Verify(secret, compact.Bytes(), signature)
}

func sum(secret string, message []byte) []byte {
	mac := hmac.New(sha512.New, []byte(secret))
	mac.Write(message)
	return mac.Sum(nil)
}
