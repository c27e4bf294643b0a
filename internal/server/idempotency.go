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
	"chequer/internal/invoice"
)

// idempotencyPattern matches visible ASCII and spaces, which every HTTP library can send and every
// database can store.
var idempotencyPattern = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)

// idempotencyKey returns the request's Idempotency-Key, or "" when it has none. An empty header is
// refused, because its sender relies on idempotency.
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

// bodyHash returns the value that must be equal for two requests with one idempotency key: the
// SHA-512 of the body without insignificant spaces.
func bodyHash(body []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return "", fmt.Errorf("hash body: %w", err)
	}
	sum := sha512.Sum512(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// Kinds of callers with separate idempotency keys. The storefront's namespace holds keys that a
// shopper's browser sends through the built-in key of the merchant.
const (
	apiKeys        = "api"
	storefrontKeys = "storefront"
	linkKeys       = "link"
	terminalKeys   = "terminal"
	productKeys    = "product"
)

// namespaced returns the idempotency key of a caller of the given kind, or no key when value is
// empty. Keys of test and live invoices are separate. The mode is empty when the request does not
// determine it.
func namespaced(kind string, mode invoice.Mode, value string) invoice.IdempotencyKey {
	switch {
	case value == "":
		return invoice.IdempotencyKey{}
	case mode != "":
		kind = string(mode) + "/" + kind
	}
	return invoice.IdempotencyKey{Namespace: kind, Value: value}
}

// running holds the idempotency keys whose first request is still running in this process. Between
// processes the database decides.
type running struct {
	mu   sync.Mutex
	keys map[merchantKey]bool
}

// merchantKey is an idempotency key of a merchant.
type merchantKey struct {
	merchantID string
	invoice.IdempotencyKey
}

var errRunning = &problem{
	status: http.StatusConflict, code: "idempotency_running", retry: 1,
	message: "The first request with this idempotency key is still running",
}

// reserve reserves a merchant's key until done is called. The zero key is never reserved.
func (r *running) reserve(merchantID string, key invoice.IdempotencyKey) (done func(), err error) {
	if key.IsZero() {
		return func() {}, nil
	}
	running := merchantKey{merchantID, key}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys[running] {
		return nil, errRunning
	}
	if r.keys == nil {
		r.keys = map[merchantKey]bool{}
	}
	r.keys[running] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.keys, running)
	}, nil
}
