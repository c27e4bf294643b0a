package signature

import (
	"crypto/sha512"
	"encoding/hex"
	"strings"
)

// eventVersion is the first line of the message of a callback.
const eventVersion = "chequer-event-v1"

// Event is a callback signed by our own scheme, which covers when it was sent and
// which event it is beside the body.
type Event struct {
	// Timestamp and ID are as the headers have them.
	Timestamp string
	ID        string
	Body      []byte
}

// Message is what is signed: one line each, the body as the hex of its SHA-512.
func (e Event) Message() []byte {
	body := sha512.Sum512(e.Body)
	return []byte(strings.Join([]string{eventVersion, e.Timestamp, e.ID, hex.EncodeToString(body[:])}, "\n"))
}
