package invoicing

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"chequer/internal/invoice"
)

// ErrRunning means that the first request with an idempotency key is still running.
var ErrRunning = errors.New("the first request with this idempotency key is still running")

// bodyHash returns the hex SHA-512 of a JSON body without insignificant spaces. Requests with the same
// idempotency key must have the same hash.
func bodyHash(body []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		return "", fmt.Errorf("hash body: %w", err)
	}
	sum := sha512.Sum512(compact.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// running holds the idempotency keys whose first request is still running in this process. The database
// detects requests of other processes.
type running struct {
	mu   sync.Mutex
	keys map[merchantKey]bool
}

// merchantKey is an idempotency key of a merchant.
type merchantKey struct {
	merchantID string
	invoice.IdempotencyKey
}

// reserve reserves a merchant's key until done is called. It returns ErrRunning if the key is reserved. The zero key is
// never reserved.
func (r *running) reserve(merchantID string, key invoice.IdempotencyKey) (done func(), err error) {
	if key.IsZero() {
		return func() {}, nil
	}
	running := merchantKey{merchantID, key}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys[running] {
		return nil, ErrRunning
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
