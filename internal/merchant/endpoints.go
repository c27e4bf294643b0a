package merchant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"chequer/internal/idn"
)

// MaxEndpoints is the largest number of active endpoints of a merchant. Each event is written once
// for every endpoint.
const MaxEndpoints = 100

// EndpointStorage stores endpoints and their deliveries. Rows are sealed and verified as in
// Storage. It is safe for concurrent use.
type EndpointStorage interface {
	// CreateEndpoint writes an endpoint, or returns ErrTooMany.
	CreateEndpoint(ctx context.Context, e Endpoint) error
	// Endpoints lists a merchant's active endpoints, oldest first.
	Endpoints(ctx context.Context, merchantID string) ([]Endpoint, error)
	// UpdateEndpoint locks an active endpoint, calls change, and writes the result. It returns
	// ErrNotFound if there is none. If change archives the endpoint, its pending deliveries are given up.
	UpdateEndpoint(ctx context.Context, merchantID, id string, change func(*Endpoint) error) (Endpoint, error)
	// AddTestDelivery writes a delivery of an event that is not in the feed.
	AddTestDelivery(ctx context.Context, e Endpoint, eventID string, body []byte, at time.Time) error
	// Deliveries lists an endpoint's deliveries in a state, "" for any state, with positions lower
	// than below, newest first.
	Deliveries(ctx context.Context, endpointID string, state DeliveryState, below int64, limit int) ([]Delivery, error)
	// InvoiceDeliveries lists an endpoint's deliveries of the events of an invoice, newest first.
	InvoiceDeliveries(ctx context.Context, endpointID, invoiceID string, limit int) ([]Delivery, error)
	// Delivery returns an endpoint's delivery of an event, with its attempts, oldest first,
	// or ErrNotFound.
	Delivery(ctx context.Context, endpointID, eventID string) (Delivery, []Attempt, error)
	// Resend schedules an event for an endpoint as a new delivery, whether or not the endpoint
	// wants its type, and without waiting for older events of its invoice. It returns
	// ErrNotFound if there is no such event.
	Resend(ctx context.Context, e Endpoint, eventID string, at time.Time) error
	// ResendAfter reads the first limit events after a position and schedules the events of the types
	// that the endpoint wants, as Resend does. It returns their number and the position after which to
	// continue, which is 0 at the end.
	ResendAfter(ctx context.Context, e Endpoint, after int64, limit int, at time.Time) (sent int, next int64, err error)
	// RetryPending sets the next attempt of at most limit pending deliveries to at, and returns their number. It chooses
	// deliveries whose next attempt is after the time after, the earliest first.
	RetryPending(ctx context.Context, e Endpoint, at, after time.Time, limit int) (int, error)
	// EndpointHealth returns a summary of an endpoint's deliveries.
	EndpointHealth(ctx context.Context, endpointID string) (EndpointHealth, error)
}

// EndpointsConfig configures Endpoints.
type EndpointsConfig struct {
	Storage EndpointStorage
	// Check returns an error for a URL that must not be called; live reports whether the endpoint is
	// live.
	Check func(url string, live bool) error
	// EncodeTest returns the body of a test event.
	EncodeTest func(id string, mode Mode, at time.Time) []byte
	Now        func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Endpoints manages the endpoints of merchants. It is safe for concurrent use.
type Endpoints struct {
	storage    EndpointStorage
	check      func(url string, live bool) error
	encodeTest func(id string, mode Mode, at time.Time) []byte
	now        func() time.Time
	token      func(length int) string
}

// NewEndpoints returns a new Endpoints.
func NewEndpoints(c EndpointsConfig) *Endpoints {
	return &Endpoints{storage: c.Storage, check: c.Check, encodeTest: c.EncodeTest, now: c.Now, token: c.Token}
}

// Create makes an endpoint for events of some types, or of all types if there are none.
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

// PluginEndpoint is the registration of an endpoint by a shop plug-in.
type PluginEndpoint struct {
	URL    string
	Events []string // types of messages to send; empty = all
	Secret string   // "" = a new one or, in a change, the present one
	Paused bool
}

// maxSecret is the largest number of characters of a secret that a plug-in chooses.
const maxSecret = 255

// CreateForPlugin makes an endpoint for messages to a shop plug-in. The errors are *FieldError and those of Create.
func (s *Endpoints) CreateForPlugin(ctx context.Context, merchantID string, mode Mode, p PluginEndpoint) (Endpoint, error) {
	e := Endpoint{
		ID: "end_" + s.token(16), MerchantID: merchantID, Mode: mode, Key: s.token(32), Secret: s.token(40), Plugin: true, CreatedAt: s.now(),
	}
	if err := s.register(&e, p); err != nil {
		return Endpoint{}, err
	}
	if err := s.storage.CreateEndpoint(ctx, e); err != nil {
		return Endpoint{}, fmt.Errorf("create endpoint: %w", err)
	}
	return e, nil
}

// ChangeForPlugin replaces the registration of an endpoint of a shop plug-in. Deliveries that are pending are sent to
// the new URL. It returns ErrNotFound for an endpoint of another mode, or of no plug-in.
func (s *Endpoints) ChangeForPlugin(ctx context.Context, merchantID string, mode Mode, id string, p PluginEndpoint) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		if !e.Plugin || e.Mode != mode {
			return ErrNotFound
		}
		return s.register(e, p)
	})
}

// register applies a registration to an endpoint.
func (s *Endpoints) register(e *Endpoint, p PluginEndpoint) error {
	address := idn.URL(p.URL)
	if err := s.check(address, e.Mode == Live); err != nil {
		return err
	}
	if err := CheckLine(p.Secret, maxSecret); err != nil {
		return &FieldError{Field: "secret", Fault: err.Error()}
	}
	e.URL, e.Events, e.Paused = address, p.Events, p.Paused
	if p.Secret != "" {
		e.Secret = p.Secret
	}
	return nil
}

// All lists a merchant's active endpoints.
func (s *Endpoints) All(ctx context.Context, merchantID string) ([]Endpoint, error) {
	return s.storage.Endpoints(ctx, merchantID)
}

// Endpoint returns one of a merchant's active endpoints, or ErrNotFound.
func (s *Endpoints) Endpoint(ctx context.Context, merchantID, id string) (Endpoint, error) {
	endpoints, err := s.storage.Endpoints(ctx, merchantID)
	if err != nil {
		return Endpoint{}, err
	}
	i := slices.IndexFunc(endpoints, func(e Endpoint) bool { return e.ID == id })
	if i < 0 {
		return Endpoint{}, ErrNotFound
	}
	return endpoints[i], nil
}

// EndpointChange is a change of an endpoint. Fields that are nil stay unchanged.
type EndpointChange struct {
	URL    *string
	Events *[]string // types of events to send; empty for all types
}

// Change changes an endpoint. Deliveries that are pending are sent to the new URL. It returns ErrState for an endpoint of
// a shop plug-in, which only the plug-in changes.
func (s *Endpoints) Change(ctx context.Context, merchantID, id string, c EndpointChange) (Endpoint, error) {
	return s.change(ctx, merchantID, id, c, unchecked[Endpoint])
}

// ChangeSeen is Change for an endpoint whose revision the caller has seen. It returns ErrStale if the
// endpoint has another one.
func (s *Endpoints) ChangeSeen(ctx context.Context, merchantID, id, revision string, c EndpointChange) (Endpoint, error) {
	return s.change(ctx, merchantID, id, c, checkRevision[Endpoint](revision))
}

func (s *Endpoints) change(ctx context.Context, merchantID, id string, c EndpointChange, check func(Endpoint) error) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		if err := check(*e); err != nil {
			return err
		}
		if e.Plugin {
			return ErrState
		}
		if c.URL != nil {
			e.URL = idn.URL(*c.URL)
			if err := s.check(e.URL, e.Mode == Live); err != nil {
				return err
			}
		}
		if c.Events != nil {
			e.Events = *c.Events
		}
		return nil
	})
}

// SetPaused pauses or resumes the sending of events.
func (s *Endpoints) SetPaused(ctx context.Context, merchantID, id string, paused bool) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		e.Paused = paused
		return nil
	})
}

// Rotate starts the rotation of an endpoint's key pair, or returns ErrState during a rotation or for an endpoint of a shop
// plug-in. Until Finish both secrets sign, and the old pair is active.
func (s *Endpoints) Rotate(ctx context.Context, merchantID, id string) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		if e.Rotating() || e.Plugin {
			return ErrState
		}
		e.NextKey, e.NextSecret = s.token(32), s.token(40)
		return nil
	})
}

// Finish ends a rotation, after which only the new pair remains. It returns ErrState outside of a
// rotation.
func (s *Endpoints) Finish(ctx context.Context, merchantID, id string) (Endpoint, error) {
	return s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		if !e.Rotating() {
			return ErrState
		}
		e.Key, e.Secret, e.NextKey, e.NextSecret = e.NextKey, e.NextSecret, "", ""
		return nil
	})
}

// Remove archives an endpoint; its pending deliveries are given up.
func (s *Endpoints) Remove(ctx context.Context, merchantID, id string) error {
	_, err := s.storage.UpdateEndpoint(ctx, merchantID, id, func(e *Endpoint) error {
		e.ArchivedAt = s.now()
		return nil
	})
	return err
}

// Test schedules a test event for an endpoint and returns its identifier, or ErrState while the
// endpoint is paused.
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

// resendBatch is the largest number of events that one transaction schedules.
const resendBatch = 500

// Resend schedules one event again, or returns ErrNotFound.
func (s *Endpoints) Resend(ctx context.Context, e Endpoint, eventID string) error {
	return s.storage.Resend(ctx, e, eventID, s.now())
}

// ResendForInvoice schedules one event of an invoice again. It returns ErrNotFound if the merchant has no such
// endpoint, or if the event is not one of the invoice that was scheduled for the endpoint before.
func (s *Endpoints) ResendForInvoice(ctx context.Context, merchantID, invoiceID, id, eventID string) error {
	e, err := s.Endpoint(ctx, merchantID, id)
	if err != nil {
		return err
	}
	d, _, err := s.storage.Delivery(ctx, e.ID, eventID)
	if err != nil {
		return err
	}
	if d.InvoiceID == "" || d.InvoiceID != invoiceID {
		return ErrNotFound
	}
	return s.Resend(ctx, e, eventID)
}

// ResendAfter schedules the events after a position, of the types that the endpoint wants, and returns
// their number. After an error only some of them are scheduled.
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

const (
	// maxRetried is the largest number of deliveries that one call of Retry schedules.
	maxRetried = 500
	// retriedAfter is longer than the claim on a delivery, so that a delivery that is being sent is not sent twice.
	retriedAfter = 30 * time.Second
)

// Retry makes the pending deliveries of an endpoint due now, at most maxRetried, and returns their number. Those that are
// due within retriedAfter stay as they are, so that a second call does nothing. The order of the events of an invoice stays. The
// error is ErrState if the endpoint is paused.
func (s *Endpoints) Retry(ctx context.Context, e Endpoint) (int, error) {
	if e.Paused {
		return 0, ErrState
	}
	now := s.now()
	return s.storage.RetryPending(ctx, e, now, now.Add(retriedAfter), maxRetried)
}

// Deliveries lists an endpoint's deliveries in a state, "" for any state, with positions lower than
// below, newest first.
func (s *Endpoints) Deliveries(ctx context.Context, e Endpoint, state DeliveryState, below int64, limit int) ([]Delivery, error) {
	return s.storage.Deliveries(ctx, e.ID, state, below, limit)
}

// InvoiceDeliveries lists an endpoint's deliveries of the events of an invoice, newest first.
func (s *Endpoints) InvoiceDeliveries(ctx context.Context, e Endpoint, invoiceID string, limit int) ([]Delivery, error) {
	return s.storage.InvoiceDeliveries(ctx, e.ID, invoiceID, limit)
}

// Delivery returns the delivery of one event with its attempts, oldest first, or ErrNotFound.
func (s *Endpoints) Delivery(ctx context.Context, e Endpoint, eventID string) (Delivery, []Attempt, error) {
	return s.storage.Delivery(ctx, e.ID, eventID)
}

// Health returns a summary of an endpoint's deliveries.
func (s *Endpoints) Health(ctx context.Context, e Endpoint) (EndpointHealth, error) {
	return s.storage.EndpointHealth(ctx, e.ID)
}
