package merchant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/idn"
)

// MaxEndpoints bounds the endpoints in force of a merchant: each event is written
// once for every one of them.
const MaxEndpoints = 100

// EndpointStorage keeps endpoints and what is sent to them. Rows are sealed and
// checked as in Storage. It is safe for concurrent use.
type EndpointStorage interface {
	// CreateEndpoint writes an endpoint; ErrTooMany.
	CreateEndpoint(ctx context.Context, e Endpoint) error
	// Endpoints lists a merchant's endpoints in force, oldest first.
	Endpoints(ctx context.Context, merchantID string) ([]Endpoint, error)
	// UpdateEndpoint locks an endpoint in force, lets change decide, and writes it;
	// ErrNotFound. What waits for one that change archives is given up.
	UpdateEndpoint(ctx context.Context, merchantID, id string, change func(*Endpoint) error) (Endpoint, error)
	// AddTestDelivery writes a delivery of an event that is not in the feed.
	AddTestDelivery(ctx context.Context, e Endpoint, eventID string, body []byte, at time.Time) error
	// Deliveries lists an endpoint's deliveries in a state, "" for any, of positions
	// below one, newest first.
	Deliveries(ctx context.Context, endpointID string, state DeliveryState, below int64, limit int) ([]Delivery, error)
	// Delivery reads an endpoint's delivery of an event, with its tries, oldest
	// first; ErrNotFound.
	Delivery(ctx context.Context, endpointID, eventID string) (Delivery, []Try, error)
	// Resend sets an event to be sent to an endpoint from the first try on, whether the
	// endpoint wants its type or not, and without waiting for older events of its
	// invoice; ErrNotFound.
	Resend(ctx context.Context, e Endpoint, eventID string, at time.Time) error
	// ResendAfter does so with those of the first limit events after a position
	// that the endpoint wants. It returns how many those were and the position to
	// go on from, which is 0 at the end.
	ResendAfter(ctx context.Context, e Endpoint, after int64, limit int, at time.Time) (sent int, next int64, err error)
	// EndpointHealth tells how an endpoint's deliveries go.
	EndpointHealth(ctx context.Context, endpointID string) (EndpointHealth, error)
}

// EndpointsConfig is what Endpoints are made of.
type EndpointsConfig struct {
	Storage EndpointStorage
	// Check is an error for a URL that may not be called, live or not.
	Check func(url string, live bool) error
	// EncodeTest makes the body of a test event.
	EncodeTest func(id string, mode Mode, at time.Time) []byte
	Now        func() time.Time
	// Token makes random letters and digits.
	Token func(length int) string
}

// Endpoints changes where a merchant's events are sent. It is safe for concurrent
// use.
type Endpoints struct {
	storage    EndpointStorage
	check      func(url string, live bool) error
	encodeTest func(id string, mode Mode, at time.Time) []byte
	now        func() time.Time
	token      func(length int) string
}

// NewEndpoints makes Endpoints.
func NewEndpoints(c EndpointsConfig) *Endpoints {
	return &Endpoints{storage: c.Storage, check: c.Check, encodeTest: c.EncodeTest, now: c.Now, token: c.Token}
}

// Create makes an endpoint for events of some types, all when none is named.
func (s *Endpoints) Create(ctx context.Context, merchantID string, mode Mode, url string, events []string) (Endpoint, error) {
	url = idn.URL(url)
	if err := s.check(url, mode == Live); err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{
		ID: "end_" + s.token(16), MerchantID: merchantID, Mode: mode, URL: url,
		Key: s.token(32), Secret: s.token(40), Events: events, CreatedAt: s.now(),
	}
	if err := s.storage.CreateEndpoint(ctx, e); err != nil {
		return Endpoint{}, fmt.Errorf("create endpoint: %w", err)
	}
	return e, nil
}

// All lists a merchant's endpoints in force.
func (s *Endpoints) All(ctx context.Context, merchantID string) ([]Endpoint, error) {
	return s.storage.Endpoints(ctx, merchantID)
}

// Endpoint reads one of a merchant's endpoints in force; ErrNotFound.
func (s *Endpoints) Endpoint(ctx context.Context, merchantID, id string) (Endpoint, error) {
	all, err := s.storage.Endpoints(ctx, merchantID)
	if err != nil {
		return Endpoint{}, err
	}
	i := slices.IndexFunc(all, func(e Endpoint) bool { return e.ID == id })
	if i < 0 {
		return Endpoint{}, ErrNotFound
	}
	return all[i], nil
}

// Pause keeps events back, or lets them go again.
func (s *Endpoints) Pause(ctx context.Context, merchantID, id string, paused bool) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		e.Paused = paused
		return nil
	})
}

// Rotate begins to change an endpoint's key pair; ErrState during a rotation.
// Both secrets sign until Finish; the old pair is in force until then.
func (s *Endpoints) Rotate(ctx context.Context, merchantID, id string) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		if e.Rotating() {
			return ErrState
		}
		e.NextKey, e.NextSecret = s.token(32), s.token(40)
		return nil
	})
}

// Finish ends a rotation: the new pair is the only one; ErrState outside of one.
func (s *Endpoints) Finish(ctx context.Context, merchantID, id string) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		if !e.Rotating() {
			return ErrState
		}
		e.Key, e.Secret, e.NextKey, e.NextSecret = e.NextKey, e.NextSecret, "", ""
		return nil
	})
}

// Remove takes an endpoint out of force; what waits for it is given up.
func (s *Endpoints) Remove(ctx context.Context, merchantID, id string) error {
	_, err := s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		e.ArchivedAt = s.now()
		return nil
	})
	return err
}

// Test has a test event sent to an endpoint and returns its identifier; ErrState
// while that is paused.
func (s *Endpoints) Test(ctx context.Context, merchantID, id string) (eventID string, err error) {
	e, err := s.Endpoint(ctx, merchantID, id)
	if err != nil {
		return "", err
	}
	if e.Paused {
		return "", ErrState
	}
	now := s.now()
	eventID = "evt_" + s.token(32)
	if err := s.storage.AddTestDelivery(ctx, e, eventID, s.encodeTest(eventID, e.Mode, now), now); err != nil {
		return "", fmt.Errorf("test endpoint: %w", err)
	}
	return eventID, nil
}

// resendBatch is how many events one transaction has sent again.
const resendBatch = 500

// Resend has one event sent again; ErrNotFound.
func (s *Endpoints) Resend(ctx context.Context, e Endpoint, eventID string) error {
	return s.storage.Resend(ctx, e, eventID, s.now())
}

// ResendAfter has every event after a position sent again that the endpoint
// wants, and tells how many they are. An error leaves a part of them.
func (s *Endpoints) ResendAfter(ctx context.Context, e Endpoint, after int64) (total int, err error) {
	for {
		sent, next, err := s.storage.ResendAfter(ctx, e, after, resendBatch, s.now())
		total += sent
		if err != nil || next == 0 {
			return total, err
		}
		after = next
	}
}

// Deliveries lists what is and was sent to an endpoint, in a state, "" for any, of
// positions below one, newest first.
func (s *Endpoints) Deliveries(ctx context.Context, e Endpoint, state DeliveryState, below int64, limit int) ([]Delivery, error) {
	return s.storage.Deliveries(ctx, e.ID, state, below, limit)
}

// Delivery reads the delivery of one event with its tries, oldest first;
// ErrNotFound.
func (s *Endpoints) Delivery(ctx context.Context, e Endpoint, eventID string) (Delivery, []Try, error) {
	return s.storage.Delivery(ctx, e.ID, eventID)
}

// Health tells how an endpoint's deliveries go.
func (s *Endpoints) Health(ctx context.Context, e Endpoint) (EndpointHealth, error) {
	return s.storage.EndpointHealth(ctx, e.ID)
}
