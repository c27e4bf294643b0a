package merchant

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Endpoint is a merchant's URL that events are sent to.
type Endpoint struct {
	ID         string
	MerchantID string
	Mode       Mode
	URL        string
	// Key and Secret are the endpoint's key pair, which authenticates the sender. They are sealed
	// in storage.
	Key    string // 32 letters and digits
	Secret string // 40 letters and digits
	// NextKey and NextSecret are the pair that becomes active when a rotation ends; "" outside of a
	// rotation.
	NextKey    string
	NextSecret string
	Events     []string // types of events to send; empty = all
	// Plugin is true for an endpoint of a shop plug-in, which gets messages instead of events. Its Events are types of
	// messages, and its Secret may be a text of the plug-in.
	Plugin     bool
	Paused     bool // events are kept while paused, and sent afterwards
	CreatedAt  time.Time
	ArchivedAt time.Time // zero while it is active
}

// Wants reports whether events of a type are sent to the endpoint.
func (e Endpoint) Wants(eventType string) bool {
	return len(e.Events) == 0 || slices.Contains(e.Events, eventType)
}

// Name returns the URL without its scheme and its query, which may contain a secret.
func (e Endpoint) Name() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return e.ID
	}
	return u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// Host returns the host of the URL.
func (e Endpoint) Host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return e.ID
	}
	return u.Host
}

// Rotating reports whether a rotation is in progress.
func (e Endpoint) Rotating() bool { return e.NextKey != "" }

// Secrets returns the secrets that sign now, the active one first.
func (e Endpoint) Secrets() []string {
	if e.Rotating() {
		return []string{e.Secret, e.NextSecret}
	}
	return []string{e.Secret}
}
