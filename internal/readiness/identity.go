package readiness

import (
	"crypto/subtle"
	"net/http"

	"chequer/internal/seal"
)

// Identity identifies an installation: only the holder of its master key can compute its values.
type Identity struct {
	// Pass identifies the operator's commands to the server.
	Pass string
	box  *seal.Box
}

// NewIdentity returns the identity of the installation with a master key.
func NewIdentity(box *seal.Box) Identity {
	return Identity{Pass: box.MAC("pass of commands"), box: box}
}

// Prove returns the answer to a challenge.
func (i Identity) Prove(challenge string) string {
	return i.box.MAC("identity of the server", challenge)
}

// isAuthenticated reports whether a request has the installation's pass, which the operator's commands send.
func (i Identity) isAuthenticated(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+i.Pass)) == 1
}
