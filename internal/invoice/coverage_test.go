package invoice_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/rates"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// overdue returns an invoice whose network was not scanned for three hours after its expiry.
func overdue(t *testing.T) (*shop, *invoice.Invoice) {
	t.Helper()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(15*time.Minute + 3*time.Hour)
	_, err := s.service.Expire(t.Context(), 10)
	s.must(err)
	if got := s.reload(inv).State; got.Status != invoice.Created || !got.Has(invoice.Delayed) {
		t.Fatalf("after three hours without coverage: %s %v", got.Status, got.Exceptions)
	}
	return s, inv
}

func TestDelayed_ends(t *testing.T) {
	t.Parallel()
	t.Run("when_the_merchant_cancels", func(t *testing.T) {
		t.Parallel()
		s, inv := overdue(t)
		_, err := s.service.Cancel(t.Context(), inv.ID, 0)
		s.must(err)
		s.wantStatus(inv, invoice.Declined)
	})
	t.Run("when_a_payment_in_time_is_found", func(t *testing.T) {
		t.Parallel()
		s := openShop(t, table)
		inv := s.create("40", "BTC")
		s.clock.Advance(time.Minute)
		s.mine(s.pay(inv, "BTC", "0.0005")) // no scan
		s.clock.Advance(3 * time.Hour)
		_, err := s.service.Expire(t.Context(), 10)
		s.must(err)
		s.wantStatus(inv, invoice.Paid)
		s.wantEvents(inv, "1 invoice.created created", "2 exception.raised created", "3 payment.seen paid", "3 payment.confirmed paid", "3 invoice.paid paid")
	})
	t.Run("when_its_network_is_scanned_past_its_expiry", func(t *testing.T) {
		t.Parallel()
		s, inv := overdue(t)
		s.step()
		s.clock.Advance(time.Minute)
		s.wantStatus(inv, invoice.Expired)
		s.wantEvents(inv, "1 invoice.created created", "2 exception.raised created", "3 invoice.expired expired")
	})
	t.Run("not_with_time_alone", func(t *testing.T) {
		t.Parallel()
		s, inv := overdue(t)
		for range 5 {
			s.clock.Advance(24 * time.Hour)
			_, err := s.service.Expire(t.Context(), 10)
			s.must(err)
		}
		if got := s.reload(inv).State; got.Status != invoice.Created || !got.Has(invoice.Delayed) {
			t.Errorf("after days: %s %v", got.Status, got.Exceptions)
		}
		s.wantEvents(inv, "1 invoice.created created", "2 exception.raised created") // once
	})
}

func TestDelayed_is_raised_after_two_hours_only(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(15*time.Minute + 2*time.Hour - time.Second)
	_, err := s.service.Expire(t.Context(), 10)
	s.must(err)
	if got := s.reload(inv).State.Exceptions; len(got) != 0 {
		t.Errorf("a second before two hours: %v", got)
	}
	s.clock.Advance(time.Minute)
	_, err = s.service.Expire(t.Context(), 10)
	s.must(err)
	if got := s.reload(inv).State; !got.Has(invoice.Delayed) {
		t.Errorf("after two hours: %v", got.Exceptions)
	}
}

// A scan that stops below the tip does not cover the invoice's expiry, even if it begins after the expiry:
// the block with the shopper's payment may be above it.
func TestExpiry_waits_for_the_tip(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0005")
	s.clock.Advance(30 * time.Minute)
	s.behind = true
	for range 3 {
		s.wantStatus(inv, invoice.Created)
		s.clock.Advance(time.Minute)
	}
	s.mine(tx)
	s.wantStatus(inv, invoice.Paid) // a payment in a scanned block counts
	s.behind = false
	s.wantStatus(inv, invoice.Paid)
}

// A scan that stops below the tip reports no unconfirmed transfers. The recorded unconfirmed transfers
// still count.
func TestScan_below_the_tip_keeps_unconfirmed_transfers(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(time.Minute)
	s.pay(inv, "BTC", "0.0005")
	before := s.wantStatus(inv, invoice.Pending)
	s.behind = true
	s.clock.Advance(time.Minute)
	if got := s.wantStatus(inv, invoice.Pending); got.Version != before.Version {
		t.Errorf("version changed from %d to %d", before.Version, got.Version)
	}
}

// A network without a watcher is not a continuous view: a scanner that starts later finds a payment
// that arrived in time in its block.
func TestUnwatched_time_is_a_gap(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	fixed, err := rates.ParseFixed(table, "fixed")
	s.must(err)
	unwatched := invoice.NewService(invoice.Config{
		Storage: s.store, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {struct{ chain.Network }{s.net}}}, Unwatched: true,
		Rates: func() invoice.Rates { return fixed }, Now: s.clock.Now, NewID: s.newID, Log: slog.New(slog.DiscardHandler),
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return nil },
	})
	inv := s.createWith(unwatched, "40")
	s.clock.Advance(16 * time.Minute)
	_, err = unwatched.Expire(t.Context(), 10)
	s.must(err)
	if got := s.reload(inv).State.Status; got != invoice.Expired {
		t.Fatalf("without a watcher the invoice is %s, want expired", got)
	}
	m := inv.Methods[0]
	block := chain.Block{Height: 5, Hash: "b5", Time: s.clock.Now()}
	snapshot := chain.Snapshot{
		Started: s.clock.Now().Add(time.Minute), ViewSince: s.clock.Now(), Unconfirmed: chain.Partial, From: chain.Cursor{Height: 1, Hash: "b1"}, Tip: block,
		Transfers: []chain.Transfer{{ID: "x:0", Tx: "x", Asset: "BTC", Script: m.Destination.Script, Amount: inv.Quote().Prices[0].Expected, Block: &block}},
	}
	s.clock.Advance(time.Minute)
	var none invoice.Progress
	owners := func(string) (invoice.Owner, bool) { return invoice.Owner{InvoiceID: inv.ID, MerchantID: "m"}, true }
	epoch, err := s.store.AcquireLease(t.Context(), simnet.ID, "test", s.clock.Now(), time.Minute)
	s.must(err)
	s.must(s.service.Observe(t.Context(), invoice.Lease{Network: simnet.ID, Epoch: epoch, Sequence: 9}, snapshot, none.After(snapshot, 9), owners))
	if got := s.reload(inv).State.Status; got != invoice.Paid {
		t.Errorf("after a later scan the invoice is %s, want paid", got)
	}
}

// An invoice whose stored row is damaged holds back neither the expiry nor the payments of others, and is reported once.
func TestExpire_skips_an_invoice_that_cannot_be_read(t *testing.T) {
	storagetest.OnBoth(t, func(t *testing.T, store *storage.Storage, url string) {
		s := openShopOn(t, table, store)
		broken, other, paid := s.create("40"), s.create("41"), s.create("40")
		s.pay(broken, "BTC", "0.0005")
		s.pay(paid, "BTC", "0.0005")
		storagetest.Exec(t, url, "UPDATE invoices SET quotes = '{' WHERE id = $1", broken.ID)
		if _, err := s.watcher.Step(t.Context()); err == nil || !strings.Contains(err.Error(), broken.ID) {
			t.Errorf("a scan with a damaged row: %v", err)
		}
		if got := s.reload(paid).State.Status; got != invoice.Pending {
			t.Errorf("the payment of another invoice leaves it %s", got)
		}
		storagetest.Exec(t, url, "UPDATE invoices SET next_check_at = $2 WHERE id <> $1", other.ID, noon.UnixMilli())
		s.clock.Advance(16 * time.Minute)
		for i := range 2 {
			_, err := s.service.Expire(t.Context(), 10)
			if broken := err != nil && strings.Contains(err.Error(), broken.ID); broken != (i == 0) {
				t.Errorf("call %d: error %v", i+1, err)
			}
		}
		due, err := store.DueInvoices(t.Context(), s.clock.Now(), 10)
		if err != nil || slices.Contains(due, broken.ID) {
			t.Errorf("due: %q, %v", due, err)
		}
		s.clock.Advance(11 * time.Minute)
		if due, err := store.DueInvoices(t.Context(), s.clock.Now(), 10); err != nil || !slices.Contains(due, broken.ID) {
			t.Errorf("due later: %q, %v", due, err)
		}
	})
}
