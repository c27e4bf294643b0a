package api

// Endpoint is an address that events are sent to. Secrets are told only when they
// are made.
type Endpoint struct {
	ID         string   `json:"id"`
	Mode       string   `json:"mode"`
	URL        string   `json:"url"`
	Events     []string `json:"events"` // empty: all
	Paused     bool     `json:"paused"`
	CreatedAt  string   `json:"created_at"`
	Key        string   `json:"key"`
	NextKey    string   `json:"next_key"` // empty unless the pair is being rotated
	Secret     string   `json:"secret,omitempty"`
	NextSecret string   `json:"next_secret,omitempty"`
}

// EndpointList is what GET /api/v2/endpoints answers.
type EndpointList struct {
	Endpoints []Endpoint `json:"endpoints"`
}

// EndpointRequest is the body that makes an endpoint.
type EndpointRequest struct {
	URL    string   `json:"url"`
	Events []string `json:"events,omitempty"`
}

// RotateRequest is the body of a rotation of an endpoint's key pair.
type RotateRequest struct {
	Finish bool `json:"finish,omitempty"` // the new pair takes over
}

// ResendRequest is the body that has events sent again: one, or those after a
// position of the feed.
type ResendRequest struct {
	EventID string `json:"event_id,omitempty"`
	After   *int64 `json:"after,omitempty"`
}

// Resent tells how many events are sent again.
type Resent struct {
	Events int `json:"events"`
}

// TestSent names the test event that is on its way.
type TestSent struct {
	EventID string `json:"event_id"`
}

// Delivery is the sending of one event to one endpoint.
type Delivery struct {
	Position  int64  `json:"position"`
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	ForeignID string `json:"foreign_id"` // empty of an event without an invoice
	State     string `json:"state"`      // pending, delivered, failed
	Tries     int    `json:"tries"`
	CreatedAt string `json:"created_at"`
	NextTryAt string `json:"next_try_at"` // empty unless pending
	Status    int    `json:"status"`      // of the newest answer, 0 when there was none
	Fault     string `json:"fault"`       // why there was none
}

// DeliveryPage is what GET /api/v2/endpoints/{id}/deliveries answers, newest
// first.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	Before     int64      `json:"before"` // the position to ask below the next time, 0 at the end
}

// DeliveryLog is a delivery with every try, oldest first.
type DeliveryLog struct {
	Delivery
	Log []Try `json:"log"`
}

// Try is one attempt at a delivery. The body of the answer is the operator's.
type Try struct {
	Number     int               `json:"number"`
	At         string            `json:"at"`
	DurationMS int64             `json:"duration_ms"`
	Status     int               `json:"status"`
	Fault      string            `json:"fault"`
	Headers    map[string]string `json:"headers"`
}
