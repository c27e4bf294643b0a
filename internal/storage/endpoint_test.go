package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
	"chequer/internal/storage"
)

func newEndpoint(id string, events ...string) merchant.Endpoint {
	return merchant.Endpoint{
		ID: id, MerchantID: "shop", Mode: merchant.Live, URL: "https://shop.example/" + id, Key: "key-" + id, Secret: "secret-of-" + id,
		Events: events, CreatedAt: noon,
	}
}

// addEndpoints writes endpoints.
func addEndpoints(t testing.TB, s *storage.Storage, endpoints ...merchant.Endpoint) {
	t.Helper()
	for _, e := range endpoints {
		if err := s.CreateEndpoint(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEndpoint_is_read_back(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		first, second := newEndpoint("e1"), newEndpoint("e2", "invoice.paid", "invoice.expired")
		second.CreatedAt, second.Mode = noon.Add(time.Minute), merchant.Test
		addEndpoints(t, s, second, first)
		first, err := s.UpdateEndpoint(ctx, "shop", "e1", func(e *merchant.Endpoint) error {
			e.Paused, e.NextKey, e.NextSecret = true, "next", "next-secret"
			e.URL, e.Events = "https://shop.example/new", []string{"invoice.paid"}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Endpoints(ctx, "shop")
		if diff := cmp.Diff([]merchant.Endpoint{first, second}, got); err != nil || diff != "" {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		if _, err := s.UpdateEndpoint(ctx, "bakery", "e1", func(*merchant.Endpoint) error { return nil }); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("another merchant's endpoint: got error %v, want %v", err, merchant.ErrNotFound)
		}
		for _, stored := range append(rows(t, url, "SELECT secret FROM endpoints"), rows(t, url, "SELECT next_secret FROM endpoints")...) {
			if strings.Contains(stored, "secret") {
				t.Errorf("a secret is readable: %q", stored)
			}
		}
		for _, statement := range []string{
			"UPDATE endpoints SET url = 'https://thief.example' WHERE id = 'e1'",
			"UPDATE endpoints SET paused = NOT paused WHERE id = 'e2'",
			"UPDATE endpoints SET archived_at = NULL, events = '' WHERE id = 'e2'",
		} {
			execSQL(t, url, statement)
			if _, err := s.Endpoints(ctx, "shop"); !errors.Is(err, merchant.ErrTampered) {
				t.Errorf("after %s: got error %v, want %v", statement, err, merchant.ErrTampered)
			}
		}
	})
}

func TestCreateEndpoint_limits_the_number_of_endpoints(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for i := range merchant.MaxEndpoints {
			addEndpoints(t, s, newEndpoint(fmt.Sprint("e", i)))
		}
		if err := s.CreateEndpoint(t.Context(), newEndpoint("more")); !errors.Is(err, merchant.ErrTooMany) {
			t.Errorf("got error %v, want %v", err, merchant.ErrTooMany)
		}
	})
}

// The counts of the health of an endpoint are bounded, and do not include failed test events.
func TestEndpointHealth_counts_up_to_a_limit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addEndpoints(t, s, newEndpoint("e"))
		add := func(state, kind string, from, count int) {
			t.Helper()
			execSQL(t, url, `
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $5)
				INSERT INTO deliveries (endpoint_id, position, event_id, type, invoice_id, state, tries, created_at, next_try_at)
				SELECT $1, $4 + i, 'evt', $3, '', $2, 0, 0, NULL FROM n`, "e", state, kind, from, count)
		}
		check := func(waiting, failed int) {
			t.Helper()
			if h, err := s.EndpointHealth(t.Context(), "e"); err != nil || h.Waiting != waiting || h.Failed != failed {
				t.Errorf("%d wait and %d failed, error %v; want %d and %d", h.Waiting, h.Failed, err, waiting, failed)
			}
		}
		add("pending", "invoice.paid", 0, 3)
		add("failed", "invoice.paid", 10, 2)
		add("failed", merchant.EventTest, 20, 4)
		check(3, 2)
		add("failed", "invoice.paid", 1000, merchant.MaxCounted+5)
		add("pending", "invoice.paid", 9000, merchant.MaxCounted+5)
		check(merchant.MaxCounted, merchant.MaxCounted)
	})
}
