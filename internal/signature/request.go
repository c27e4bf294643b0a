package signature

import (
	"crypto/sha512"
	"encoding/hex"
	"strings"
)

// requestVersion is the first line of the signed message of a request, so that a signature made for
// one purpose is never valid for another.
const requestVersion = "chequer-v1"

// Request is a request with a request signature, which covers more than the body: it is valid for
// one method and target, once, for a short time.
type Request struct {
	// Timestamp and Nonce are the values of the headers.
	Timestamp string
	Nonce     string
	Method    string // "POST"
	// Target is the request target exactly as sent, with path and query, including the base path.
	// See RFC 9112, section 3.2.1.
	Target         string
	IdempotencyKey string // empty if the request has none
	Body           []byte
}

// Message returns the signed message: one line for each part, the body as the hex of its SHA-512.
// No part can contain a line feed, which HTTP does not allow there, so no two requests have the
// same message.
func (r Request) Message() []byte {
	body := sha512.Sum512(r.Body)
	return []byte(strings.Join([]string{
		requestVersion,
		r.Timestamp,
		r.Nonce,
		r.Method,
		r.Target,
		r.IdempotencyKey,
		hex.EncodeToString(body[:]),
	}, "\n"))
}
