package merchant

import (
	"slices"
	"time"
)

// Endpoint is an address of a merchant that events are sent to.
type Endpoint struct {
	ID         string
	MerchantID string
	Mode       Mode
	URL        string
	// Key and Secret are its own pair, which says who sends. Sealed where it is
	// stored.
	Key    string // 32 letters and digits
	Secret string // 40
	// NextKey and NextSecret are the pair that takes over when a rotation ends;
	// "" while there is none.
	NextKey    string
	NextSecret string
	Events     []string // the types that are sent; none means all
	Paused     bool     // what happens meanwhile is kept, and sent afterwards
	CreatedAt  time.Time
	ArchivedAt time.Time // zero while it is in force
}

// Wants tells whether events of a type are sent to the endpoint.
func (e Endpoint) Wants(eventType string) bool {
	return len(e.Events) == 0 || slices.Contains(e.Events, eventType)
}

// Rotating tells whether a new pair is about to take over.
func (e Endpoint) Rotating() bool { return e.NextKey != "" }

// Secrets are those that sign now, the one in force first.
func (e Endpoint) Secrets() []string {
	if e.Rotating() {
		return []string{e.Secret, e.NextSecret}
	}
	return []string{e.Secret}
}
