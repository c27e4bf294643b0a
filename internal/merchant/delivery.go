package merchant

import "time"

// EventTest is the type of an event that is about no invoice: it goes to one
// endpoint, once, to see whether it arrives. It is not in the feed.
const EventTest = "endpoint.test"

// DeliveryState is what became of a delivery.
type DeliveryState string

const (
	// DeliveryPending is tried now, or again.
	DeliveryPending DeliveryState = "pending"
	// DeliveryDone was answered by 2xx.
	DeliveryDone DeliveryState = "delivered"
	// DeliveryFailed is not tried again by itself.
	DeliveryFailed DeliveryState = "failed"
)

// DeliveryStates are all of them.
var DeliveryStates = []DeliveryState{DeliveryPending, DeliveryDone, DeliveryFailed}

// Delivery is the sending of one event to one endpoint.
type Delivery struct {
	EndpointID string
	Position   int64 // of the event in the merchant's feed
	EventID    string
	EventType  string
	InvoiceID  string // "" of an event without an invoice
	State      DeliveryState
	Tries      int // so far
	CreatedAt  time.Time
	FirstTryAt time.Time // of those since it was made or sent again; zero before
	NextTryAt  time.Time // zero unless pending
	// LastStatus and LastFault are of the newest try, see Try.
	LastStatus int
	LastFault  string
}

// Try is one attempt at a delivery.
type Try struct {
	Number   int // from 1
	At       time.Time
	Duration time.Duration
	Status   int               // of the answer; 0 when there was none
	Fault    string            // why there was none, in words; "" when there was
	Header   map[string]string // of the answer
	Answer   string            // the beginning of its body, for the operator alone
}

// Done tells whether the receiver took the event.
func (t Try) Done() bool { return t.Status >= 200 && t.Status <= 299 }

// Attempt is a try with what was tried.
type Attempt struct {
	Delivery
	Try
}

// EndpointHealth is how an endpoint's deliveries go.
type EndpointHealth struct {
	Waiting int       // pending deliveries
	Failed  int       // given up, and not sent again since
	Tried   time.Time // when last; zero never
	// LastStatus and LastFault are of that try.
	LastStatus int
	LastFault  string
}

// Failing tells whether the newest try came to nothing.
func (h EndpointHealth) Failing() bool {
	return !h.Tried.IsZero() && (h.LastStatus < 200 || h.LastStatus > 299)
}
