package engine

import "time"

// SetProofTTL sets the time for which a successful check that the database accepts writes is cached.
func (e *Engine) SetProofTTL(ttl time.Duration) {
	e.proof.mu.Lock()
	defer e.proof.mu.Unlock()
	e.proof.ttl = ttl
}
