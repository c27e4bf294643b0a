package merchant_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"chequer/internal/merchant"
)

// endpoints stores endpoints and test deliveries. Methods that the tests do not need are missing.
type endpoints struct {
	merchant.EndpointStorage
	byID       map[string]merchant.Endpoint
	deliveries []merchant.Delivery
	tested     [][]byte
	resent     []string
}

func (s *endpoints) CreateEndpoint(_ context.Context, e merchant.Endpoint) error {
	return create(s.byID, e.ID, e)
}

func (s *endpoints) Endpoints(context.Context, string) (all []merchant.Endpoint, err error) {
	for _, e := range s.byID {
		all = append(all, e)
	}
	return all, nil
}

func (s *endpoints) UpdateEndpoint(_ context.Context, _, id string, change func(*merchant.Endpoint) error) (merchant.Endpoint, error) {
	return update(s.byID, id, change)
}

func (s *endpoints) AddTestDelivery(_ context.Context, _ merchant.Endpoint, _ string, body []byte, _ time.Time) error {
	s.tested = append(s.tested, body)
	return nil
}

func (s *endpoints) Delivery(_ context.Context, endpointID, eventID string) (merchant.Delivery, []merchant.Attempt, error) {
	for _, d := range s.deliveries {
		if d.EndpointID == endpointID && d.EventID == eventID {
			return d, nil, nil
		}
	}
	return merchant.Delivery{}, nil, merchant.ErrNotFound
}

func (s *endpoints) Resend(_ context.Context, e merchant.Endpoint, eventID string, _ time.Time) error {
	s.resent = append(s.resent, e.ID+" "+eventID)
	return nil
}

var errRefused = errors.New("refused")

func newEndpoints() (*endpoints, *merchant.Endpoints) {
	s := &endpoints{byID: map[string]merchant.Endpoint{}}
	return s, merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: s, Now: now, Token: tokens(),
		Check: func(url string, live bool) error {
			if live && url != "https://xn--bcher-kva.example/" {
				return errRefused
			}
			return nil
		},
		EncodeTest: func(id string, mode merchant.Mode, _ time.Time) []byte { return []byte(id + " " + string(mode)) },
	})
}

func TestEndpoints_rotate_their_keys(t *testing.T) {
	t.Parallel()
	_, service := newEndpoints()
	e, err := service.Create(t.Context(), "shop", merchant.Live, "https://bücher.example/", nil)
	if err != nil || e.Rotating() || !slices.Equal(e.Secrets(), []string{e.Secret}) {
		t.Fatalf("Create = %+v, %v", e, err)
	}
	if _, err := service.Finish(t.Context(), "shop", e.ID); !errors.Is(err, merchant.ErrState) {
		t.Errorf("Finish before Rotate: %v", err)
	}
	next, err := service.Rotate(t.Context(), "shop", e.ID)
	if err != nil || !next.Rotating() || next.Key != e.Key || !slices.Equal(next.Secrets(), []string{e.Secret, next.NextSecret}) {
		t.Fatalf("Rotate = %+v, %v", next, err)
	}
	if _, err := service.Rotate(t.Context(), "shop", e.ID); !errors.Is(err, merchant.ErrState) {
		t.Errorf("Rotate during a rotation: %v", err)
	}
	last, err := service.Finish(t.Context(), "shop", e.ID)
	if err != nil || last.Rotating() || last.Key != next.NextKey || !slices.Equal(last.Secrets(), []string{next.NextSecret}) {
		t.Errorf("Finish = %+v, %v", last, err)
	}
	if _, err := service.Rotate(t.Context(), "shop", "none"); !errors.Is(err, merchant.ErrNotFound) {
		t.Errorf("Rotate of no endpoint: %v", err)
	}
}

func TestEndpoints_refuse_addresses(t *testing.T) {
	t.Parallel()
	s, service := newEndpoints()
	if _, err := service.Create(t.Context(), "shop", merchant.Live, "https://other.example/", nil); !errors.Is(err, errRefused) || len(s.byID) > 0 {
		t.Errorf("Create of a refused address: %v, stored %v", err, s.byID)
	}
	if _, err := service.Create(t.Context(), "shop", merchant.Test, "http://localhost/", nil); err != nil {
		t.Errorf("Create of a test endpoint: %v", err)
	}
}

func TestEndpoints_change_their_address(t *testing.T) {
	t.Parallel()
	s, service := newEndpoints()
	e, err := service.Create(t.Context(), "shop", merchant.Live, "https://bücher.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	refused, other, paid := "https://other.example/", "https://bücher.example/", []string{"invoice.paid"}
	if _, err := service.Change(t.Context(), "shop", e.ID, merchant.EndpointChange{URL: &refused, Events: &paid}); !errors.Is(err, errRefused) || s.byID[e.ID].Events != nil {
		t.Errorf("Change to a refused address: %v, stored %+v", err, s.byID[e.ID])
	}
	if got, err := service.Change(t.Context(), "shop", e.ID, merchant.EndpointChange{Events: &paid}); err != nil || got.URL != e.URL || !slices.Equal(got.Events, paid) {
		t.Errorf("Change of the events = %+v, %v", got, err)
	}
	if got, err := service.Change(t.Context(), "shop", e.ID, merchant.EndpointChange{URL: &other}); err != nil || got.URL != "https://xn--bcher-kva.example/" || !slices.Equal(got.Events, paid) || got.Secret != e.Secret {
		t.Errorf("Change of the URL = %+v, %v", got, err)
	}
}

func TestEndpoints_resend_events_of_an_invoice(t *testing.T) {
	t.Parallel()
	s, service := newEndpoints()
	e, err := service.Create(t.Context(), "shop", merchant.Test, "https://shop.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.deliveries = []merchant.Delivery{{EndpointID: e.ID, EventID: "evt_1", InvoiceID: "a"}, {EndpointID: e.ID, EventID: "evt_test"}}
	for _, refused := range [][3]string{{"b", e.ID, "evt_1"}, {"a", "none", "evt_1"}, {"a", e.ID, "evt_2"}, {"a", e.ID, "evt_test"}, {"", e.ID, "evt_test"}} {
		if err := service.ResendForInvoice(t.Context(), "shop", refused[0], refused[1], refused[2]); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("ResendForInvoice(%q) = %v, want %v", refused, err, merchant.ErrNotFound)
		}
	}
	if err := service.ResendForInvoice(t.Context(), "shop", "a", e.ID, "evt_1"); err != nil || !slices.Equal(s.resent, []string{e.ID + " evt_1"}) {
		t.Errorf("ResendForInvoice: %v, resent %q", err, s.resent)
	}
}

func TestEndpoints_are_not_tested_while_paused(t *testing.T) {
	t.Parallel()
	s, service := newEndpoints()
	e, err := service.Create(t.Context(), "shop", merchant.Test, "https://shop.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.SetPaused(t.Context(), "shop", e.ID, true); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Test(t.Context(), "shop", e.ID); !errors.Is(err, merchant.ErrState) || len(s.tested) > 0 {
		t.Errorf("Test while paused: %v, sent %q", err, s.tested)
	}
	if _, err := service.SetPaused(t.Context(), "shop", e.ID, false); err != nil {
		t.Fatal(err)
	}
	id, err := service.Test(t.Context(), "shop", e.ID)
	if err != nil || len(s.tested) != 1 || string(s.tested[0]) != id+" test" {
		t.Errorf("Test = %q, %v, sent %q", id, err, s.tested)
	}
	if err := service.Remove(t.Context(), "shop", e.ID); err != nil || !s.byID[e.ID].ArchivedAt.Equal(noon) {
		t.Errorf("Remove: %v, stored %+v", err, s.byID[e.ID])
	}
	if _, err := service.Test(t.Context(), "shop", "none"); !errors.Is(err, merchant.ErrNotFound) {
		t.Errorf("Test of no endpoint: %v", err)
	}
}

func TestEndpoint_Name_leaves_out_the_query(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://shop.example/":                   "shop.example",
		"https://shop.example/hook/?token=secret": "shop.example/hook",
		"http://127.0.0.1:3000/a%20b":             "127.0.0.1:3000/a%20b",
	} {
		if got := (merchant.Endpoint{URL: url}).Name(); got != want {
			t.Errorf("the name of %s is %q, want %q", url, got, want)
		}
	}
}

func TestEndpoint_Wants_chosen_events_or_all(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		chosen    []string
		eventType string
		want      bool
	}{
		{nil, "invoice.paid", true},
		{[]string{"invoice.paid"}, "invoice.paid", true},
		{[]string{"invoice.paid"}, "invoice.created", false},
		{[]string{"invoice.created", "wallet.changed"}, merchant.EventWalletChanged, true},
	} {
		if got := (merchant.Endpoint{Events: tt.chosen}).Wants(tt.eventType); got != tt.want {
			t.Errorf("endpoint for %v wants %s = %v", tt.chosen, tt.eventType, got)
		}
	}
}

func TestDelivery_succeeds_only_with_status_2xx(t *testing.T) {
	t.Parallel()
	for status, done := range map[int]bool{0: false, 199: false, 200: true, 204: true, 299: true, 300: false, 410: false, 500: false} {
		if got := (merchant.Attempt{Status: status}).Accepted(); got != done {
			t.Errorf("attempt with status %d is done = %v", status, got)
		}
		if got := (merchant.EndpointHealth{LastAttemptAt: noon, LastStatus: status}).Failing(); got == done {
			t.Errorf("endpoint with status %d is failing = %v", status, got)
		}
	}
	if (merchant.EndpointHealth{}).Failing() {
		t.Error("endpoint that was never called is failing")
	}
}
