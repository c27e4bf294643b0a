package api

// Endpoint is a URL to which events are sent. Secret and NextSecret are set only in the response to the
// request that creates them.
type Endpoint struct {
	ID         string   `json:"id"`
	Mode       string   `json:"mode"`
	URL        string   `json:"url"`
	Events     []string `json:"events"` // empty: all types
	Paused     bool     `json:"paused"`
	CreatedAt  string   `json:"created_at"`
	Key        string   `json:"key"`
	NextKey    string   `json:"next_key"` // empty unless the key pair is being rotated
	Secret     string   `json:"secret,omitempty"`
	NextSecret string   `json:"next_secret,omitempty"`
}

// EndpointList is the response body of GET /api/v2/endpoints.
type EndpointList struct {
	Endpoints []Endpoint `json:"endpoints"`
}

// EndpointRequest is the body of a request that creates an endpoint.
type EndpointRequest struct {
	URL    string   `json:"url" rule:"required text 2048"`
	Events []string `json:"events,omitempty" rule:"types"`
}

// EndpointChange is the body of a request that changes an endpoint. Fields that are nil stay unchanged.
type EndpointChange struct {
	URL    *string   `json:"url,omitempty" rule:"text 2048"`
	Events *[]string `json:"events,omitempty" rule:"subscription"` // empty: all types
}

// RotateRequest is the body of a request to rotate the key pair of an endpoint.
type RotateRequest struct {
	Finish bool `json:"finish,omitempty" rule:"boolean"` // replaces the current pair by the next one
}

// ResendRequest is the body of a request to send events again: one event, or those after a position
// of the feed.
type ResendRequest struct {
	EventID string `json:"event_id,omitempty" rule:"text 64"`
	After   *int64 `json:"after,omitempty" rule:"whole 0"`
}

// Resent is the response body of a request to send events again: their number.
type Resent struct {
	Events int `json:"events"`
}

// TestSent is the response body of a request to send a test event: its identifier.
type TestSent struct {
	EventID string `json:"event_id"`
}

// Delivery is the delivery of one event to one endpoint. Its JSON names attempts "tries", which is fixed by version 2 of the API.
type Delivery struct {
	Position      int64  `json:"position"`
	EventID       string `json:"event_id"`
	EventType     string `json:"event_type"`
	ForeignID     string `json:"foreign_id"` // empty for an event without an invoice
	State         string `json:"state"`      // pending, delivered, failed
	Attempts      int    `json:"tries"`
	CreatedAt     string `json:"created_at"`
	NextAttemptAt string `json:"next_try_at"` // empty unless pending
	Status        int    `json:"status"`      // of the response to the newest attempt; 0 if there was no response
	Fault         string `json:"fault"`       // why there was no response
}

// DeliveryPage is the response body of GET /api/v2/endpoints/{id}/deliveries, newest first.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	Before     int64      `json:"before"` // position for the request of the next page; 0 on the last
}

// DeliveryLog is a delivery with all its attempts, oldest first.
type DeliveryLog struct {
	Delivery
	Log []Attempt `json:"log"`
}

// Attempt is one attempt of a delivery. It omits the body of the response, which only the operator can
// read.
type Attempt struct {
	Number     int               `json:"number"`
	At         string            `json:"at"`
	DurationMS int64             `json:"duration_ms"`
	Status     int               `json:"status"`
	Fault      string            `json:"fault"`
	Headers    map[string]string `json:"headers"`
}
