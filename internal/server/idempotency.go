package server

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"sync"

	"chequer/internal/api"
)

// idempotencyPattern is visible ASCII and spaces: what every HTTP library can
// send and every database can hold.
var idempotencyPattern = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)

// idempotencyKey is the request's Idempotency-Key, or "" when it has none. One
// that is there but empty is refused: its sender believes himself safe.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values(api.HeaderIdempotencyKey)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1 || !idempotencyPattern.MatchString(values[0]):
		return "", badRequest("invalid_idempotency_key", "Idempotency-Key must have 1 to 255 characters of visible ASCII")
	}
	return values[0], nil
}

// bodyHash is what two requests of one idempotency key must share: the SHA-512
// of the body without spaces that say nothing.
func bodyHash(body []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return "", fmt.Errorf("hash body: %w", err)
	}
	sum := sha512.Sum512(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// running is the idempotency keys whose first request has no answer yet, in this
// process; between processes the database decides.
type running struct {
	mu   sync.Mutex
	keys map[string]bool
}

var errRunning = &problem{
	status: http.StatusConflict, code: "idempotency_running", retry: 1,
	message: "The first request with this idempotency key is still running",
}

// begin takes a merchant's key until done is called. No key is never taken.
func (r *running) begin(merchantID, key string) (done func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	key = merchantID + " " + key
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys[key] {
		return nil, errRunning
	}
	if r.keys == nil {
		r.keys = map[string]bool{}
	}
	r.keys[key] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.keys, key)
	}, nil
}
