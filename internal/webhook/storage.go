package webhook

import (
	"context"
	"time"

	"chequer/internal/merchant"
)

// Storage stores events and their deliveries. It is safe for concurrent use, also by several
// processes.
type Storage interface {
	// DueEndpoints returns the endpoints that have due deliveries and are not paused. If some
	// endpoints cannot be read, it returns the others, and an error that names the unreadable ones.
	DueEndpoints(ctx context.Context, now time.Time) ([]merchant.Endpoint, error)
	// ClaimDeliveries claims at most limit due deliveries of an endpoint until a time, in the order
	// of their due times. A delivery is not due while an earlier delivery of the same invoice is
	// pending, unless the first attempt of the earlier one was at strict or before. A delivery that the
	// merchant requested again waits only for earlier deliveries of the same invoice that were also
	// requested again, and only until each of them was attempted once.
	ClaimDeliveries(ctx context.Context, endpointID string, now, strict, until time.Time, limit int) ([]Claim, error)
	// SaveAttempt stores an attempt of a claimed delivery and its outcome. If the claim has expired, it
	// is stored only if the endpoint accepted the event.
	SaveAttempt(ctx context.Context, c Claim, t merchant.Attempt, o Outcome) error
	// DeleteEvents deletes the oldest events from before a time with their deliveries, at most
	// limit of each merchant, and returns their number.
	DeleteEvents(ctx context.Context, before time.Time, limit int) (int, error)
}

// Claim is a claimed delivery.
type Claim struct {
	EndpointID     string
	Position       int64
	EventID        string
	EventType      string
	InvoiceID      string
	Body           []byte
	Attempts       int       // before this one
	FirstAttemptAt time.Time // zero before the first attempt
	Until          time.Time // end of the claim
}

// delivery returns the claimed delivery.
func (c Claim) delivery() merchant.Delivery {
	return merchant.Delivery{
		EndpointID: c.EndpointID, Position: c.Position, EventID: c.EventID, EventType: c.EventType, InvoiceID: c.InvoiceID,
		Attempts: c.Attempts, FirstAttemptAt: c.FirstAttemptAt,
	}
}

// Outcome is the state of a delivery after an attempt.
type Outcome struct {
	State         merchant.DeliveryState
	NextAttemptAt time.Time // zero unless pending
}
