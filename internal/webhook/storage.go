package webhook

import (
	"context"
	"time"

	"chequer/internal/merchant"
)

// Storage keeps what is to be sent. It is safe for concurrent use, by several
// processes too.
type Storage interface {
	// DueEndpoints lists the endpoints for which something is due, unless they are
	// paused. With an error that names some, the others are returned all the same.
	DueEndpoints(ctx context.Context, now time.Time) ([]merchant.Endpoint, error)
	// ClaimDeliveries claims at most limit due deliveries of an endpoint until a time,
	// the oldest due time first. A delivery is not due while an earlier delivery of the
	// same invoice is pending that was first tried after strict, or not yet. One that
	// the merchant asked for again waits only for earlier ones of the same invoice that
	// were asked for again too, until these were tried once.
	ClaimDeliveries(ctx context.Context, endpointID string, now, strict, until time.Time, limit int) ([]Claim, error)
	// SaveTry writes a try of a claimed delivery and what follows. A claim that ran
	// out counts only when it was taken.
	SaveTry(ctx context.Context, c Claim, t merchant.Try, o Outcome) error
	// ForgetEvents deletes the oldest events from before a time, at most limit of
	// each merchant, with their deliveries, and tells how many they were.
	ForgetEvents(ctx context.Context, before time.Time, limit int) (int, error)
}

// Claim is a delivery that is ours to try.
type Claim struct {
	EndpointID string
	Position   int64
	EventID    string
	EventType  string
	InvoiceID  string
	Body       []byte
	Tries      int       // before this one
	FirstTryAt time.Time // zero before the first
	Until      time.Time // when the claim runs out
}

// Outcome is what follows from a try.
type Outcome struct {
	State     merchant.DeliveryState
	NextTryAt time.Time // zero unless pending
}
