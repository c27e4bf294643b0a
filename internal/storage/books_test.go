package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/internal/retention"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// choose changes a payment setting of the shop.
func choose(t *testing.T, s *storage.Storage, name merchant.SettingName, value string) {
	t.Helper()
	_, err := s.ChangeChoices(t.Context(), "shop", func(c merchant.Choices) (merchant.Choices, error) { return c.With(merchant.Choices{name: value}) })
	if err != nil {
		t.Fatal(err)
	}
}

// removeBooks carries out the run of the shop, and returns the number of transactions.
func removeBooks(t *testing.T, s *storage.Storage, now time.Time) (calls int) {
	t.Helper()
	for done := false; !done; calls++ {
		var err error
		if done, err = s.RemoveBooks(t.Context(), "shop", now); err != nil {
			t.Fatal(err)
		}
	}
	return calls
}

// bookRemovals returns the entries of the audit log about removed invoices, oldest first.
func bookRemovals(t *testing.T, s *storage.Storage) (all []audit.Fields) {
	t.Helper()
	log, err := s.AuditLog(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(log) {
		if e.Change.Action == "books.removed" && e.Change.MerchantID == "shop" && e.Actor.Kind == audit.System {
			all = append(all, e.Change.After)
		}
	}
	if _, err := s.VerifyAuditLog(t.Context()); err != nil {
		t.Error(err)
	}
	return all
}

// tablesWith returns the tables, except the audit log, with a row that contains a text.
func tablesWith(t *testing.T, url, text string) (tables []string) {
	t.Helper()
	for table, rows := range dump(t, url) {
		if table != "audit_log" && strings.Contains(strings.Join(rows, "\n"), text) {
			tables = append(tables, table)
		}
	}
	slices.Sort(tables)
	return tables
}

// checkSums fails if the sums of days differ from the invoices.
func checkSums(t *testing.T, s *storage.Storage) {
	t.Helper()
	if differ, err := s.DaySumsDiffer(t.Context(), "shop"); err != nil || differ {
		t.Errorf("the sums of days differ from the invoices: %t, error %v", differ, err)
	}
}

// deliverAll delivers the events of an endpoint.
func deliverAll(t *testing.T, s *storage.Storage, endpointID string) {
	t.Helper()
	for {
		claims, _ := claim(t, s, endpointID, noon, 10)
		if len(claims) == 0 {
			return
		}
		for _, c := range claims {
			saveAttempt(t, s, c, noon, 204, deliveryDone)
		}
	}
}

// After the whole years an invoice is removed with every row that names it, and no destination is allocated again.
func TestRemoveBooks(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addEndpoints(t, s, newEndpoint("e"))
		const id = "removed-invoice"
		createPersonal(t, s, id)
		updateInvoice(t, s, id, func(inv *invoice.Invoice) {
			inv.Transfers = []invoice.Transfer{{ID: id + ":0", Network: "bitcoin", Tx: id, Asset: "BTC", Script: inv.Methods[0].Destination.Script,
				Amount: inv.Quote().Prices[0].Expected, Presence: invoice.Present, FirstSeen: noon, Spends: []string{id + "-in:0"}, Required: 1, Confirmations: 1,
				Block: &chain.Block{Height: 5, Hash: "five", Time: noon}, ConfirmedAt: noon}}
			inv.State.Exceptions, inv.State.Decided = []invoice.Exception{invoice.Overpaid}, true
			sale := newSale("BTC")
			sale.State = invoice.SaleFilled
			inv.Sales = []invoice.Sale{sale}
			inv.Events = append(inv.Events, storagetest.NewEvent(id, invoice.EventPaid, 2))
		})
		create(t, s, creation("kept", "bakery"))
		inv, err := s.Invoice(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		choose(t, s, merchant.SettingTimeZone, "Europe/Vienna")
		end := time.Date(2036, 12, 31, 23, 0, 0, 0, time.UTC) // the beginning of 2037 in Vienna
		removeBooks(t, s, end.AddDate(50, 0, 0))
		if got := tablesWith(t, url, id); len(got) < 10 {
			t.Fatalf("without a period, the invoice is only in %q, want 10 tables or more", got)
		}
		choose(t, s, merchant.SettingBooks, "10")
		removeBooks(t, s, end.Add(-time.Second))
		removeBooks(t, s, end.AddDate(0, 0, 1)) // with an event that is not delivered
		if got := tablesWith(t, url, id); len(got) < 10 {
			t.Fatalf("before the end of the period, the invoice is only in %q, want 10 tables or more", got)
		}
		deliverAll(t, s, "e")
		if n, err := s.CountBooks(t.Context(), "shop", retention.Cut(end, 10, time.UTC), 1000); err != nil || n != 0 {
			t.Errorf("got %d invoices before 2026, error %v, want 0", n, err)
		}
		before := dump(t, url)
		removeBooks(t, s, end.AddDate(0, 0, 3))
		if got := tablesWith(t, url, id); len(got) > 0 {
			t.Errorf("the invoice is still in %q", got)
		}
		if _, err := s.Invoice(t.Context(), id); !errors.Is(err, invoice.ErrNotFound) {
			t.Errorf("the removed invoice: error %v, want ErrNotFound", err)
		}
		after := dump(t, url)
		for _, table := range []string{"counters", "feeds", "wallets", "products", "links", "endpoints", "merchants"} {
			if diff := cmp.Diff(before[table], after[table]); diff != "" {
				t.Errorf("%s (-before +after):\n%s", table, diff)
			}
		}
		for _, counts := range after["tallies"] {
			if !strings.Contains(counts, "count: 0") {
				t.Errorf("got the tally %s, want 0", counts)
			}
		}
		created := create(t, s, creation("next", "shop"))
		if created.Methods[0].Index <= inv.Methods[0].Index {
			t.Errorf("the next invoice has index %d, want more than %d", created.Methods[0].Index, inv.Methods[0].Index)
		}
		want := audit.Fields{"created before": "2026-12-31T23:00:00Z", "invoices": "1", "payments": "1", "refunds": "1", "notes": "1"}
		if diff := cmp.Diff([]audit.Fields{want}, bookRemovals(t, s)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
		checkSums(t, s)
		if before, at, err := s.RemovedBefore(t.Context(), "shop"); err != nil || !before.Equal(end.AddDate(-10, 0, 0)) || !at.Equal(end.AddDate(0, 0, 3)) {
			t.Errorf("removed before %s at %s, error %v, want %s at %s", before, at, err, end.AddDate(-10, 0, 0), end.AddDate(0, 0, 3))
		}
		removeBooks(t, s, end.AddDate(1, 0, 0))
		if n := len(bookRemovals(t, s)); n != 1 {
			t.Errorf("%d entries after a run without removable invoices, want 1", n)
		}
	})
}

// The payment requests of an invoice are removed with it, and its payment no longer counts as received by the connection.
func TestRemoveBooks_of_a_Lightning_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		newKeyedShop(t, s, "shop")
		if err := s.CreateWallet(t.Context(), newConnection("wlt_1", noon)); err != nil {
			t.Fatal(err)
		}
		const id = "removed-invoice"
		asset := chain.LightningAsset(chain.LightningID("wlt_1"))
		amount := money.FromCents(2100, money.BTC)
		c := creation(id, "shop")
		c.Build = func(invoice.NextIndex) (*invoice.Invoice, error) {
			inv := newInvoice(id, "shop", 0, 0)
			inv.Mode = invoice.Live
			inv.Methods = append(inv.Methods, invoice.Method{Asset: asset, Watched: true})
			inv.Quotes[0].Requests = []invoice.PaymentRequest{{
				Asset: asset.Code, Destination: chain.Destination{Address: "lnbc1" + id, Script: "hash of " + id}, Amount: amount, MadeAt: noon, Until: noon,
			}}
			return inv, nil
		}
		create(t, s, c)
		updateInvoice(t, s, id, func(inv *invoice.Invoice) {
			inv.Transfers = []invoice.Transfer{{
				ID: "hash of " + id, Network: asset.Network, Tx: "hash of " + id, Asset: asset.Code, Script: "hash of " + id, Amount: amount, Presence: invoice.Present,
				FirstSeen: noon, Block: &chain.Block{Height: 1, Hash: "hash of " + id, Time: noon}, ConfirmedAt: noon, Confirmations: 1, Required: 1,
			}}
			r := newRefund("ref_"+id, invoice.RefundSent)
			r.Network, r.Asset, r.Address, r.Script, r.Tx = asset.Network, asset.Code, "lnbc1refund"+id, "hash of the refund of "+id, "hash of the refund of "+id
			inv.Refunds = []invoice.Refund{r}
			finish(inv)
		})
		if received, err := s.Received(t.Context(), "shop"); err != nil || len(received.ByKey["wlt_1"]) != 1 {
			t.Fatalf("received %+v, error %v, want one sum of the connection", received, err)
		}
		got, err := s.Invoice(t.Context(), id)
		if err != nil || len(got.PaymentRequests()) != 1 || len(got.Transfers) != 1 || got.Refunds[0].Script != "hash of the refund of "+id {
			t.Fatalf("stored %+v, error %v", got, err)
		}
		choose(t, s, merchant.SettingBooks, "10")
		removeBooks(t, s, time.Date(2037, 1, 3, 0, 0, 0, 0, time.UTC))
		if got := tablesWith(t, url, id); len(got) > 0 {
			t.Errorf("the invoice is still in %q", got)
		}
		received, err := s.Received(t.Context(), "shop")
		if err != nil || len(received.ByKey) != 0 {
			t.Errorf("received %+v, error %v, want nothing", received, err)
		}
		checkSums(t, s)
	})
}

// An invoice with activity at or after the cut stays, and so does an invoice that is not finished.
func TestRemoveBooks_keeps_active_and_unfinished_invoices(t *testing.T) {
	cut := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	states := []struct {
		name   string
		change func(*invoice.Invoice)
		due    bool
	}{
		{"paid", func(*invoice.Invoice) {}, true},
		{"paid just before the cut", func(inv *invoice.Invoice) { inv.State.PaidAt = cut.Add(-time.Millisecond) }, true},
		{"paid at the cut", func(inv *invoice.Invoice) { inv.State.PaidAt = cut }, false},
		{"open until after the cut", func(inv *invoice.Invoice) { inv.Quotes[0].Until = cut }, false},
		{"refunded after the cut", func(inv *invoice.Invoice) { inv.Refunds[0].Sent.At = cut.Add(time.Hour) }, false},
		{"refund prepared", func(inv *invoice.Invoice) { inv.Refunds[0].State = invoice.RefundReady }, false},
		{"waits for a decision", func(inv *invoice.Invoice) { inv.State.Exceptions = []invoice.Exception{invoice.Late} }, false},
		{"pending", func(inv *invoice.Invoice) { inv.State.Status = invoice.Pending }, false},
		{"unsold", func(inv *invoice.Invoice) { inv.Sales = []invoice.Sale{newSale("BTC")} }, false},
		{"expired", func(inv *invoice.Invoice) { inv.State.Status, inv.State.PaidAt = invoice.Expired, time.Time{} }, true},
		{"unconfirmed payment", func(inv *invoice.Invoice) {
			inv.Transfers = []invoice.Transfer{{ID: "u", Network: "bitcoin", Tx: "u", Asset: "BTC", Script: "s", Amount: inv.Quote().Prices[0].Expected,
				Presence: invoice.Present, FirstSeen: noon, Required: 1}}
		}, false},
	}
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i, state := range states {
			createPersonal(t, s, fmt.Sprint("i", i))
			updateInvoice(t, s, fmt.Sprint("i", i), state.change)
		}
		createPersonal(t, s, "noted")
		note := newNote("late", cut)
		note.InvoiceID = "noted"
		if err := s.AddNote(t.Context(), note); err != nil {
			t.Fatal(err)
		}
		createPersonal(t, s, "broken")
		execSQL(t, url, "UPDATE invoices SET quotes = '{' WHERE id = 'broken'")
		choose(t, s, merchant.SettingBooks, "10")
		due := int64(0)
		for _, state := range states {
			if state.due {
				due++
			}
		}
		if n, err := s.CountBooks(t.Context(), "shop", cut, 1000); err != nil || n < due || n > due+6 {
			t.Errorf("counted %d invoices, error %v, want %d to %d", n, err, due, due+6)
		}
		if n, err := s.CountBooks(t.Context(), "shop", cut, 2); err != nil || n != 2 {
			t.Errorf("counted %d invoices, error %v, want the limit of 2", n, err)
		}
		removeBooks(t, s, cut.AddDate(10, 6, 0))
		for i, state := range states {
			_, err := s.Invoice(t.Context(), fmt.Sprint("i", i))
			if removed := errors.Is(err, invoice.ErrNotFound); removed != state.due {
				t.Errorf("%s: removed is %t, want %t", state.name, removed, state.due)
			}
		}
		if _, err := s.Invoice(t.Context(), "noted"); err != nil {
			t.Errorf("an invoice with a note after the cut: %v", err)
		}
		if got := rows(t, url, "SELECT id FROM invoices WHERE id = 'broken'"); len(got) != 1 {
			t.Error("an invoice that cannot be read was removed")
		}
		execSQL(t, url, "UPDATE invoices SET paid_at = NULL WHERE id = 'broken'")
		checkSums(t, s)
	})
}

// The sums have no days before the cut, also in another time zone, and those of later days equal the invoices.
func TestRemoveBooks_sums_of_days(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		cut := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		for i, at := range []time.Time{noon, cut.Add(-time.Hour), cut, cut.Add(30 * time.Hour)} {
			id := fmt.Sprint("i", i)
			createPersonal(t, s, id)
			updateInvoice(t, s, id, setPaidAt(at))
		}
		createPersonal(t, s, "open") // paid before the cut, with a refund that is not sent
		updateInvoice(t, s, "open", func(inv *invoice.Invoice) { inv.Refunds[0].State = invoice.RefundReady })
		choose(t, s, merchant.SettingBooks, "10")
		now := cut.AddDate(10, 0, 5)
		removeBooks(t, s, now)
		check := func(when string, first string, want ...string) {
			t.Helper()
			got, err := s.DaySums(t.Context(), "shop", invoice.Live, ever, ever, false)
			if err != nil {
				t.Fatal(err)
			}
			var days []string
			for _, d := range got.Current {
				days = append(days, fmt.Sprint(d.Day, " ", d.Invoices))
			}
			slices.Sort(days)
			if !slices.Equal(days, want) || got.Removed.Before.String() != first || !got.Removed.At.Equal(now) {
				t.Errorf("%s: the sums have %q, removed %v, want %q from %s", when, days, got.Removed, want, first)
			}
			checkSums(t, s)
		}
		check("after the removal", "2027-01-01", "2027-01-01 1", "2027-01-02 1")
		if p, err := report.ParsePeriod("2026"); err != nil || !(report.Removed{Before: report.DayOf(cut, time.UTC), At: now}).HasAll(p) {
			t.Errorf("the year 2026 is not removed as a whole, error %v", err)
		}
		updateInvoice(t, s, "open", func(inv *invoice.Invoice) { inv.State.Paid = inv.State.Paid.Sub(money.FromCents(1, money.EUR)) })
		check("after a change of an invoice that stays", "2027-01-01", "2027-01-01 1", "2027-01-02 1")
		for zone, tt := range map[string]struct {
			first string
			want  []string
		}{
			"America/New_York": {"2027-01-01", []string{"2027-01-02 1"}}, // the payment at the cut is on the last day of 2026
			"Asia/Tokyo":       {"2027-01-02", []string{"2027-01-02 1"}}, // the first day of 2027 began before the cut
			"UTC":              {"2027-01-01", []string{"2027-01-01 1", "2027-01-02 1"}},
		} {
			choose(t, s, merchant.SettingTimeZone, zone)
			if err := report.Complete(t.Context(), s, "shop"); err != nil {
				t.Fatal(err)
			}
			check(zone, tt.first, tt.want...)
		}
		if err := s.RestartSums(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
	})
}

// setPaidAt returns a change that sets the times at which an invoice became paid.
func setPaidAt(at time.Time) func(*invoice.Invoice) {
	return func(inv *invoice.Invoice) { inv.State.PaidAt, inv.FirstPaidAt = at, at }
}

// A run has several parts, which continue after a restart with the same cut, and one entry of the audit log.
func TestRemoveBooks_continues(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 120 {
			create(t, s, creation(fmt.Sprint("i", i), "shop"))
			updateInvoice(t, s, fmt.Sprint("i", i), finish)
		}
		choose(t, s, merchant.SettingBooks, "10")
		now := time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
		if done, err := s.RemoveBooks(t.Context(), "shop", now); done || err != nil {
			t.Fatalf("the first part: done %t, error %v, want an unfinished run", done, err)
		}
		if n := len(rows(t, url, "SELECT id FROM invoices")); n != 70 {
			t.Fatalf("%d invoices after the first part, want 70", n)
		}
		checkSums(t, s)
		again := open(t, url)
		choose(t, again, merchant.SettingBooks, "2") // the run ends with its cut
		if shops, err := again.BookShops(t.Context()); err != nil || !slices.Equal(shops, []string{"shop"}) {
			t.Errorf("got shops %q, error %v, want shop", shops, err)
		}
		removeBooks(t, again, now.AddDate(1, 0, 0))
		want := audit.Fields{"created before": "2027-01-01T00:00:00Z", "invoices": "120", "payments": "0", "refunds": "0", "notes": "0"}
		if diff := cmp.Diff([]audit.Fields{want}, bookRemovals(t, again)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
		if n := len(rows(t, url, "SELECT currency FROM day_sums")); n != 0 {
			t.Errorf("%d sums of days remain, want none", n)
		}
	})
}

// A merchant that chooses a longer period, or none, keeps the invoices that a run has not removed yet, also if the run has removed
// none so far and the next one begins with another choice.
func TestRemoveBooks_ends_when_the_period_gets_longer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		years   []string
		removed bool // whether the first part removes invoices
	}{
		{"longer", []string{"40"}, true},
		{"off", []string{merchant.Kept}, true},
		{"longer before anything was removed", []string{"40"}, false},
		{"off, then longer, before anything was removed", []string{merchant.Kept, "40"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
				for i := range 120 {
					id := fmt.Sprintf("i%03d", i)
					create(t, s, creation(id, "shop"))
					if tt.removed || i >= 60 { // the first part examines the others, which are open
						updateInvoice(t, s, id, finish)
						updateInvoice(t, s, id, setPaidAt(noon))
					}
				}
				choose(t, s, merchant.SettingBooks, "10")
				now := time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
				if done, err := s.RemoveBooks(t.Context(), "shop", now); done || err != nil {
					t.Fatalf("the first part: done %t, error %v", done, err)
				}
				left := len(rows(t, url, "SELECT id FROM invoices"))
				if tt.removed != (left < 120) {
					t.Fatalf("%d invoices after the first part", left)
				}
				for _, years := range tt.years {
					choose(t, s, merchant.SettingBooks, years)
					if shops, err := s.BookShops(t.Context()); err != nil || !slices.Equal(shops, []string{"shop"}) {
						t.Errorf("shops with %s years: %q, error %v", years, shops, err)
					}
					now = now.AddDate(0, 0, 2)
					removeBooks(t, s, now)
				}
				if got := len(rows(t, url, "SELECT id FROM invoices")); got != left {
					t.Errorf("%d invoices, want %d as before the choice", got, left)
				}
				if got := len(bookRemovals(t, s)); tt.removed != (got == 1) {
					t.Errorf("%d entries of the audit log", got)
				}
				if got := rows(t, url, "SELECT currency FROM day_sums WHERE invoices > 0"); tt.removed != (len(got) == 0) {
					t.Errorf("%d sums of days are left", len(got))
				}
				checkSums(t, s)
			})
		})
	}
}

// An order of a signed link whose invoice was removed gets no other invoice, and a link that reached its maximum stays used.
func TestRemoveBooks_keeps_orders_and_uses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		if err := s.CreateKey(ctx, newKey("k1")); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateLink(ctx, merchant.Link{Slug: "once", MerchantID: "shop", Mode: merchant.Live, CreatedAt: noon, MaxUses: 1}); err != nil {
			t.Fatal(err)
		}
		order := invoice.Order{KeyID: "k1", ID: "1042", Price: money.FromCents(5650, money.EUR)}
		create(t, s, ordered("a", order))
		linked := creation("b", "shop")
		linked.Link = invoice.LinkUse{Slug: "once", Max: 1}
		create(t, s, linked)
		for _, id := range []string{"a", "b"} {
			updateInvoice(t, s, id, finish)
		}
		choose(t, s, merchant.SettingBooks, "2")
		removeBooks(t, s, noon.AddDate(3, 2, 0))
		if _, err := s.Invoice(ctx, "a"); !errors.Is(err, invoice.ErrNotFound) {
			t.Fatalf("the invoice of the order: error %v, want ErrNotFound", err)
		}
		if _, err := s.OrderedInvoice(ctx, order); !errors.Is(err, invoice.ErrLinkUsed) {
			t.Errorf("the removed order: error %v, want ErrLinkUsed", err)
		}
		if _, _, err := s.CreateInvoice(ctx, ordered("c", order)); !errors.Is(err, invoice.ErrLinkUsed) {
			t.Errorf("a new invoice of the order: error %v, want ErrLinkUsed", err)
		}
		linked = creation("d", "shop")
		linked.Link = invoice.LinkUse{Slug: "once", Max: 1}
		if _, _, err := s.CreateInvoice(ctx, linked); !errors.Is(err, invoice.ErrLinkUsed) {
			t.Errorf("a new invoice of the link: error %v, want ErrLinkUsed", err)
		}
	})
}

// The removal of an invoice deletes rows from every table with a column invoice_id, except from idempotency, whose rows expire.
func TestRemoveBooks_covers_every_table(t *testing.T) {
	t.Parallel()
	url := storagetest.File(t)
	open(t, url)
	found := rows(t, url, "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'invoice_id' WHERE m.type = 'table' ORDER BY m.name")
	want := append(slices.Clone(storage.InvoiceTables), "team_notes", "deliveries", "retention_waiting", "idempotency")
	slices.Sort(want)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("tables (-removed +of the schema):\n%s", diff)
	}
}
