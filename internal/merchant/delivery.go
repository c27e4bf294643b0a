package merchant

import (
	"strconv"
	"time"
)

// EventTest is the type of a test event, which concerns no invoice. It is sent to one endpoint, to
// check that events arrive, and is not in the feed.
const EventTest = "endpoint.test"

// DeliveryState is the state of a delivery.
type DeliveryState string

const (
	// DeliveryPending means that the delivery is due now or later.
	DeliveryPending DeliveryState = "pending"
	// DeliveryDone means that the endpoint answered with 2xx.
	DeliveryDone DeliveryState = "delivered"
	// DeliveryFailed means that there are no further automatic attempts.
	DeliveryFailed DeliveryState = "failed"
)

// DeliveryStates lists all delivery states.
var DeliveryStates = []DeliveryState{DeliveryPending, DeliveryDone, DeliveryFailed}

// Delivery is the sending of one event to one endpoint.
type Delivery struct {
	EndpointID     string
	Position       int64 // position of the event in the merchant's feed
	EventID        string
	EventType      string
	InvoiceID      string // "" for an event without an invoice
	State          DeliveryState
	Attempts       int // number of attempts so far
	CreatedAt      time.Time
	FirstAttemptAt time.Time // first attempt since it was created or sent again; zero before
	NextAttemptAt  time.Time // zero unless pending
	// LastStatus and LastFault are those of the newest attempt, see Attempt.
	LastStatus int
	LastFault  string
	// Earlier is the pending delivery of an earlier event of the invoice, which is attempted before this one; zero if there
	// is none.
	Earlier EarlierDelivery
}

// EarlierDelivery is a delivery for which a later one waits.
type EarlierDelivery struct {
	EventID       string
	EventType     string
	NextAttemptAt time.Time
}

// NotBefore returns the time before which a pending delivery is not attempted; zero unless it is pending. It is the time of
// the earlier delivery for which it waits, if that is later than its own.
func (d Delivery) NotBefore() time.Time {
	if !d.NextAttemptAt.IsZero() && d.Earlier.NextAttemptAt.After(d.NextAttemptAt) {
		return d.Earlier.NextAttemptAt
	}
	return d.NextAttemptAt
}

// Attempt is one attempt at a delivery.
type Attempt struct {
	Number   int // from 1
	At       time.Time
	Duration time.Duration
	Status   int               // of the response; 0 if there was none
	Fault    string            // why there was no response; "" if there was one
	Header   map[string]string // of the response
	Answer   string            // beginning of the response body, shown only to the operator
}

// Accepted reports whether the endpoint accepted the event.
func (t Attempt) Accepted() bool { return t.Status >= 200 && t.Status <= 299 }

// DeliveryAttempt is an attempt with its delivery.
type DeliveryAttempt struct {
	Delivery
	Attempt
}

// MaxCounted is the number up to which the deliveries of an endpoint are counted.
const MaxCounted = 1000

// Counted returns a number of deliveries as text, with a plus sign if there may be more.
func Counted(n int) string {
	if n >= MaxCounted {
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// EndpointHealth summarises the deliveries of an endpoint.
type EndpointHealth struct {
	Waiting       int       // pending deliveries, at most MaxCounted
	Failed        int       // deliveries given up, and not sent again since; at most MaxCounted
	LastAttemptAt time.Time // time of the last attempt; zero = never
	// LastStatus and LastFault are those of the last attempt.
	LastStatus int
	LastFault  string
}

// Failing reports whether the last attempt failed.
func (h EndpointHealth) Failing() bool {
	return !h.LastAttemptAt.IsZero() && (h.LastStatus < 200 || h.LastStatus > 299)
}
