package signature

import (
	"crypto/sha512"
	"encoding/hex"
	"strings"
)

// eventVersion is the first line of the signed message of a delivery.
const eventVersion = "chequer-event-v1"

// Event is the delivery of an event. Its signature covers the time of sending and the event's ID in
// addition to the body.
type Event struct {
	// Timestamp and ID are the values of the headers.
	Timestamp string
	ID        string
	Body      []byte
}

// Message returns the signed message: one line for each part, the body as the hex of its SHA-512.
func (e Event) Message() []byte {
	body := sha512.Sum512(e.Body)
	return []byte(strings.Join([]string{eventVersion, e.Timestamp, e.ID, hex.EncodeToString(body[:])}, "\n"))
}
