package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

func TestInvoice_reads_the_created_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		want := newInvoice("a", "shop", 0, 0)
		want.Terms.AllowPaidExpired, want.Terms.DisableSale = true, true
		want.Terms.URLSuccess, want.Terms.URLFailure = "https://shop.example/ok?a=1&b=<2>", "https://shop.example/no"
		want.Terms.OrderID, want.Terms.Description = "1042", "Zwei Brötchen \u202e und\u2028ein \"Kaffee\""
		want.Terms.Metadata = map[string]string{"table": "7", "": "empty"}
		want.Terms.Rules.Tolerance, want.Terms.Rules.LatePercent = money.FromCents(5, money.EUR), 0
		want.Terms.Rules.Gas = map[chain.ID]money.Amount{"base": money.MustParse("0.0002", money.ETH)}
		want.Coverage = map[chain.ID]invoice.Coverage{"bitcoin": {Scanned: noon}, "ethereum": {BlindFrom: noon}}
		c := creation("a", "shop")
		c.Build = func(invoice.NextIndex) (*invoice.Invoice, error) { return want, nil }

		got, replayed, err := s.CreateInvoice(t.Context(), c)
		if err != nil || replayed {
			t.Fatalf("create: replayed %v, error %v", replayed, err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("created (-want +got):\n%s", diff)
		}
		got, err = s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		events, err := s.Events(t.Context(), "shop", invoice.Live, 0, 10)
		if diff := cmp.Diff(want.Events, events, cmpopts.IgnoreFields(invoice.Event{}, "Position")); err != nil || diff != "" {
			t.Errorf("events: error %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestInvoice_keeps_the_rate_of_its_currency(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		yen := money.Currency{Code: "JPY"}
		price := money.MustParse("1500", yen)
		want := newInvoice("a", "shop", 0, 0)
		want.Terms.Price, want.Terms.Rules = price, invoice.DefaultRules(yen)
		want.State.Paid, want.State.Due, want.State.Overpaid = money.FromCents(1, yen), money.FromCents(1499, yen), money.Zero(yen)
		want.Quotes[0].Due = price
		for i, p := range want.Quotes[0].Prices {
			other, err := money.ParseRate("14090781.5", p.Expected.Currency(), yen)
			if err != nil {
				t.Fatal(err)
			}
			want.Quotes[0].Prices[i].Other, want.Quotes[0].Prices[i].Expected = other, other.Convert(price)
		}
		c := creation("a", "shop")
		c.Build = func(invoice.NextIndex) (*invoice.Invoice, error) { return want, nil }
		create(t, s, c)
		market := money.FromCents(1400, yen)
		want.Transfers = []invoice.Transfer{{
			ID: "t:0", Network: "bitcoin", Tx: "t", Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("0.0001", money.BTC),
			Presence: invoice.Present, FirstSeen: noon, Market: &market,
		}}
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = want.Transfers
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want.Revision++
		got, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

// The stored form of an invoice must not change, so that rows of other releases can be read.
func TestInvoice_in_euro_keeps_its_stored_form(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		for column, want := range map[string]string{
			"terms":   `{"lang":"en"}`,
			"methods": `["001101101","to-shop/BTC/0 0 shop/BTC/0","to-shop/ETH/0 0 shop/ETH/0","@800000 00ff"]`,
			"quotes": `[{"t":[1795780800000,900000],"src":"fixed","p":[` +
				`"0 0.00065379 86420 93333.6","1 56.506977 0.99987654 1.0798667","2 0.01968299 2870.5 3100.14"]}]`,
		} {
			if got := rows(t, url, "SELECT "+column+" FROM invoices")[0]; got != want {
				t.Errorf("%s\n got %s\nwant %s", column, got, want)
			}
		}
	})
}

func TestInvoice_without_a_row_is_ErrNotFound(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for _, id := range []string{"nothing", "", "a\x00", "\xff"} {
			if _, err := s.Invoice(t.Context(), id); !errors.Is(err, invoice.ErrNotFound) {
				t.Errorf("Invoice(%q): got %v, want %v", id, err, invoice.ErrNotFound)
			}
		}
		_, err := s.UpdateInvoice(t.Context(), "nothing", invoice.Lease{}, func(*invoice.Invoice) error { return nil })
		if !errors.Is(err, invoice.ErrNotFound) {
			t.Errorf("UpdateInvoice: got %v, want %v", err, invoice.ErrNotFound)
		}
	})
}

func TestCreateInvoice_allocates_each_index_once_without_gaps(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const invoices = 64
		var group sync.WaitGroup
		for i := range invoices {
			group.Go(func() {
				c := creation(fmt.Sprintf("i%d", i), "shop")
				if i%4 == 3 { // a quarter fails after allocating its indexes
					build := c.Build
					c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
						if _, err := build(next); err != nil {
							return nil, err
						}
						return nil, invoice.ErrNoRate
					}
				}
				_, _, err := s.CreateInvoice(t.Context(), c)
				if want := i%4 == 3; errors.Is(err, invoice.ErrNoRate) != want || !want && err != nil {
					t.Errorf("create %d: error %v", i, err)
				}
			})
		}
		group.Wait()
		var want []string
		for i := range invoices * 3 / 4 {
			want = append(want, strconv.Itoa(i))
		}
		got := rows(t, url, "SELECT address_index FROM destinations WHERE network = 'bitcoin' ORDER BY address_index")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("indexes (-want +got):\n%s", diff)
		}
		if next := rows(t, url, "SELECT next FROM counters ORDER BY name"); !slices.Equal(next, []string{"48", "48"}) {
			t.Errorf("counters: got %q, want 48 each", next)
		}
	})
}

func TestCreateInvoice_refuses_a_script_twice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		c := creation("b", "bakery") // another merchant with the same key
		c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			inv := newInvoice("b", "bakery", 0, 0)
			inv.Methods[0].Destination.Script = "shop/BTC/0"
			return inv, nil
		}
		_, _, err := s.CreateInvoice(t.Context(), c)
		want := "write destination: script shop/BTC/0 on bitcoin belongs to another invoice"
		if err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
		if ids := rows(t, url, "SELECT id FROM invoices"); !slices.Equal(ids, []string{"a"}) {
			t.Errorf("invoices: got %q, want only a", ids)
		}
	})
}

func TestUpdateInvoice_keeps_every_fact(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		market := money.FromCents(5512, money.EUR)
		var want *invoice.Invoice
		decide := func(inv *invoice.Invoice) error {
			inv.Version = 2
			inv.Coverage = map[chain.ID]invoice.Coverage{"bitcoin": {Scanned: noon.Add(time.Minute), BlindFrom: noon}}
			inv.DeclinedAt, inv.DelayedAt = noon.Add(time.Hour), noon.Add(2*time.Hour)
			inv.Accepted, inv.Clock = []string{"t1:0", "t2:1"}, 90*time.Second
			inv.AcceptedAt, inv.AcceptedBy = noon.Add(3*time.Hour), "key_a"
			inv.PaidCount, inv.FirstPaidAt = 2, noon.Add(10*time.Minute)
			inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: "bc1qrefund"}
			inv.Methods[0].Birth = chain.Cursor{Height: 799_990, Hash: "00aa"}
			inv.Transfers = []invoice.Transfer{
				{
					ID: "t2:1", Network: "bitcoin", Tx: "t2", Asset: "BTC", Script: "shop/BTC/0",
					Amount: money.MustParse("0.0006", money.BTC), Spends: []string{"t0:0", "t0:1"}, Coinbase: true,
					Presence: invoice.Present, FirstSeen: noon.Add(time.Minute), Sighted: true,
					Block:       &chain.Block{Height: 800_001, Hash: "00bb", Time: noon.Add(9 * time.Minute)},
					ConfirmedAt: noon.Add(8 * time.Minute), Confirmations: 1, Required: 6, Market: &market,
					Rate: invoice.MarketRate{Price: priceOf(t, "86420.123456789"), Source: "median", At: noon.Add(2 * time.Minute)},
				},
				{
					ID: "t1:0", Network: "ethereum", Tx: "t1", Asset: "WBTC", Script: "shop/ETH/0",
					Amount:   money.MustParse("123456789012345678901.000000000000000001", money.Currency{Code: "WBTC", Decimals: 18}),
					Presence: invoice.Reorged, FirstSeen: noon, Old: true, Unsure: true, Contested: true,
				},
			}
			inv.State = invoice.State{
				Status: invoice.Paid, Exceptions: []invoice.Exception{invoice.Overpaid, invoice.WrongAsset},
				Paid: money.FromCents(5650, money.EUR), Due: money.Zero(money.EUR),
				Overpaid: money.MustParse("99999999999999999999.01", money.EUR),
				PaidAt:   noon.Add(10 * time.Minute), PaidTx: "t2", PaidAsset: "BTC",
			}
			want = inv
			return nil
		}
		got, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, decide)
		if err != nil {
			t.Fatal(err)
		}
		want.Revision++
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("updated (-want +got):\n%s", diff)
		}
		if got, err = s.Invoice(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}

		// Recorded transfers change, one transfer is added, and everything else stays the same.
		want.Transfers[0].Confirmations, want.Transfers[1].Contested = 2, false
		want.Transfers[1].Presence, want.Transfers[1].Block = invoice.Present, &chain.Block{Height: 7, Hash: "07", Time: noon}
		want.Transfers = append(want.Transfers, invoice.Transfer{
			ID: "t3:0", Network: "bitcoin", Tx: "t3", Asset: "BTC", Script: "shop/BTC/0", Amount: money.MustParse("1", money.BTC),
			Presence: invoice.Replaced, FirstSeen: noon, Contested: true,
		})
		_, err = s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = want.Transfers
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want.Revision++
		if got, err = s.Invoice(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}

func TestUpdateInvoice_writes_only_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		forbidWrites(t, url)
		inv, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(*invoice.Invoice) error { return nil })
		if err != nil || inv.ID != "a" {
			t.Errorf("unchanged: got %v, error %v", inv, err)
		}
		_, err = s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.RefundAddress.Address = "bc1qrefund"
			return nil
		})
		if err == nil {
			t.Error("a change was not written")
		}
	})
}

// forbidWrites makes every change of an invoice's row fail.
func forbidWrites(t *testing.T, url string) {
	t.Helper()
	if url[:6] == "sqlite" {
		execSQL(t, url, "CREATE TRIGGER forbidden BEFORE UPDATE ON invoices BEGIN SELECT RAISE(ABORT, 'forbidden'); END")
		return
	}
	execSQL(t, url, "CREATE FUNCTION forbid() RETURNS trigger AS $$ BEGIN RAISE 'forbidden'; END $$ LANGUAGE plpgsql")
	execSQL(t, url, "CREATE TRIGGER forbidden BEFORE UPDATE ON invoices FOR EACH ROW EXECUTE FUNCTION forbid()")
}

func TestUpdateInvoice_writes_nothing_when_decide_fails(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		want := create(t, s, creation("a", "shop"))
		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Version, inv.RefundAddress.Address = 2, "bc1qrefund"
			inv.Events = []invoice.Event{newEvent("a", invoice.EventPaid, 2)}
			return invoice.ErrState
		})
		if !errors.Is(err, invoice.ErrState) {
			t.Errorf("got error %v, want %v", err, invoice.ErrState)
		}
		got, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		if events := rows(t, url, "SELECT id FROM events"); len(events) != 1 {
			t.Errorf("events: got %q, want only that of the creation", events)
		}
	})
}

func TestUpdateInvoice_loses_no_concurrent_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
					inv.Version++
					inv.Transfers = append(inv.Transfers, invoice.Transfer{
						ID: fmt.Sprintf("t%d:0", inv.Version), Network: "bitcoin", Tx: "t", Asset: "BTC", Script: "shop/BTC/0",
						Amount: money.MustParse("1", money.BTC), Presence: invoice.Present, FirstSeen: noon,
					})
					inv.Events = []invoice.Event{newEvent("a", invoice.EventPaymentSeen, inv.Version)}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		inv, err := s.Invoice(t.Context(), "a")
		if err != nil || inv.Version != 33 || len(inv.Transfers) != 32 {
			t.Fatalf("got version %d and %d transfers, error %v; want 33 and 32", inv.Version, len(inv.Transfers), err)
		}
		versions := rows(t, url, "SELECT version FROM events WHERE merchant_id = 'shop' ORDER BY position")
		for i, v := range versions {
			if v != strconv.Itoa(i+1) {
				t.Fatalf("events are out of order: %q", versions)
			}
		}
		page, err := s.Events(t.Context(), "shop", invoice.Live, 30, 2)
		if err != nil || len(page) != 2 || page[0].Version != 31 || page[1].Version != 32 {
			t.Errorf("at most two events after position 30: got %v, error %v", page, err)
		}
	})
}

func TestDueInvoices_lists_the_most_overdue_first(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i, id := range []string{"a", "b", "c", "d"} {
			create(t, s, creation(id, "shop"))
			_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.State.NextCheck = noon.Add(-time.Duration(i) * time.Minute)
				if id == "b" {
					inv.State.NextCheck = time.Time{}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, test := range []struct {
			at    time.Time
			limit int
			want  []string
		}{
			{noon, 10, []string{"d", "c", "a"}},
			{noon, 2, []string{"d", "c"}},
			{noon.Add(-time.Minute), 10, []string{"d", "c"}},
			{noon.Add(-time.Hour), 10, nil},
		} {
			got, err := s.DueInvoices(t.Context(), test.at, test.limit)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("DueInvoices(%s, %d): got %q, %v, want %q", test.at, test.limit, got, err, test.want)
			}
		}
	})
}

func TestEvidence_is_kept_once_for_all_quotes_that_share_it(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for _, id := range []string{"a", "b"} {
			c := creation(id, "shop")
			c.EvidenceName, c.Evidence = "name", `{"source":"live"}`
			create(t, s, c)
		}
		got, err := s.Evidence(t.Context(), "name")
		if err != nil || got != `{"source":"live"}` {
			t.Errorf("Evidence() = %q, %v", got, err)
		}
		if stored := rows(t, url, "SELECT name FROM evidence"); len(stored) != 1 {
			t.Errorf("%d texts are kept, want 1", len(stored))
		}
		if _, err := s.Evidence(t.Context(), "other"); !errors.Is(err, invoice.ErrNotFound) {
			t.Errorf("unknown evidence: %v", err)
		}
	})
}

// priceOf returns a price of bitcoin in euro.
func priceOf(t *testing.T, text string) money.Rate {
	t.Helper()
	r, err := money.ParseRate(text, money.BTC, money.EUR)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
