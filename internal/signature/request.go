package signature

import (
	"crypto/sha512"
	"encoding/hex"
	"strings"
)

// version is the first line of a signed message, so that a signature made for
// one purpose is never good for another.
const version = "chequer-v1"

// Request is a request signed by our own scheme, which covers more than the
// body: a signature is good for one method and target, once, for a short time.
type Request struct {
	// Timestamp and Nonce are as the headers have them.
	Timestamp string
	Nonce     string
	Method    string // "POST"
	// Target is the request target exactly as sent, with path and query, the base
	// path included. See RFC 9112, section 3.2.1.
	Target         string
	IdempotencyKey string // empty when the request has none
	Body           []byte
}

// Message is what is signed: one line each, the body as the hex of its SHA-512.
// No part can hold a line feed, as HTTP allows none there, so no two requests
// have one message.
func (r Request) Message() []byte {
	body := sha512.Sum512(r.Body)
	return []byte(strings.Join([]string{
		version,
		r.Timestamp,
		r.Nonce,
		r.Method,
		r.Target,
		r.IdempotencyKey,
		hex.EncodeToString(body[:]),
	}, "\n"))
}
