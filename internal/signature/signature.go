// Package signature makes and verifies the HMAC-SHA512 signatures of requests and deliveries. It
// handles only bytes and secrets, and does not depend on their meaning.
package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
)

// Sign returns the HMAC-SHA512 of a message in lower-case hex. See RFC 2104 and RFC 4231.
func Sign(secret string, message []byte) string {
	return hex.EncodeToString(sum(secret, message))
}

// Verify reports whether a signature, in hex of either case, is that of the exact bytes of a
// message. The decoded bytes are compared in constant time.
func Verify(secret string, message []byte, signature string) bool {
	mac, err := hex.DecodeString(signature)
	if err != nil {
		return false
	}
	return hmac.Equal(mac, sum(secret, message))
}

// VerifyBody reports whether a signature is that of a request body: of its exact bytes, or of those
// bytes after json.Compact, because one public client signs compact JSON and sends JSON with spaces.
// The order of keys and the spelling of numbers and texts are not changed. For a body that is not
// JSON only the exact bytes are accepted.
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
