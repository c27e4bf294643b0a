package storage_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/storage"
)

// createSold creates an invoice of the shop with metadata of a shop plug-in.
func createSold(t *testing.T, s *storage.Storage, id string, change func(*invoice.Invoice)) {
	t.Helper()
	c := creation(id, "shop")
	c.PluginMetadata = []byte(`{"buyerName":"` + shopper + `"}`)
	create(t, s, c)
	updateInvoice(t, s, id, func(inv *invoice.Invoice) {
		finish(inv)
		change(inv)
	})
}

// asFinished changes nothing.
func asFinished(*invoice.Invoice) {}

// removePluginMetadata removes the metadata of plug-ins that are older than 180 days, and returns the number of calls.
func removePluginMetadata(t *testing.T, s *storage.Storage, now time.Time) (calls int) {
	t.Helper()
	for {
		calls++
		if calls > 100 {
			t.Fatal("the removal does not end")
		}
		done, err := s.RemovePluginMetadata(t.Context(), 180, now)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return calls
		}
	}
}

// metadataOf returns the metadata of an invoice.
func metadataOf(t *testing.T, s *storage.Storage, id string) string {
	t.Helper()
	data, err := s.PluginData(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return string(data[id].Metadata)
}

func TestRemovePluginMetadata(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		createSold(t, s, "a", func(inv *invoice.Invoice) { inv.Terms.OrderID = "1042" })
		create(t, s, creation("b", "shop"))
		note := newNote("note", noon)
		note.InvoiceID, note.Text = "a", "called"
		if err := s.AddNote(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		want, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		end := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 180) // of the day of the invoice, after the period
		removePluginMetadata(t, s, end.Add(-time.Second))
		if got := metadataOf(t, s, "a"); !strings.Contains(got, shopper) {
			t.Errorf("before the end of the period, the metadata are %q", got)
		}
		removePluginMetadata(t, s, end)
		if got := traces(t, url); len(got) > 0 {
			t.Errorf("the shopper is still in %q", got)
		}
		got, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		want.Revision++
		want.Removal = invoice.Removal{At: end, Kinds: []invoice.PersonalData{invoice.ShopMetadata}}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("invoice (-want +got):\n%s", diff)
		}
		updateInvoice(t, s, "a", func(inv *invoice.Invoice) { inv.AcceptedAt = end })
		if n := rows(t, url, "SELECT invoice_id FROM retention_waiting"); len(n) > 0 {
			t.Errorf("%q wait for a run of the shop, which has no period", n)
		}
		removePluginMetadata(t, s, end.AddDate(1, 0, 0))
		if diff := cmp.Diff([]audit.Fields{{"invoices": "1", "metadata": "1"}}, removals(t, s)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

// A plug-in may send metadata after the invoice was created, and again after they were removed.
func TestRemovePluginMetadata_that_were_sent_later(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		updateInvoice(t, s, "a", finish)
		setPluginMetadata(t, s, "a")
		for i := range 2 {
			removePluginMetadata(t, s, noon.AddDate(0, 0, 181+i))
			if got := metadataOf(t, s, "a"); got != "" {
				t.Errorf("the metadata are %q", got)
			}
			setPluginMetadata(t, s, "a")
		}
	})
}

// Metadata stay while something is expected of the invoice, and for the period after its last activity. They wait for no other
// invoice.
func TestRemovePluginMetadata_waits(t *testing.T) {
	now := noon.AddDate(0, 0, 181)
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 120 {
			createSold(t, s, fmt.Sprintf("undecided %03d", i), func(inv *invoice.Invoice) { inv.State.Exceptions = []invoice.Exception{invoice.Late} })
		}
		createSold(t, s, "accepted", func(inv *invoice.Invoice) { inv.AcceptedAt = noon.AddDate(0, 0, 10) })
		createSold(t, s, "paid", asFinished)
		removePluginMetadata(t, s, now)
		check := func(id string, removed bool) {
			t.Helper()
			if got := metadataOf(t, s, id); (got == "") != removed {
				t.Errorf("%s: the metadata are %q, want removed %v", id, got, removed)
			}
		}
		check("undecided 000", false)
		check("undecided 119", false)
		check("accepted", false)
		check("paid", true)
		if calls := removePluginMetadata(t, s, now.Add(time.Minute)); calls != 1 {
			t.Errorf("the invoices that wait are examined again on the same day, in %d transactions", calls)
		}
		updateInvoice(t, s, "undecided 007", func(inv *invoice.Invoice) { inv.State.Decided = true })
		removePluginMetadata(t, s, now.AddDate(0, 0, 1))
		check("undecided 007", true)
		check("undecided 008", false)
		removePluginMetadata(t, s, now.AddDate(0, 0, 11))
		check("accepted", true)
	})
}

// An invoice that cannot be read keeps its metadata, and stops no other removal.
func TestRemovePluginMetadata_of_an_unreadable_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		createSold(t, s, "a", asFinished)
		createSold(t, s, "b", asFinished)
		execSQL(t, url, "UPDATE invoices SET quotes = '{' WHERE id = $1", "a")
		removePluginMetadata(t, s, noon.AddDate(0, 0, 181))
		if got := metadataOf(t, s, "b"); got != "" {
			t.Errorf("the metadata of the other invoice are %q", got)
		}
		if got := metadataOf(t, s, "a"); got == "" {
			t.Error("the metadata of the unreadable invoice are gone")
		}
	})
}

// Two processes remove each metadata once, and the audit log has their number.
func TestRemovePluginMetadata_by_two_processes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const invoices = 130
		for i := range invoices {
			createSold(t, s, fmt.Sprint("i", i), asFinished)
		}
		var group sync.WaitGroup
		faults := make([]error, 2)
		for i, process := range []*storage.Storage{s, open(t, url)} {
			group.Go(func() {
				for done := false; !done && faults[i] == nil; {
					done, faults[i] = process.RemovePluginMetadata(t.Context(), 180, noon.AddDate(0, 0, 181))
				}
			})
		}
		group.Wait()
		if err := errors.Join(faults...); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, fields := range removals(t, s) {
			var n int
			if _, err := fmt.Sscan(fields["metadata"], &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if got := traces(t, url); len(got) > 0 || sum != invoices {
			t.Errorf("the log has %d metadata, want %d; the shopper is still in %q", sum, invoices, got)
		}
	})
}

// The upgrade counts the period of existing metadata from the creation of their invoice.
func TestOpen_dates_existing_plugin_metadata(t *testing.T) {
	onFirstRelease(t, func(t *testing.T, url string) {
		migrateTo(t, url, 56)
		execSQL(t, url, "INSERT INTO plugin_data (invoice_id, metadata) SELECT id, '{}' FROM invoices")
		open(t, url)
		got := rows(t, url, "SELECT p.kept_since - i.created_at FROM plugin_data p JOIN invoices i ON i.id = p.invoice_id")
		if len(got) == 0 {
			t.Error("no metadata")
		}
		for _, difference := range got {
			ms, err := strconv.ParseInt(difference, 10, 64)
			if err != nil || ms <= 0 || ms > 24*time.Hour.Milliseconds() {
				t.Errorf("the period begins %q ms after the creation, want at most one day", difference)
			}
		}
	})
}
