package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// shopper is in every text of the tests that can identify a shopper.
const shopper = "jane.doe"

// keepFor sets the retention period of the shop: "off", or a number of months.
func keepFor(t *testing.T, s *storage.Storage, period string) {
	t.Helper()
	_, err := s.ChangeChoices(t.Context(), "shop", func(c merchant.Choices) (merchant.Choices, error) {
		return c.With(merchant.Choices{merchant.SettingPersonalData: period})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// removeAll carries out the run of the shop, and returns the number of transactions.
func removeAll(t *testing.T, s *storage.Storage, now time.Time) (calls int) {
	t.Helper()
	for {
		calls++
		done, err := s.RemovePersonalData(t.Context(), "shop", now)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return calls
		}
	}
}

// createPersonal creates an invoice of the shop with personal data of every kind, and a note.
func createPersonal(t *testing.T, s *storage.Storage, id string) {
	t.Helper()
	c := creation(id, "shop")
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(next)
		inv.Terms.OrderID, inv.Terms.Description = "1042", "Two mugs"
		inv.Origin = invoice.Origin{Kind: invoice.FromProduct, ID: "mug"}
		inv.Terms.URLSuccess, inv.Terms.URLFailure = "https://shop.example/?o="+shopper, "https://shop.example/basket/"+shopper
		inv.Terms.Metadata = map[string]string{
			api.MetadataProduct: "mug", api.MetadataQuantity: "2", api.MetadataUnitPrice: "28.25",
			api.MetadataOrderReference: "for " + shopper, api.MetadataNote: "ring at " + shopper, "customer": shopper,
		}
		return inv, err
	}
	create(t, s, c)
	updateInvoice(t, s, id, func(inv *invoice.Invoice) {
		inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: "tb1" + shopper, By: "shopper"}
		r := newRefund("ref_"+id, invoice.RefundSent)
		r.Address, r.Script = "tb1"+shopper, "script of "+shopper
		inv.Refunds = []invoice.Refund{r}
		finish(inv)
	})
	note := newNote("note_"+id, noon)
	note.InvoiceID, note.Text = id, "called "+shopper
	if err := s.AddNote(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	setPluginMetadata(t, s, id)
}

// setPluginMetadata stores metadata that name the shopper, as a shop plug-in does.
func setPluginMetadata(t *testing.T, s *storage.Storage, id string) {
	t.Helper()
	if err := s.SetPluginMetadata(t.Context(), "shop", id, []byte(`{"buyerName":"`+shopper+`"}`)); err != nil {
		t.Fatal(err)
	}
}

// finish makes an invoice paid at noon, so that nothing is expected of it.
func finish(inv *invoice.Invoice) {
	inv.State.Status, inv.State.PaidAt, inv.State.PaidAsset, inv.State.NextCheck = invoice.Paid, noon, "BTC", time.Time{}
	inv.State.Paid, inv.State.Due, inv.PaidCount, inv.FirstPaidAt = inv.Terms.Price, money.Zero(money.EUR), 1, noon
}

func updateInvoice(t *testing.T, s *storage.Storage, id string, change func(*invoice.Invoice)) {
	t.Helper()
	_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		change(inv)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// traces returns the tables with a text that can identify the shopper.
func traces(t *testing.T, url string) (tables []string) {
	t.Helper()
	for table, rows := range dump(t, url) {
		if strings.Contains(strings.Join(rows, "\n"), shopper) {
			tables = append(tables, table)
		}
	}
	slices.Sort(tables)
	return tables
}

// removals returns the entries of the audit log about removed personal data, oldest first.
func removals(t *testing.T, s *storage.Storage) (all []audit.Fields) {
	t.Helper()
	log, err := s.AuditLog(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(log) {
		if e.Change.Action == "personal_data.removed" && e.Change.MerchantID == "shop" && e.Actor.Kind == audit.System {
			all = append(all, e.Change.After)
		}
	}
	if _, err := s.VerifyAuditLog(t.Context()); err != nil {
		t.Error(err)
	}
	return all
}

func TestRemovePersonalData_removes_every_trace_of_the_shopper(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		createPersonal(t, s, "a")
		create(t, s, creation("o", "bakery"))
		if got := traces(t, url); len(got) < 4 {
			t.Fatalf("the shopper is only in %q", got)
		}
		before := dump(t, url)
		want, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		due := noon.Add(15*time.Minute).AddDate(0, 24, 0) // after the end of the quote
		removeAll(t, s, due)
		if got := traces(t, url); len(got) < 4 {
			t.Errorf("without a period, the shopper is only in %q", got)
		}
		keepFor(t, s, "24")
		removeAll(t, s, due.Add(-time.Second))
		if got := traces(t, url); len(got) < 4 {
			t.Errorf("before the end of the period, the shopper is only in %q", got)
		}
		removeAll(t, s, due)
		if got := traces(t, url); len(got) < 4 {
			t.Errorf("a second run on one day: the shopper is only in %q", got)
		}
		removeAll(t, s, due.AddDate(0, 0, 1))
		if got := traces(t, url); len(got) > 0 {
			t.Errorf("the shopper is still in %q", got)
		}
		got, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		want.Revision++
		want.Terms.URLSuccess, want.Terms.URLFailure, want.RefundAddress = "", "", invoice.RefundAddress{}
		want.Terms.Metadata = map[string]string{api.MetadataProduct: "mug", api.MetadataQuantity: "2", api.MetadataUnitPrice: "28.25"}
		want.Refunds[0].Address, want.Refunds[0].Script, want.Refunds[0].AddressBy = "", "", ""
		want.Removal = invoice.Removal{At: due.AddDate(0, 0, 1), Kinds: []invoice.PersonalData{"metadata", "notes", "refund_addresses", "return_addresses"}}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("invoice (-want +got):\n%s", diff)
		}
		after := dump(t, url)
		for table, rows := range before {
			switch table {
			case "invoices", "refunds", "refund_transactions", "team_notes", "plugin_data", "merchants", "retention_runs", "retention_waiting", "audit_log", "audit_head":
			default:
				if diff := cmp.Diff(rows, after[table]); diff != "" {
					t.Errorf("%s (-before +after):\n%s", table, diff)
				}
			}
		}
		entry := audit.Fields{"invoices": "1", "notes": "1", "refund addresses": "2", "metadata": "1", "return addresses": "2"}
		if diff := cmp.Diff([]audit.Fields{entry}, removals(t, s)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
		if differ, err := s.DaySumsDiffer(t.Context(), "shop"); err != nil || differ {
			t.Errorf("the sums of days differ: %v, error %v", differ, err)
		}
		removeAll(t, s, due.AddDate(1, 0, 0))
		if n := len(removals(t, s)); n != 1 {
			t.Errorf("a run without work wrote an entry: %d", n)
		}
	})
}

// A transaction that paid a refund whose address was removed pays no other refund.
func TestRemovePersonalData_keeps_the_transactions_of_refunds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for _, id := range []string{"a", "b"} {
			createPersonal(t, s, id)
		}
		create(t, s, creation("c", "shop"))
		keepFor(t, s, "3")
		removeAll(t, s, noon.AddDate(1, 0, 0))
		_, err := s.UpdateInvoice(t.Context(), "c", invoice.Lease{}, func(inv *invoice.Invoice) error {
			r := newRefund("ref_c", invoice.RefundSent)
			r.Tx, r.Payment = "0x8fref_a", nil // stated, and not shown by the network
			inv.Refunds = []invoice.Refund{r}
			return nil
		})
		if !errors.Is(err, invoice.ErrUsedTransaction) {
			t.Errorf("got %v", err)
		}
	})
}

// Nothing is removed while something is expected of the invoice.
func TestRemovePersonalData_waits(t *testing.T) {
	late := noon.AddDate(0, 12, 0)
	transfer := func(presence invoice.Presence) func(*invoice.Invoice) {
		return func(inv *invoice.Invoice) {
			inv.Transfers = []invoice.Transfer{{ID: "t" + inv.ID, Network: "bitcoin", Tx: "t" + inv.ID, Asset: "BTC", Script: "s", Amount: money.MustParse("1", money.BTC),
				Presence: presence, FirstSeen: noon, Required: 1}}
		}
	}
	states := []struct {
		name   string
		change func(*invoice.Invoice)
		due    bool
	}{
		{"paid", func(*invoice.Invoice) {}, true},
		{"expired", func(inv *invoice.Invoice) { inv.State.Status = invoice.Expired }, true},
		{"declined", func(inv *invoice.Invoice) { inv.State.Status, inv.DeclinedAt = invoice.Declined, noon }, true},
		{"created", func(inv *invoice.Invoice) { inv.State.Status = invoice.Created }, false},
		{"pending", func(inv *invoice.Invoice) { inv.State.Status = invoice.Pending }, false},
		{"changes with time", func(inv *invoice.Invoice) { inv.State.NextCheck = late }, false},
		{"waits for a decision", func(inv *invoice.Invoice) { inv.State.Exceptions = []invoice.Exception{invoice.Late} }, false},
		{"decided", func(inv *invoice.Invoice) {
			inv.State.Exceptions, inv.State.Decided = []invoice.Exception{invoice.Late}, true
		}, true},
		{"refund requested", func(inv *invoice.Invoice) { inv.Refunds[0].State = invoice.RefundAsked }, false},
		{"refund prepared", func(inv *invoice.Invoice) { inv.Refunds[0].State = invoice.RefundReady }, false},
		{"refund sent lately", func(inv *invoice.Invoice) { inv.Refunds[0].Sent.At = late.AddDate(0, -3, 1) }, false},
		{"unconfirmed payment", transfer(invoice.Present), false},
		{"replaced payment", transfer("replaced"), true},
		{"accepted lately", func(inv *invoice.Invoice) { inv.AcceptedAt = late.AddDate(0, -1, 0) }, false},
		{"surplus kept lately", func(inv *invoice.Invoice) {
			inv.Kept = invoice.KeptSurplus{Mark: invoice.Mark{By: "Tove", At: late.AddDate(0, -1, 0)}, Amount: money.FromCents(1, money.EUR)}
		}, false},
		{"watched", func(inv *invoice.Invoice) { inv.Quotes[0].Until = late.AddDate(0, 0, -29) }, false},
		{"unsold", func(inv *invoice.Invoice) { inv.Sales = []invoice.Sale{newSale("BTC")} }, false},
	}
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for i, state := range states {
			createPersonal(t, s, fmt.Sprint("i", i))
			updateInvoice(t, s, fmt.Sprint("i", i), state.change)
		}
		createPersonal(t, s, "noted")
		note := newNote("late", late.AddDate(0, -3, 1))
		note.InvoiceID = "noted"
		if err := s.AddNote(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		keepFor(t, s, "3")
		removeAll(t, s, late)
		check := func(id, name string, due bool) {
			t.Helper()
			inv, err := s.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if got := !inv.Removal.At.IsZero(); got != due || (inv.RefundAddress.Address == "") != due {
				t.Errorf("%s: removed %v, refund address %q, want removed %v", name, got, inv.RefundAddress.Address, due)
			}
		}
		for i, state := range states {
			check(fmt.Sprint("i", i), state.name, state.due)
		}
		check("noted", "a late note", false)
		removeAll(t, s, late.AddDate(0, 0, 1))
		check("noted", "the period of the note has ended", true)
	})
}

// What is added after a removal is removed again.
func TestRemovePersonalData_removes_later_additions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		createPersonal(t, s, "a")
		createPersonal(t, s, "b")
		keepFor(t, s, "3")
		first := noon.AddDate(0, 4, 0)
		removeAll(t, s, first)
		note := newNote("again", first)
		note.Text = shopper + " called again"
		if err := s.AddNote(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		updateInvoice(t, s, "b", func(inv *invoice.Invoice) {
			inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: shopper, By: "shopper"}
			r := newRefund("ref_later", invoice.RefundSent)
			r.Sent.At, r.Address = first, shopper
			inv.Refunds = append(inv.Refunds, r)
		})
		setPluginMetadata(t, s, "b")
		removeAll(t, s, first.AddDate(0, 3, -1))
		if got := traces(t, url); !slices.Contains(got, "team_notes") || !slices.Contains(got, "refunds") || !slices.Contains(got, "plugin_data") {
			t.Errorf("before the period has ended again, the shopper is only in %q", got)
		}
		removeAll(t, s, first.AddDate(0, 3, 0))
		if got := traces(t, url); len(got) > 0 {
			t.Errorf("the shopper is still in %q", got)
		}
		if n := rows(t, url, "SELECT invoice_id FROM retention_waiting"); len(n) > 0 {
			t.Errorf("%q wait", n)
		}
	})
}
