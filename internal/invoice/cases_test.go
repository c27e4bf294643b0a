package invoice_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// Each of the tests below reproduces a known fault of other payment programs. Cnn is its number in
// internal/CASES.md.

// send puts a transaction with the given outputs in BTC to an invoice's destination into the
// mempool; an amount "" is an output to an unrelated address.
func (s *shop) send(spends []string, to *invoice.Invoice, amounts ...string) (tx string) {
	s.t.Helper()
	m, _ := to.Method(simnet.ID, "BTC")
	out := simnet.Tx{Spends: spends}
	for _, amount := range amounts {
		if amount == "" {
			out.Outputs = append(out.Outputs, simnet.OutputTo(m.Asset, "unrelated", money.MustParse("1", money.BTC)))
			continue
		}
		out.Outputs = append(out.Outputs, simnet.OutputTo(m.Asset, m.Destination.Script, money.MustParse(amount, money.BTC)))
	}
	tx, err := s.net.Send(s.t.Context(), out)
	s.must(err)
	return tx
}

func (s *shop) mine(txs ...string) {
	s.t.Helper()
	s.must(s.net.Confirm(s.t.Context(), txs))
}

// wantEvents fails unless the invoice has exactly these events, in this order.
func (s *shop) wantEvents(inv *invoice.Invoice, want ...string) {
	s.t.Helper()
	list, err := s.store.Events(s.t.Context(), "m", invoice.Test, 0, 1000)
	s.must(err)
	var got []string
	for _, e := range list {
		if s.invoiceOf(e) == inv.ID {
			got = append(got, string(e.Body))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// C29: a payment is found after any number of unpaid invoices, and the addresses of the unpaid invoices
// are not reused.
func TestUnpaid_invoices_beyond_the_first_page_are_found(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	for range 25 {
		s.create("40", "BTC")
	}
	inv := s.create("40", "BTC")
	s.clock.Advance(time.Minute)
	s.mine(s.pay(inv, "BTC", "0.0005"))
	s.wantStatus(inv, invoice.Paid)
	s.clock.Advance(time.Hour)
	s.step()
	s.step()
	if got := s.create("40", "BTC").Methods[0].Index; got != 26 {
		t.Errorf("after the others expired the next index is %d, want 26", got)
	}
}

// C31: a transfer from before the creation of an invoice never pays it, whether it is confirmed or not. A
// later transfer does.
func TestOld_payment_to_a_reused_key_pays_nothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(s *shop, tx string) // after the old payment, before the invoice
		shown  bool                     // the first scan covers the old payment
	}{
		{"mined before", func(s *shop, tx string) { s.mine(tx) }, true},
		{"buried before", func(s *shop, tx string) {
			s.mine(tx)
			for range 40 {
				s.mine()
			}
		}, false},
		{"waiting for hours, and mined later", func(s *shop, _ string) { s.clock.Advance(2 * time.Hour) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, table) // a new installation, which has no history of the key
			asset := s.net.Assets()[0]
			destination, err := s.net.NewDestination(chain.Request{Asset: asset, Key: s.wallets[0].Key, Index: 0})
			s.must(err)
			old, err := s.net.Pay(t.Context(), asset, destination.Script, money.MustParse("0.0005", money.BTC))
			s.must(err)
			tt.before(s, old)
			s.clock.Advance(time.Second)
			s.step()
			inv := s.create("40", "BTC")
			if inv.Methods[0].Destination != destination {
				t.Fatalf("the invoice's destination is %v, want the used one, %v", inv.Methods[0].Destination, destination)
			}
			var raised []invoice.Exception
			events := []string{"1 invoice.created created"}
			if tt.shown {
				raised, events = append(raised, invoice.Older), append(events, "2 exception.raised created")
			}
			s.wantStatus(inv, invoice.Created, raised...)
			s.clock.Advance(time.Minute)
			s.mine(old)
			s.wantStatus(inv, invoice.Created, raised...)
			s.wantEvents(inv, events...)
			s.mine(s.pay(inv, "BTC", "0.0005"))
			s.wantStatus(inv, invoice.Paid, raised...)
		})
	}
}

// C32: two outputs of one transaction are two payments, each counted once.
func TestTwo_outputs_of_one_transaction_add_up(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("240", "BTC") // 0.003 BTC
	s.clock.Advance(time.Minute)
	tx := s.send(nil, inv, "0.001", "", "0.002")
	s.wantStatus(inv, invoice.Pending)
	s.mine(tx)
	paid := s.wantStatus(inv, invoice.Paid)
	s.step()
	var got []string
	for _, p := range s.reload(paid).Payments() {
		got = append(got, fmt.Sprintf("%s %s %s", strings.TrimPrefix(p.ID, tx), p.Amount, p.State))
	}
	if diff := cmp.Diff([]string{":0 0.001 confirmed", ":2 0.002 confirmed"}, got); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
}

// C34: partial payments add up, and only the remainder is requested.
func TestRest_decreases_with_each_part(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("80", "BTC") // 0.001 BTC
	s.clock.Advance(time.Minute)
	s.mine(s.pay(inv, "BTC", "0.0004"))
	part := s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	if got := part.Remaining(part.Methods[0]).String(); got != "0.0006" {
		t.Errorf("the rest is %s, want 0.0006", got)
	}
	s.mine(s.pay(inv, "BTC", "0.0006"))
	paid := s.wantStatus(inv, invoice.Paid)
	if got := paid.Remaining(paid.Methods[0]); !got.IsZero() {
		t.Errorf("after all was paid the rest is %s, want 0", got)
	}
	s.mine(s.pay(inv, "BTC", "0.0001"))
	over := s.wantStatus(inv, invoice.Paid, invoice.Overpaid)
	if got := over.State.Overpaid.String(); got != "8" {
		t.Errorf("overpaid by %s, want 8", got)
	}
}

// C35: at expiry the quote ends, but the network is still scanned.
func TestSeen_before_expiry_and_confirmed_after(t *testing.T) {
	t.Parallel()
	seen := func(t *testing.T, after time.Duration) (*shop, *invoice.Invoice, string) {
		s := openShop(t, table)
		inv := s.create("40", "BTC")
		s.clock.Advance(after)
		return s, inv, s.pay(inv, "BTC", "0.0005")
	}
	t.Run("payment_just_before_expiry_counts", func(t *testing.T) {
		t.Parallel()
		s, inv, tx := seen(t, 15*time.Minute-10*time.Second)
		s.wantStatus(inv, invoice.Pending)
		s.clock.Advance(10 * time.Minute)
		s.wantStatus(inv, invoice.Pending)
		s.mine(tx)
		s.wantStatus(inv, invoice.Paid)
		s.wantEvents(inv, "1 invoice.created created", "2 payment.seen pending", "2 invoice.pending pending", "3 payment.confirmed paid", "3 invoice.paid paid")
	})
	t.Run("payment_in_the_last_second_counts", func(t *testing.T) {
		t.Parallel()
		s, inv, tx := seen(t, 15*time.Minute)
		s.clock.Advance(10 * time.Minute) // no scan happened in that second
		s.wantStatus(inv, invoice.Pending)
		s.mine(tx)
		s.wantStatus(inv, invoice.Paid)
	})
	t.Run("payment_a_second_later_is_late", func(t *testing.T) {
		t.Parallel()
		s, inv, tx := seen(t, 15*time.Minute+time.Second)
		s.clock.Advance(time.Second)
		s.wantStatus(inv, invoice.Expired, invoice.Late)
		s.mine(tx)
		s.wantStatus(inv, invoice.Expired, invoice.Late)
	})
	t.Run("dropped_transaction_expires", func(t *testing.T) {
		t.Parallel()
		s, inv, tx := seen(t, 15*time.Minute-10*time.Second)
		s.wantStatus(inv, invoice.Pending)
		s.must(s.net.Drop(t.Context(), tx))
		s.clock.Advance(time.Minute)
		s.wantStatus(inv, invoice.Expired, invoice.WasReplaced)
	})
	t.Run("unconfirmed_transaction_expires_after_a_day", func(t *testing.T) {
		t.Parallel()
		s, inv, tx := seen(t, 15*time.Minute-10*time.Second)
		s.wantStatus(inv, invoice.Pending)
		s.clock.Advance(24 * time.Hour)
		s.wantStatus(inv, invoice.Pending)
		s.clock.Advance(time.Minute)
		s.wantStatus(inv, invoice.Expired, invoice.Late)
		s.mine(tx)
		s.wantStatus(inv, invoice.Expired, invoice.Late)
		s.wantEvents(inv, "1 invoice.created created", "2 payment.seen pending", "2 invoice.pending pending", "3 invoice.expired expired", "3 exception.raised expired", "4 payment.confirmed expired")
	})
}

// A payment is contested while the source of its network knows another transaction that spends the same coins.
func TestContested_payment_waits_for_a_block(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(time.Minute)
	tx := s.send([]string{"coin:0"}, inv, "0.0005")
	version := int64(-1) // of no invoice
	for _, contested := range []bool{false, true, false, true} {
		s.contested = contested
		got := s.wantStatus(inv, invoice.Pending)
		if got.Version == version {
			t.Errorf("contested = %t: the version stays %d, so open pages do not show it", contested, version)
		}
		version = got.Version
		if got.Payments()[0].Contested != contested || got.Payments()[0].State != invoice.PaymentSeen {
			t.Errorf("the payment is %+v, want contested = %t", got.Payments()[0], contested)
		}
	}
	s.mine(tx)
	if got := s.wantStatus(inv, invoice.Paid); got.Payments()[0].Contested {
		t.Error("the payment is contested in a block")
	}
}

// C37: after a double spend to another recipient the payment does not count, even if the double spend was never
// seen unconfirmed, and the merchant is notified.
func TestDouble_spend_replaces_the_payment(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(time.Minute)
	s.send([]string{"coin:0"}, inv, "0.0005")
	s.wantStatus(inv, invoice.Pending)
	s.mine(s.send([]string{"coin:0"}, inv, "")) // no scan happened while it was unconfirmed
	got := s.wantStatus(inv, invoice.Created, invoice.WasReplaced)
	if !got.State.Paid.IsZero() || got.Payments()[0].State != invoice.PaymentReplaced {
		t.Errorf("%s is paid and the payment is %s, want 0 and replaced", got.State.Paid, got.Payments()[0].State)
	}
	s.wantEvents(inv, "1 invoice.created created", "2 payment.seen pending", "2 invoice.pending pending",
		"3 payment.replaced created", "3 invoice.reverted created", "3 exception.raised created")
	s.clock.Advance(time.Hour)
	s.wantStatus(inv, invoice.Expired, invoice.WasReplaced)
}

// C38: a fee bump that pays the same amount in another output is one payment.
func TestFee_bump_is_counted_once(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("160", "BTC") // 0.002 BTC
	s.clock.Advance(time.Minute)
	first := s.send([]string{"coin:0"}, inv, "0.0015")
	s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	s.mine() // a block without the payment
	bump := s.send([]string{"coin:0"}, inv, "", "0.0015")
	s.mine(bump)
	got := s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	if got.State.Paid.String() != "120" || got.State.Due.String() != "40" {
		t.Errorf("%s is paid and %s is due, want 120 and 40", got.State.Paid, got.State.Due)
	}
	states := map[string]invoice.PaymentState{}
	for _, p := range got.Payments() {
		states[p.ID] = p.State
	}
	want := map[string]invoice.PaymentState{first + ":0": invoice.PaymentReplaced, bump + ":1": invoice.PaymentConfirmed}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
}

// C38 with a listener, which may report the first transaction again after the fee bump.
func TestFee_bump_is_counted_once_in_any_order(t *testing.T) {
	t.Parallel()
	first, bump := spending(pay("a", 93_750, time.Minute), "x"), spending(pay("b", 93_750, 2*time.Minute), "x")
	listener := chain.Snapshot{Unconfirmed: chain.Partial, Tip: chain.Block{Height: 101}, Started: noon.Add(3 * time.Minute)}
	want := outcome{"pending", "[underpaid]", "75", "25", "0"}
	for name, snapshots := range map[string][][]chain.Transfer{
		"in order":        {{first}, {first, bump}, {inBlock(bump, 101, 4*time.Minute)}},
		"reversed order":  {{bump}, {bump, first}, {inBlock(bump, 101, 4*time.Minute)}},
		"after the block": {{inBlock(bump, 101, 4*time.Minute)}, {inBlock(bump, 101, 4*time.Minute), first}},
	} {
		inv := newInvoice(t, noon)
		for _, transfers := range snapshots {
			observeSnapshot(inv, listener, transfers...)
		}
		if diff := cmp.Diff(want, outcomeOf(inv)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// C40: spending the received coin later changes nothing.
func TestSpending_the_received_coin_causes_no_events(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40", "BTC")
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0005")
	s.mine(tx)
	paid := s.wantStatus(inv, invoice.Paid)
	eventsBefore := len(s.events())
	s.clock.Advance(7 * 24 * time.Hour)
	s.step()
	spent := s.send([]string{tx + ":0"}, inv, "")
	s.step()
	s.mine(spent)
	s.step()
	if got := s.reload(inv); got.Version != paid.Version || got.State.Paid.Cmp(paid.State.Paid) != 0 || len(s.events()) != eventsBefore {
		t.Errorf("version %d, %s paid, new events %v; want version %d and %s paid", got.Version, got.State.Paid, s.events()[eventsBefore:], paid.Version, paid.State.Paid)
	}
}

// C41: payments that arrive during downtime are found once, in order, and the times of the blocks decide
// whether they are late. A crash before the cursor is saved only causes another scan.
func TestBlocks_that_were_missed_are_found_once(t *testing.T) {
	t.Parallel()
	shop := openShop(t, table)
	first, second, third := shop.create("40", "BTC"), shop.create("40", "BTC"), shop.create("40", "BTC")
	shop.clock.Advance(time.Minute)
	shop.step()
	shop.mine(shop.pay(first, "BTC", "0.0005"))
	shop.mine()
	shop.mine(shop.pay(second, "BTC", "0.0005"))
	shop.mine()
	shop.clock.Advance(20 * time.Minute)
	shop.mine(shop.pay(third, "BTC", "0.0005"))
	shop.mine()
	crashed := errors.New("killed")
	for _, behind := range []bool{true, false} { // below the tip, and at the tip
		shop.behind, shop.saveError = behind, crashed
		if _, err := shop.watcher.Step(t.Context()); !errors.Is(err, crashed) {
			t.Fatalf("got error %v, want %v", err, crashed)
		}
	}
	shop.wantStatus(first, invoice.Paid)
	shop.wantStatus(second, invoice.Paid)
	shop.clock.Advance(time.Minute) // the longest interval between two checks of an overdue invoice
	shop.wantStatus(third, invoice.Expired, invoice.Late)
	for range 2 {
		shop.step()
	}
	for _, inv := range []*invoice.Invoice{first, second} {
		shop.wantEvents(inv, "1 invoice.created created", "2 payment.seen paid", "2 payment.confirmed paid", "2 invoice.paid paid")
		if got := len(shop.reload(inv).Transfers); got != 1 {
			t.Errorf("%d transfers are recorded", got)
		}
	}
	list := strings.Join(shop.events(), "\n")
	if got := strings.Count(list, "invoice.expired"); got != 1 {
		t.Errorf("%d events of one expired invoice:\n%s", got, list)
	}
}

// C43: dust and empty outputs cause no events in any status of the invoice, and larger payments
// cause one event per change.
func TestDust_causes_no_events(t *testing.T) {
	t.Parallel()
	for _, state := range []invoice.Status{invoice.Created, invoice.Paid, invoice.Expired} {
		t.Run("of an invoice that is "+string(state), func(t *testing.T) {
			t.Parallel()
			shop := openShop(t, table)
			inv := shop.create("40", "BTC")
			shop.clock.Advance(time.Minute)
			switch state {
			case invoice.Paid:
				shop.mine(shop.pay(inv, "BTC", "0.0005"))
			case invoice.Expired:
				shop.clock.Advance(time.Hour)
			}
			before := shop.wantStatus(inv, state)
			eventsBefore := len(shop.events())
			const count = 10
			for range count {
				dust := shop.send(nil, inv, "0", "0.00000001", "0.00000545")
				shop.step()
				shop.mine(dust)
				shop.step()
			}
			after := shop.reload(inv)
			if after.Version != before.Version || after.State.Status != state || after.State.Due.Cmp(before.State.Due) != 0 {
				t.Errorf("after dust: version %d and %s due, want %d and %s", after.Version, after.State.Due, before.Version, before.State.Due)
			}
			if got := len(after.Transfers) - len(before.Transfers); got != 2*count {
				t.Errorf("%d outputs are recorded, want the %d that are not empty", got, 2*count)
			}
			for range count {
				small := shop.send(nil, inv, "0.00000546")
				shop.step()
				shop.mine(small)
				shop.step()
			}
			// At most two events per payment, seen and confirmed, and two for pending, late or
			// overpaid.
			if got := len(shop.events()) - eventsBefore; got < count || got > 2*count+2 {
				t.Errorf("%d events of %d small payments", got, count)
			}
			// 10 × 546 sat are 4.36 of the 40 euro, at 80,000 euro for one bitcoin.
			if got := shop.reload(inv).State.Due.String(); state == invoice.Created && got != "35.64" {
				t.Errorf("%s is due after the small payments, want 35.64", got)
			}
		})
	}
}
