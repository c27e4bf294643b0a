package storage_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/books"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/proof"
	"chequer/internal/storage"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
)

// payFinal adds a final payment of the price in BTC, with a market rate.
func payFinal(t *testing.T, s *storage.Storage, id string) {
	t.Helper()
	updateInvoice(t, s, id, func(inv *invoice.Invoice) {
		inv.Transfers = []invoice.Transfer{{
			ID: "tx" + id + ":0", Network: "bitcoin", Tx: "tx" + id, Asset: "BTC", Script: inv.Methods[0].Destination.Script, Amount: inv.Quotes[0].Prices[0].Expected,
			Presence: invoice.Present, FirstSeen: noon, Sighted: true, Block: &chain.Block{Height: 900_000, Hash: "block", Time: noon}, ConfirmedAt: noon, Confirmations: 1, Required: 1,
			Rate: invoice.MarketRate{Price: priceOf(t, "90000.5"), Source: "median", At: noon.Add(time.Second)},
		}}
	})
}

// closer returns a service of the books, after the month of noon.
func closer(t *testing.T, s *storage.Storage) (*books.Service, books.Shop) {
	t.Helper()
	now := func() time.Time { return noon.AddDate(0, 6, 0) }
	keyring := proof.NewKeyring(s, now)
	if err := keyring.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return books.NewService(s, keyring, now), books.Shop{ID: "shop", Server: "https://pay.example.org", Zone: time.UTC}
}

// A closing keeps the market rate and every line, examines what changes later, and nothing else.
func TestSaveClosing_keeps_lines_and_later_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for _, id := range []string{"a", "b", "c"} {
			create(t, s, creation(id, "shop"))
		}
		create(t, s, creation("other", "bakery"))
		for _, id := range []string{"a", "b", "other"} {
			payFinal(t, s, id)
		}
		service, shop := closer(t, s)
		files, err := service.Close(t.Context(), shop, "2026-11", false)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != 1 || len(files[0].Lines) != 2 || files[0].Lines[0].Rate.Decimal.String() != "90000.5" || files[0].Lines[0].RateSource != "median" || !files[0].Lines[0].RateAt.Equal(noon.Add(time.Second)) {
			t.Errorf("files %+v", files)
		}
		stored, err := service.Month(t.Context(), shop, "2026-11")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(files[0], stored); diff != "" {
			t.Errorf("stored (-closed +stored):\n%s", diff)
		}
		if left, err := s.ChangedInvoices(t.Context(), "shop", "", 10); err != nil || len(left) != 0 {
			t.Errorf("changes left of %v, error %v", left, err)
		}
		if left, err := s.ChangedInvoices(t.Context(), "bakery", "", 10); err != nil || len(left) != 1 || left[0].InvoiceID != "other" {
			t.Errorf("changes of the other shop %v, error %v", left, err)
		}

		updateInvoice(t, s, "b", func(inv *invoice.Invoice) { inv.Transfers[0].Presence = invoice.Reorged })
		next, err := service.Close(t.Context(), shop, "2026-12", false)
		if err != nil || len(next[0].Lines) != 1 || next[0].Lines[0].Corrects != "2026-11/2" {
			t.Errorf("December %+v, error %v", next, err)
		}
		if _, err := service.VerifyStored(t.Context(), "shop", trustedKeys(t, s)); err != nil {
			t.Error(err)
		}
		execSQL(t, url, "UPDATE closed_lines SET record = '2' || record WHERE number = 2")
		if _, err := service.VerifyStored(t.Context(), "shop", trustedKeys(t, s)); !errors.Is(err, books.ErrChanged) {
			t.Errorf("a changed line: %v, want %v", err, books.ErrChanged)
		}
	})
}

func trustedKeys(t *testing.T, s *storage.Storage) (trusted []proof.Trusted) {
	t.Helper()
	keys, err := s.ProofKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		trusted = append(trusted, proof.Trusted{Public: k.Public})
	}
	return trusted
}

// An invoice that changes while a month is closed is examined by the next closing, and a month is closed once.
func TestSaveClosing_during_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		payFinal(t, s, "a")
		read, err := s.ChangedInvoices(t.Context(), "shop", "", 10)
		if err != nil || len(read) != 1 {
			t.Fatalf("changes %v, error %v", read, err)
		}
		payFinal(t, s, "a")
		updateInvoice(t, s, "a", func(inv *invoice.Invoice) { inv.Transfers[0].Confirmations = 0 })
		c := books.Closing{MerchantID: "shop", Month: "2026-11", ClosedAt: noon}
		if err := s.SaveClosing(t.Context(), c, []books.Record{{Movement: "m", Owner: "a", Month: "2026-11", Text: "x"}}, read); err != nil {
			t.Fatal(err)
		}
		if left, err := s.ChangedInvoices(t.Context(), "shop", "", 10); err != nil || len(left) != 1 {
			t.Errorf("changes left of %v, error %v, want those of a", left, err)
		}
		if err := s.SaveClosing(t.Context(), c, []books.Record{{Movement: "n", Owner: "a", Month: "2026-11", Text: "y"}}, nil); !errors.Is(err, books.ErrClosed) {
			t.Errorf("closed again: %v, want %v", err, books.ErrClosed)
		}
		if got := rows(t, url, "SELECT movement FROM closed_lines"); len(got) != 1 || got[0] != "m" {
			t.Errorf("lines %v", got)
		}
	})
}

// A process that collected before another one closed a month closes none, so that every statement names the one before.
func TestSaveClosing_needs_the_newest_month(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for _, c := range []struct {
			month, after books.Month
			want         error
		}{{"2026-09", "", nil}, {"2026-10", "", books.ErrClosed}, {"2026-10", "2026-09", nil}, {"2026-11", "2026-09", books.ErrClosed}} {
			err := s.SaveClosing(t.Context(), books.Closing{MerchantID: "shop", Month: c.month, ClosedAt: noon, After: c.after}, nil, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("%s after %q: %v, want %v", c.month, c.after, err, c.want)
			}
		}
	})
}

// Closed months are removed with the books.
func TestRemoveBooks_removes_closed_months(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		payFinal(t, s, "a")
		updateInvoice(t, s, "a", finish)
		swept := plantest.Encoded(t, plantest.Example(noon))
		if err := s.AddSweep(t.Context(), recorded.New("shop", swept)); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveSweepRows(t.Context(), swept.ID, []recorded.Change{{Number: 1, Row: recorded.Row{State: recorded.Moved, Tx: "0x1", ChangedAt: noon}}}); err != nil {
			t.Fatal(err)
		}
		service, shop := closer(t, s)
		if _, err := service.Close(t.Context(), shop, "2027-02", false); err != nil {
			t.Fatal(err)
		}
		choose(t, s, merchant.SettingBooks, "2")
		removeBooks(t, s, time.Date(2029, 1, 2, 0, 0, 0, 0, time.UTC))
		if got := rows(t, url, "SELECT month FROM closings ORDER BY month"); !cmp.Equal(got, []string{"2027-01", "2027-02"}) {
			t.Errorf("closed months %v", got)
		}
		if got := rows(t, url, "SELECT month FROM closed_lines"); len(got) != 0 {
			t.Errorf("lines of %v", got)
		}
		next, err := service.Close(t.Context(), shop, "2027-03", false)
		if err != nil || len(next) != 1 || len(next[0].Lines) != 0 {
			t.Errorf("the month after: %+v, error %v", next, err)
		}
	})
}

// A shop that turns the removal off during a run keeps its closed months.
func TestRemoveBooks_keeps_closed_months_when_it_ends_early(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		for i := range 60 { // more than one transaction of a run removes
			id := fmt.Sprint("inv", i)
			create(t, s, creation(id, "shop"))
			updateInvoice(t, s, id, finish)
		}
		service, shop := closer(t, s)
		if _, err := service.Close(t.Context(), shop, "2026-11", false); err != nil {
			t.Fatal(err)
		}
		choose(t, s, merchant.SettingBooks, "2")
		late := time.Date(2029, 1, 2, 0, 0, 0, 0, time.UTC)
		if done, err := s.RemoveBooks(t.Context(), "shop", late); err != nil || done {
			t.Fatalf("first part: done %t, error %v", done, err)
		}
		choose(t, s, merchant.SettingBooks, merchant.Kept)
		removeBooks(t, s, late)
		if got := rows(t, url, "SELECT month FROM closings"); len(got) != 1 {
			t.Errorf("closed months %v, want one", got)
		}
	})
}
