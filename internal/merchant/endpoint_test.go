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
	byID   map[string]merchant.Endpoint
	tested [][]byte
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

func TestEndpoints_are_not_tested_while_paused(t *testing.T) {
	t.Parallel()
	s, service := newEndpoints()
	e, err := service.Create(t.Context(), "shop", merchant.Test, "https://shop.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Pause(t.Context(), "shop", e.ID, true); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Test(t.Context(), "shop", e.ID); !errors.Is(err, merchant.ErrState) || len(s.tested) > 0 {
		t.Errorf("Test while paused: %v, sent %q", err, s.tested)
	}
	if _, err := service.Pause(t.Context(), "shop", e.ID, false); err != nil {
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

func TestEndpoint_Wants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		chosen []string
		mode   string
		want   bool
	}{
		{nil, "invoice.paid", true},
		{[]string{"invoice.paid"}, "invoice.paid", true},
		{[]string{"invoice.paid"}, "invoice.created", false},
		{[]string{"invoice.created", "wallet.changed"}, merchant.EventWalletChanged, true},
	} {
		if got := (merchant.Endpoint{Events: tt.chosen}).Wants(tt.mode); got != tt.want {
			t.Errorf("endpoint for %v wants %s = %v", tt.chosen, tt.mode, got)
		}
	}
}

func TestDelivery_succeeds_only_with_status_2xx(t *testing.T) {
	t.Parallel()
	for status, done := range map[int]bool{0: false, 199: false, 200: true, 204: true, 299: true, 300: false, 410: false, 500: false} {
		if got := (merchant.Try{Status: status}).Done(); got != done {
			t.Errorf("attempt with status %d is done = %v", status, got)
		}
		if got := (merchant.EndpointHealth{Tried: noon, LastStatus: status}).Failing(); got == done {
			t.Errorf("endpoint with status %d is failing = %v", status, got)
		}
	}
	if (merchant.EndpointHealth{}).Failing() {
		t.Error("endpoint that was never called is failing")
	}
}
