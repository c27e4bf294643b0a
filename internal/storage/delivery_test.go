package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/webhook"
)

// addEvents adds events of some types to an invoice.
func addEvents(t testing.TB, s *storage.Storage, id string, types ...invoice.EventType) {
	t.Helper()
	_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Version++
		for _, e := range types {
			inv.Events = append(inv.Events, newEvent(id, e, inv.Version))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claim claims the deliveries that are due for an endpoint at a time, and returns the IDs of their
// events.
func claim(t testing.TB, s *storage.Storage, endpointID string, now time.Time, limit int) (claims []webhook.Claim, ids []string) {
	t.Helper()
	claims, err := s.ClaimDeliveries(t.Context(), endpointID, now, now.Add(-20*time.Minute), now.Add(15*time.Second), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		ids = append(ids, c.EventID)
	}
	return claims, ids
}

func saveAttempt(t testing.TB, s *storage.Storage, c webhook.Claim, at time.Time, status int, o webhook.Outcome) {
	t.Helper()
	attempt := merchant.Attempt{At: at, Duration: 12 * time.Millisecond, Status: status, Header: map[string]string{"Server": "x"}, Answer: "no"}
	if err := s.SaveAttempt(t.Context(), c, attempt, o); err != nil {
		t.Fatal(err)
	}
}

var deliveryDone = webhook.Outcome{State: merchant.DeliveryDone}

func retryAt(at time.Time) webhook.Outcome {
	return webhook.Outcome{State: merchant.DeliveryPending, NextAttemptAt: at}
}

func TestDeliveries_are_written_with_the_event_for_each_endpoint(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		test, foreign := newEndpoint("test"), newEndpoint("foreign")
		test.Mode, foreign.MerchantID = merchant.Test, "bakery"
		addEndpoints(t, s, newEndpoint("all"), newEndpoint("paid", "invoice.paid"), newEndpoint("removed"), test, foreign)
		if _, err := s.UpdateEndpoint(t.Context(), "shop", "removed", func(e *merchant.Endpoint) error { e.ArchivedAt = noon; return nil }); err != nil {
			t.Fatal(err)
		}
		create(t, s, creation("a", "shop"))
		addEvents(t, s, "a", invoice.EventPaymentSeen, invoice.EventPaid)
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Events = append(inv.Events, newEvent("a", invoice.EventReverted, 9))
			return errors.New("refused")
		})
		if err == nil {
			t.Fatal("no error")
		}
		got := rows(t, url, "SELECT endpoint_id || ' ' || position || ' ' || event_id FROM deliveries ORDER BY endpoint_id, position")
		want := []string{
			"all 1 evt_a_invoice.created_1", "all 2 evt_a_payment.seen_2", "all 3 evt_a_invoice.paid_2",
			"paid 3 evt_a_invoice.paid_2",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		due, err := s.DueEndpoints(t.Context(), noon)
		if err != nil || len(due) != 2 {
			t.Errorf("got %d due endpoints, error %v, want 2", len(due), err)
		}
		claims, _ := claim(t, s, "paid", noon, 5)
		if len(claims) != 1 || string(claims[0].Body) != string(newEvent("a", invoice.EventPaid, 2).Body) {
			t.Errorf("got claims %+v, want the event as it is in the feed", claims)
		}
	})
}

func TestInvoiceDeliveries_are_those_of_one_endpoint_and_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		addEndpoints(t, s, newEndpoint("all"), newEndpoint("paid", "invoice.paid"))
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "shop"))
		addEvents(t, s, "a", invoice.EventPaymentSeen, invoice.EventPaid)
		claims, _ := claim(t, s, "paid", noon, 1)
		saveAttempt(t, s, claims[0], noon, 503, retryAt(noon.Add(time.Minute)))
		for _, test := range []struct {
			endpoint, invoice string
			limit             int
			want              []string
		}{
			{"all", "a", 10, []string{"evt_a_invoice.paid_2 0", "evt_a_payment.seen_2 0", "evt_a_invoice.created_1 0"}},
			{"all", "a", 1, []string{"evt_a_invoice.paid_2 0"}},
			{"paid", "a", 10, []string{"evt_a_invoice.paid_2 503"}},
			{"all", "b", 10, []string{"evt_b_invoice.created_1 0"}},
			{"paid", "b", 10, nil},
		} {
			all, err := s.InvoiceDeliveries(t.Context(), test.endpoint, test.invoice, test.limit)
			var got []string
			for _, d := range all {
				got = append(got, fmt.Sprint(d.EventID, " ", d.LastStatus))
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("endpoint %s, invoice %s, limit %d: error %v (-want +got):\n%s", test.endpoint, test.invoice, test.limit, err, diff)
			}
		}
	})
}

func TestClaimDeliveries_keeps_the_order_of_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		addEndpoints(t, s, newEndpoint("e"))
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "shop"))
		addEvents(t, s, "a", invoice.EventPending)
		addEvents(t, s, "a", invoice.EventPaid)
		first, ids := claim(t, s, "e", noon, 10)
		if diff := cmp.Diff([]string{"evt_a_invoice.created_1", "evt_b_invoice.created_1"}, ids); diff != "" {
			t.Fatalf("at first (-want +got):\n%s", diff)
		}
		if _, ids := claim(t, s, "e", noon, 10); ids != nil {
			t.Errorf("while these are claimed: got %q, want none", ids)
		}
		saveAttempt(t, s, first[0], noon, 500, retryAt(noon.Add(time.Minute)))
		if _, ids := claim(t, s, "e", noon.Add(59*time.Second), 10); cmp.Diff([]string{"evt_b_invoice.created_1"}, ids) != "" {
			t.Errorf("after the claim of b ended, before the second attempt of a: got %q, want b's event only", ids)
		}
		second, ids := claim(t, s, "e", noon.Add(time.Minute), 10)
		if diff := cmp.Diff([]string{"evt_a_invoice.created_1"}, ids); diff != "" {
			t.Fatalf("second attempt (-want +got):\n%s", diff)
		}
		if second[0].Attempts != 1 || !second[0].FirstAttemptAt.Equal(noon) {
			t.Errorf("second attempt: got %+v", second[0])
		}
		saveAttempt(t, s, second[0], noon.Add(time.Minute), 500, retryAt(noon.Add(30*time.Minute)))
		overtaking, ids := claim(t, s, "e", noon.Add(20*time.Minute), 10)
		if diff := cmp.Diff([]string{"evt_a_invoice.pending_2", "evt_b_invoice.created_1"}, slices.Sorted(slices.Values(ids))); diff != "" {
			t.Fatalf("after 20 minutes of attempts (-want +got):\n%s", diff)
		}
		for _, c := range overtaking {
			saveAttempt(t, s, c, noon.Add(20*time.Minute), 200, deliveryDone)
		}
		if _, ids := claim(t, s, "e", noon.Add(20*time.Minute), 10); cmp.Diff([]string{"evt_a_invoice.paid_3"}, ids) != "" {
			t.Errorf("after the older event was delivered: got %q", ids)
		}
	})
}

// A pending delivery that waits has in Earlier the first pending delivery that delays it. After OrderingTime, that delivery no
// longer delays it.
func TestDelivery_names_the_earlier_delivery_that_delays_it(t *testing.T) {
	onBoth(t, func(t *testing.T, _ *storage.Storage, url string) {
		now := noon.Add(time.Minute)
		s := storagetest.OpenWithClock(t, url, func() time.Time { return now })
		addEndpoints(t, s, newEndpoint("e"))
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "shop"))
		addEvents(t, s, "a", invoice.EventPending, invoice.EventPaid)
		claims, _ := claim(t, s, "e", noon, 10)
		for _, c := range claims {
			saveAttempt(t, s, c, noon, 500, retryAt(noon.Add(5*time.Minute)))
		}
		const blocking = "evt_a_invoice.created_1"
		check := func(eventID, wantEarlier string, wantNext time.Time) {
			t.Helper()
			d, _, err := s.Delivery(t.Context(), "e", eventID)
			if err != nil || d.Earlier.EventID != wantEarlier || !d.NotBefore().Equal(wantNext) {
				t.Errorf("at %s: %s waits for %+v until %s, error %v; want %q until %s", now, eventID, d.Earlier, d.NotBefore(), err, wantEarlier, wantNext)
			}
			for name, list := range map[string]func() ([]merchant.Delivery, error){
				"all":        func() ([]merchant.Delivery, error) { return s.Deliveries(t.Context(), "e", "", 1<<60, 10) },
				"of invoice": func() ([]merchant.Delivery, error) { return s.InvoiceDeliveries(t.Context(), "e", d.InvoiceID, 10) },
			} {
				listed, err := list()
				i := slices.IndexFunc(listed, func(l merchant.Delivery) bool { return l.EventID == eventID })
				if err != nil || i < 0 || listed[i].Earlier != d.Earlier {
					t.Errorf("list %s: error %v, got %+v, want %+v", name, err, listed, d)
				}
			}
		}
		check(blocking, "", noon.Add(5*time.Minute))
		check("evt_a_invoice.pending_2", blocking, noon.Add(5*time.Minute))
		check("evt_a_invoice.paid_2", blocking, noon.Add(5*time.Minute))
		check("evt_b_invoice.created_1", "", noon.Add(5*time.Minute))
		now = noon.Add(webhook.OrderingTime)
		check("evt_a_invoice.pending_2", "", noon)
		check("evt_a_invoice.paid_2", "evt_a_invoice.pending_2", noon)
	})
}

func TestSaveAttempt_ignores_a_failure_but_not_a_success_of_an_ended_claim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		addEndpoints(t, s, newEndpoint("e"))
		create(t, s, creation("a", "shop"))
		old, _ := claim(t, s, "e", noon, 1)
		later := noon.Add(time.Minute)
		current, _ := claim(t, s, "e", later, 1)
		if len(current) != 1 || string(current[0].Body) != string(old[0].Body) || current[0].EventID != old[0].EventID {
			t.Fatalf("got %+v, want the same bytes and identifier as %+v", current, old)
		}
		saveAttempt(t, s, old[0], noon, 500, webhook.Outcome{State: merchant.DeliveryFailed})
		d, _, err := s.Delivery(t.Context(), "e", old[0].EventID)
		if err != nil || d.State != merchant.DeliveryPending || !d.NextAttemptAt.Equal(current[0].Until) {
			t.Errorf("after a late failure: got %+v, error %v, want the outcome of the later claim", d, err)
		}
		saveAttempt(t, s, old[0], noon, 200, deliveryDone)
		saveAttempt(t, s, current[0], later, 500, retryAt(later.Add(time.Minute)))
		d, attempts, err := s.Delivery(t.Context(), "e", old[0].EventID)
		if err != nil || d.State != merchant.DeliveryDone || !d.NextAttemptAt.IsZero() || len(attempts) != 3 || d.LastStatus != 500 {
			t.Errorf("after a late success: got %+v with %d attempts, error %v, want it delivered", d, len(attempts), err)
		}
	})
}

func TestClaimDeliveries_gives_each_delivery_to_one_caller(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		addEndpoints(t, s, newEndpoint("e"))
		for i := range 40 {
			create(t, s, creation(fmt.Sprint("i", i), "shop"))
		}
		var mu sync.Mutex
		seen := map[string]int{}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 10 {
					claims, err := s.ClaimDeliveries(t.Context(), "e", noon, noon.Add(-20*time.Minute), noon.Add(time.Minute), 3)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, c := range claims {
						seen[c.EventID]++
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if _, remaining := claim(t, s, "e", noon, 100); len(seen)+len(remaining) != 40 {
			t.Errorf("%d deliveries claimed concurrently and %d afterwards, want 40 in all", len(seen), len(remaining))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
	})
}

func TestResend_schedules_events_again(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		e := newEndpoint("e", "invoice.created")
		create(t, s, creation("before", "shop"))
		addEndpoints(t, s, e)
		create(t, s, creation("a", "shop"))
		addEvents(t, s, "a", invoice.EventPaid)
		claims, _ := claim(t, s, "e", noon, 10)
		saveAttempt(t, s, claims[0], noon, 410, webhook.Outcome{State: merchant.DeliveryFailed})
		later := noon.Add(time.Hour)
		if err := s.Resend(ctx, e, "evt_a_invoice.created_1", later); err != nil {
			t.Fatal(err)
		}
		if err := s.Resend(ctx, e, "evt_a_invoice.paid_2", later); err != nil {
			t.Errorf("an event type to which the endpoint is not subscribed: %v", err)
		}
		for _, id := range []string{"evt_nothing", "", "\x00"} {
			if err := s.Resend(ctx, e, id, later); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("Resend(%q): got error %v, want %v", id, err, merchant.ErrNotFound)
			}
		}
		claims, ids := claim(t, s, "e", later, 10)
		if cmp.Diff([]string{"evt_a_invoice.created_1"}, ids) != "" || !claims[0].FirstAttemptAt.IsZero() || claims[0].Attempts != 1 {
			t.Errorf("got %+v, want invoice.created without a first attempt since it was sent again", claims)
		}
		sent, next, err := s.ResendAfter(ctx, e, 0, 2, later)
		if err != nil || sent != 2 || next != 2 {
			t.Errorf("got %d sent again and next position %d, error %v, want 2 and 2", sent, next, err)
		}
		if sent, next, err = s.ResendAfter(ctx, e, next, 2, later); err != nil || sent != 0 || next != 0 {
			t.Errorf("the remaining events: got %d sent again and next position %d, error %v, want 0 and 0", sent, next, err)
		}
		list, err := s.Deliveries(ctx, "e", "", 1<<62, 2)
		if err != nil || len(list) != 2 || list[0].Position != 3 || list[1].Position != 2 {
			t.Errorf("newest two: got %+v, error %v", list, err)
		}
		if list, err = s.Deliveries(ctx, "e", merchant.DeliveryPending, 2, 2); err != nil || len(list) != 1 || list[0].EventID != "evt_before_invoice.created_1" {
			t.Errorf("pending deliveries before position 2: got %+v, error %v", list, err)
		}
	})
}

// A retry makes the pending deliveries due in the order of their next attempts, and does not change a delivery that is being sent.
func TestRetryPending_makes_pending_deliveries_due_in_order(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		e, other := newEndpoint("e", "invoice.created"), newEndpoint("f", "invoice.created")
		addEndpoints(t, s, e, other)
		for _, id := range []string{"a", "b", "c", "d"} {
			create(t, s, creation(id, "shop"))
		}
		claims, _ := claim(t, s, "e", noon, 4)
		for i, c := range claims[:3] {
			saveAttempt(t, s, c, noon, 500, retryAt(noon.Add(time.Duration(i+1)*time.Hour)))
		}
		now := noon.Add(time.Second)
		retry := func(limit int) int {
			t.Helper()
			n, err := s.RetryPending(t.Context(), e, now, now.Add(time.Minute), limit)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		first := retry(2)
		if d, _, err := s.Delivery(t.Context(), "e", claims[2].EventID); err != nil || !d.NextAttemptAt.Equal(noon.Add(3*time.Hour)) {
			t.Errorf("after a retry of two: got %+v, error %v, want the last delivery at its own time", d, err)
		}
		if second, third := retry(2), retry(2); first != 2 || second != 1 || third != 0 {
			t.Errorf("retried %d, %d and %d deliveries, want 2, 1 and none", first, second, third)
		}
		_, ids := claim(t, s, "e", now, 10)
		if diff := cmp.Diff([]string{claims[0].EventID, claims[1].EventID, claims[2].EventID}, ids); diff != "" {
			t.Errorf("due after the retry, without %s, which is being sent (-want +got):\n%s", claims[3].EventID, diff)
		}
		if _, err := s.RetryPending(t.Context(), newEndpoint("no"), now, now, 1); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("unknown endpoint: got %v", err)
		}
	})
}

func TestResend_does_not_wait_for_older_events(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		endpoint := newEndpoint("e")
		addEndpoints(t, s, endpoint)
		create(t, s, creation("a", "shop"))
		addEvents(t, s, "a", invoice.EventPending)
		addEvents(t, s, "a", invoice.EventPaid)
		failAttempt := func(at time.Time) {
			t.Helper()
			claims, ids := claim(t, s, "e", at, 10)
			if diff := cmp.Diff([]string{"evt_a_invoice.created_1"}, ids); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			saveAttempt(t, s, claims[0], at, 500, webhook.Outcome{State: merchant.DeliveryPending, NextAttemptAt: at.Add(time.Hour)})
		}
		failAttempt(noon)

		at := noon.Add(time.Minute)
		if err := s.Resend(ctx, endpoint, "evt_a_invoice.paid_3", at); err != nil {
			t.Fatal(err)
		}
		claims, ids := claim(t, s, "e", at, 10)
		if diff := cmp.Diff([]string{"evt_a_invoice.paid_3"}, ids); diff != "" {
			t.Fatalf("while an older event waits (-want +got):\n%s", diff)
		}
		saveAttempt(t, s, claims[0], at, 500, webhook.Outcome{State: merchant.DeliveryPending, NextAttemptAt: at.Add(time.Minute)})
		at = at.Add(time.Minute)
		if _, ids := claim(t, s, "e", at, 10); cmp.Diff([]string{"evt_a_invoice.paid_3"}, ids) != "" {
			t.Errorf("after a failed attempt: got %q, want the event that was sent again", ids)
		}

		// Events that are sent again together are first tried in their order. After that none waits
		// for another.
		at = at.Add(time.Minute)
		if sent, _, err := s.ResendAfter(ctx, endpoint, 1, 10, at); err != nil || sent != 2 {
			t.Fatalf("got %d sent again, error %v, want 2", sent, err)
		}
		for _, want := range []string{"evt_a_invoice.pending_2", "evt_a_invoice.paid_3"} {
			claims, ids := claim(t, s, "e", at, 10)
			if diff := cmp.Diff([]string{want}, ids); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			saveAttempt(t, s, claims[0], at, 500, webhook.Outcome{State: merchant.DeliveryPending, NextAttemptAt: at.Add(time.Hour)})
		}
	})
}

func TestTestDelivery_does_not_delay_events(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		e := newEndpoint("e")
		addEndpoints(t, s, e)
		for i := range 2 {
			if err := s.AddTestDelivery(ctx, e, fmt.Sprint("evt_test", i), []byte(`{"type":"endpoint.test"}`), noon); err != nil {
				t.Fatal(err)
			}
		}
		create(t, s, creation("a", "shop"))
		claims, ids := claim(t, s, "e", noon, 10)
		if diff := cmp.Diff([]string{"evt_test0", "evt_test1", "evt_a_invoice.created_1"}, ids); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := string(claims[0].Body); got != `{"type":"endpoint.test"}` {
			t.Errorf("got body %s", got)
		}
		feed, err := s.Events(ctx, "shop", invoice.Live, 0, 10)
		if err != nil || len(feed) != 1 || feed[0].Position != 3 {
			t.Errorf("got feed %+v, error %v, want the invoice's event alone", feed, err)
		}
		saveAttempt(t, s, claims[0], noon, 500, webhook.Outcome{State: merchant.DeliveryFailed})
		health, err := s.EndpointHealth(ctx, "e")
		want := merchant.EndpointHealth{Waiting: 2, LastAttemptAt: noon, LastStatus: 500}
		if diff := cmp.Diff(want, health); err != nil || diff != "" {
			t.Errorf("health: error %v (-want +got):\n%s", err, diff)
		}
		if _, err := s.UpdateEndpoint(ctx, "shop", "e", func(e *merchant.Endpoint) error { e.ArchivedAt = noon; return nil }); err != nil {
			t.Fatal(err)
		}
		if states := rows(t, url, "SELECT DISTINCT state FROM deliveries"); cmp.Diff([]string{"failed"}, states) != "" {
			t.Errorf("after the endpoint was removed: got states %q", states)
		}
	})
}

func TestAttempts_are_those_of_a_merchant_since_a_time(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "other", Name: "Other", CreatedAt: noon}}); err != nil {
			t.Fatal(err)
		}
		other := newEndpoint("o")
		other.MerchantID = "other"
		addEndpoints(t, s, newEndpoint("e"), other)
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "other"))
		for _, id := range []string{"e", "o"} {
			claims, _ := claim(t, s, id, noon, 1)
			saveAttempt(t, s, claims[0], noon, 500, retryAt(noon.Add(time.Minute)))
		}
		claims, _ := claim(t, s, "e", noon.Add(time.Minute), 1)
		saveAttempt(t, s, claims[0], noon.Add(time.Minute), 204, deliveryDone)
		for since, want := range map[time.Time][]int{noon: {500, 204}, noon.Add(time.Second): {204}, noon.Add(time.Hour): nil} {
			got, err := s.Attempts(t.Context(), "shop", since)
			var statuses []int
			for _, a := range got {
				statuses = append(statuses, a.Status)
				if a.EndpointID != "e" || a.InvoiceID != "a" || a.EventType != "invoice.created" || a.State != merchant.DeliveryDone {
					t.Errorf("got %+v", a)
				}
			}
			if err != nil || cmp.Diff(want, statuses) != "" {
				t.Errorf("since %s: got %v, error %v, want %v", since, statuses, err, want)
			}
		}
	})
}
