package storage_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/audit"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// newCase creates an invoice that waits for a decision.
func newCase(t *testing.T, s *storage.Storage, id string) *invoice.Invoice {
	t.Helper()
	create(t, s, creation(id, "shop"))
	return update(t, t.Context(), s, id, func(inv *invoice.Invoice) {
		inv.State.Status, inv.State.Exceptions = invoice.Expired, []invoice.Exception{invoice.Late}
		inv.Transfers = []invoice.Transfer{{ID: "t" + id, Network: "bitcoin", Asset: "BTC", Amount: money.Zero(money.BTC), Presence: invoice.Present, FirstSeen: noon}}
	})
}

// update changes an invoice to a new version.
func update(t *testing.T, ctx context.Context, s *storage.Storage, id string, change func(*invoice.Invoice)) *invoice.Invoice {
	t.Helper()
	inv, err := s.UpdateInvoice(ctx, id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.Version++
		change(inv)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// openCases returns the invoices that wait for a decision at a time. It fails the test if the tally has another number.
func openCases(t *testing.T, s *storage.Storage, at time.Time) (ids []string) {
	t.Helper()
	list, err := s.Undecided(t.Context(), "shop", invoice.Live, at, invoice.Position{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, inv := range list {
		ids = append(ids, inv.ID)
	}
	tally, err := s.Tally(t.Context(), "shop", invoice.Live, at)
	if err != nil || tally.Open() != int64(len(ids)) {
		t.Errorf("%d cases of the tally are open, error %v, want %q", tally.Open(), err, ids)
	}
	return ids
}

// A snoozed case is neither listed nor counted until the time is over.
func TestSnooze_hides_a_case_until_it_ends(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		inv, other := newCase(t, s, "a"), newCase(t, s, "b")
		until := noon.Add(24 * time.Hour)
		snooze := casework.Snooze{InvoiceID: "a", MerchantID: "shop", Mode: invoice.Live, Until: until, By: "Tove"}
		foreign := snooze
		foreign.MerchantID = "bakery"
		for _, wrong := range []struct {
			snooze casework.Snooze
			seen   int64
			want   error
		}{{snooze, inv.Version - 1, invoice.ErrStale}, {foreign, inv.Version, invoice.ErrNotFound}, {casework.Snooze{InvoiceID: "no", MerchantID: "shop"}, 1, invoice.ErrNotFound}} {
			if err := s.Snooze(t.Context(), wrong.snooze, wrong.seen); !errors.Is(err, wrong.want) {
				t.Errorf("got %v, want %v", err, wrong.want)
			}
		}
		earlier := snooze
		earlier.Until = noon.Add(time.Hour)
		for _, snooze := range []casework.Snooze{earlier, snooze} {
			if err := s.Snooze(t.Context(), snooze, inv.Version); err != nil {
				t.Fatal(err)
			}
		}
		if got := openCases(t, s, until.Add(-time.Minute)); !slices.Equal(got, []string{"b"}) {
			t.Errorf("during the snooze %q are open", got)
		}
		if got := openCases(t, s, until); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("after the snooze %q are open", got)
		}
		list, err := s.Snoozed(t.Context(), "shop", invoice.Live, noon, 10)
		if err != nil || len(list) != 1 || !cmp.Equal(list[0].Snooze, snooze) || list[0].Summary.ID != "a" {
			t.Errorf("snoozed invoices: %+v, error %v", list, err)
		}
		if got, err := s.FindSnooze(t.Context(), "a"); err != nil || !cmp.Equal(got, snooze) {
			t.Errorf("snooze of a: %+v, error %v", got, err)
		}
		if got, err := s.FindSnooze(t.Context(), other.ID); err != nil || got != (casework.Snooze{}) {
			t.Errorf("snooze of b: %+v, error %v", got, err)
		}
		for range 2 {
			if err := s.EndSnooze(t.Context(), "bakery", "a"); err != nil {
				t.Fatal(err)
			}
			if got := openCases(t, s, noon); len(got) != 1 {
				t.Error("another merchant ended the snooze")
			}
		}
		for range 2 {
			if err := s.EndSnooze(t.Context(), "shop", "a"); err != nil {
				t.Fatal(err)
			}
		}
		if got := openCases(t, s, noon); len(got) != 2 {
			t.Errorf("after the end of the snooze %q are open", got)
		}
		log, err := s.AuditLog(t.Context(), 0, 10)
		var actions []string
		for _, e := range log {
			if e.Change.Subject == "a" {
				actions = append(actions, e.Change.Action)
			}
		}
		if diff := cmp.Diff([]string{"case.snooze_ended", "case.snoozed", "case.snoozed"}, actions); diff != "" || err != nil {
			t.Errorf("audit log, error %v (-want +got):\n%s", err, diff)
		}
	})
}

// A change of the facts of an invoice ends its snooze, but another confirmation does not.
func TestSnooze_ends_when_facts_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		newCase(t, s, "a")
		for _, tt := range []struct {
			name   string
			change func(*invoice.Invoice)
			ends   bool
		}{
			{"confirmation", func(inv *invoice.Invoice) { inv.Transfers[0].Confirmations++ }, false},
			{"amount", func(inv *invoice.Invoice) { inv.State.Paid = inv.State.Paid.Add(money.FromCents(1, money.EUR)) }, true},
			{"exception", func(inv *invoice.Invoice) { inv.State.Exceptions = append(inv.State.Exceptions, invoice.WrongAsset) }, true},
			{"refund address", func(inv *invoice.Invoice) { inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: "bc1q"} }, true},
			{"new refund", func(inv *invoice.Invoice) { inv.Refunds = append(inv.Refunds, newRefund("r", invoice.RefundAsked)) }, true},
			{"other exception", func(inv *invoice.Invoice) { inv.State.Exceptions = []invoice.Exception{invoice.Overpaid} }, true},
		} {
			inv := update(t, t.Context(), s, "a", func(*invoice.Invoice) {})
			if err := s.Snooze(t.Context(), casework.Snooze{InvoiceID: "a", MerchantID: "shop", Until: noon.Add(time.Hour)}, inv.Version); err != nil {
				t.Fatal(err)
			}
			update(t, t.Context(), s, "a", tt.change)
			if ended := len(openCases(t, s, noon)) == 1; ended != tt.ends {
				t.Errorf("%s: the snooze ended: %t, want %t", tt.name, ended, tt.ends)
			}
		}
		inv := update(t, t.Context(), s, "a", func(inv *invoice.Invoice) { inv.State.Exceptions = nil })
		if err := s.Snooze(t.Context(), casework.Snooze{InvoiceID: "a", MerchantID: "shop", Until: noon.Add(time.Hour)}, inv.Version); !errors.Is(err, invoice.ErrState) {
			t.Errorf("snooze of an invoice that does not wait for a decision: got %v", err)
		}
	})
}

// An invoice that stops waiting for a decision is listed with the actor, until it waits again or its age is too high.
func TestResolutions_name_the_actor_and_the_outcome(t *testing.T) {
	t.Parallel()
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon
			s, err := storage.Open(t.Context(), newURL(t), box(t, 1), storage.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			addMerchants(t, s)
			for _, id := range []string{"a", "b", "c"} {
				newCase(t, s, id)
			}
			tove := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Account, ID: "acc_1", Name: "Tove"})
			update(t, tove, s, "a", func(inv *invoice.Invoice) { inv.Accepted = []string{"ta"} })
			now = noon.Add(time.Hour)
			update(t, t.Context(), s, "b", func(inv *invoice.Invoice) { inv.State.Status, inv.State.Exceptions = invoice.Paid, nil })
			update(t, tove, s, "c", func(inv *invoice.Invoice) {
				inv.Refunds, inv.State.Decided = []invoice.Refund{newRefund("r", invoice.RefundDeclined)}, true
			})
			type resolved struct {
				ID, By  string
				At      time.Time
				Outcome casework.Outcome
			}
			check := func(after string, since time.Time, want ...resolved) {
				t.Helper()
				list, err := s.Resolutions(t.Context(), "shop", invoice.Live, since, 10)
				var got []resolved
				for _, r := range list {
					got = append(got, resolved{r.Summary.ID, r.Actor.String(), r.At, r.Outcome()})
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
					t.Errorf("%s, error %v (-want +got):\n%s", after, err, diff)
				}
			}
			a, b, c := resolved{"a", "Tove", noon, casework.Accepted}, resolved{"b", "system", now, casework.Paid}, resolved{"c", "Tove", now, casework.Declined}
			check("all", noon, c, b, a)
			check("of the last hour", noon.Add(time.Minute), c, b)
			update(t, t.Context(), s, "c", func(inv *invoice.Invoice) { inv.State.Decided = false })
			check("c waits again", noon, b, a)
			now = noon.Add(casework.ResolutionAge + time.Minute)
			late := creation("d", "shop")
			late.At = now
			create(t, s, late)
			check("after seven days", time.UnixMilli(0), b)
		})
	}
}

// A paid invoice whose shopper asks for a refund waits for a decision, too, although it has no exception.
func TestSnooze_of_a_requested_refund(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		inv := update(t, t.Context(), s, "a", func(inv *invoice.Invoice) { inv.State.Status, inv.State.RefundAsked = invoice.Paid, true })
		until := noon.Add(24 * time.Hour)
		if err := s.Snooze(t.Context(), casework.Snooze{InvoiceID: "a", MerchantID: "shop", Mode: invoice.Live, Until: until, By: "Tove"}, inv.Version); err != nil {
			t.Fatal(err)
		}
		update(t, t.Context(), s, "a", func(inv *invoice.Invoice) {
			inv.Refunds, inv.State.RefundAsked = []invoice.Refund{newRefund("r", invoice.RefundSent)}, false
		})
		if list, err := s.Snoozed(t.Context(), "shop", invoice.Live, noon, 10); err != nil || len(list) > 0 {
			t.Errorf("the snooze remains: %+v, error %v", list, err)
		}
		if got := openCases(t, s, noon); len(got) > 0 {
			t.Errorf("%q are open", got)
		}
		list, err := s.Resolutions(t.Context(), "shop", invoice.Live, time.UnixMilli(0), 10)
		if err != nil || len(list) != 1 || list[0].Outcome() != casework.Refunded {
			t.Errorf("resolved: %+v, error %v", list, err)
		}
	})
}
