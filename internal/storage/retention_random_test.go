package storage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// personal is the model of an invoice in TestRemovePersonalData_with_random_invoices.
type personal struct {
	id     string
	open   bool      // the invoice waits for a decision
	last   time.Time // last activity
	noted  time.Time // newest note
	notes  int
	stored bool // it has a refund address
}

// Each run removes exactly the personal data whose retention period has ended, and the entries of the audit log have the numbers of removed
// values.
func TestRemovePersonalData_with_random_invoices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		all, now, months, notes, removedNotes, removedAddresses := []*personal{}, noon, 0, 0, 0, 0
		for step := range 40 {
			now = now.Add(24*time.Hour + time.Duration(r.IntN(40*24))*time.Hour)
			if r.IntN(4) == 0 {
				period := []string{"off", "3", "6", "24"}[r.IntN(4)]
				keepFor(t, s, period)
				months = map[string]int{"off": 0, "3": 3, "6": 6, "24": 24}[period]
			}
			for range r.IntN(3) {
				p := &personal{id: fmt.Sprintf("i%d-%d", step, len(all)), open: r.IntN(3) == 0, last: now, stored: true}
				all = append(all, p)
				createFinished(t, s, p.id, now)
				updateInvoice(t, s, p.id, func(inv *invoice.Invoice) {
					inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: shopper}
					if p.open {
						inv.State.Exceptions = []invoice.Exception{invoice.Overpaid}
					}
				})
			}
			for _, p := range all {
				switch r.IntN(12) {
				case 0:
					note := newNote(fmt.Sprint(p.id, "/", step), now)
					note.InvoiceID = p.id
					if err := s.AddNote(t.Context(), note); err != nil {
						t.Fatal(err)
					}
					p.notes, p.noted = p.notes+1, now
					notes++
				case 1:
					if p.open {
						p.open, p.last = false, now
						at := now
						updateInvoice(t, s, p.id, func(inv *invoice.Invoice) {
							inv.State.Decided = true
							inv.Kept = invoice.KeptSurplus{Mark: invoice.Mark{By: "Tove", At: at}, Amount: money.FromCents(1, money.EUR)}
						})
					}
				case 2:
					if !p.stored {
						p.stored = true
						updateInvoice(t, s, p.id, func(inv *invoice.Invoice) { inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: shopper} })
					}
				}
			}
			removeAll(t, s, now)
			for _, p := range all {
				if months > 0 && !p.open && !now.Before(p.last.AddDate(0, months, 0)) && !now.Before(p.noted.AddDate(0, months, 0)) {
					removedNotes += p.notes
					if p.stored {
						removedAddresses++
					}
					p.notes, p.noted, p.stored = 0, time.Time{}, false
				}
				inv, err := s.Invoice(t.Context(), p.id)
				if err != nil {
					t.Fatal(err)
				}
				kept, err := s.Notes(t.Context(), p.id)
				if err != nil {
					t.Fatal(err)
				}
				if len(kept) != p.notes || (inv.RefundAddress.Address != "") != p.stored {
					t.Fatalf("step %d, %s with a period of %d months: invoice %+v has %d notes and the address %q", step, now, months, *p, len(kept), inv.RefundAddress.Address)
				}
			}
		}
		var counted [2]int
		for _, entry := range removals(t, s) {
			for i, name := range []string{"notes", "refund addresses"} {
				var n int
				if _, err := fmt.Sscan(entry[name], &n); err != nil {
					t.Fatal(err)
				}
				counted[i] += n
			}
		}
		if counted != [2]int{removedNotes, removedAddresses} {
			t.Errorf("the entries count %v, want %d notes and %d addresses", counted, removedNotes, removedAddresses)
		}
		if got := len(rows(t, url, "SELECT id FROM team_notes")); got != notes-removedNotes {
			t.Errorf("%d notes, want %d", got, notes-removedNotes)
		}
		checkDaySums(t, s, "shop", invoice.Live, "the removals")
	})
}

// createFinished creates an invoice that is created and paid at a time, which is its last activity.
func createFinished(t *testing.T, s *storage.Storage, id string, at time.Time) {
	t.Helper()
	c := creation(id, "shop")
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		inv.CreatedAt, inv.Quotes[0].From, inv.Quotes[0].Until = at, at, at
		return inv, err
	}
	create(t, s, c)
	updateInvoice(t, s, id, func(inv *invoice.Invoice) {
		finish(inv)
		inv.State.PaidAt, inv.FirstPaidAt = at, at
	})
}

func TestRemovePersonalData_at_the_end_of_the_period(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		createFinished(t, s, "i", noon)
		updateInvoice(t, s, "i", func(inv *invoice.Invoice) { inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: shopper} })
		keepFor(t, s, "3")
		removeAll(t, s, noon.AddDate(0, 3, 0))
		inv, err := s.Invoice(t.Context(), "i")
		if err != nil || inv.RefundAddress.Address != "" {
			t.Errorf("three months after the last activity, the refund address is %q, error %v", inv.RefundAddress.Address, err)
		}
	})
}
