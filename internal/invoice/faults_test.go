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

// The tests below reproduce faults that were found in reviews.

func TestDropped_destination_leaves_the_invoice_paid(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.0005")}))
	s.wantStatus(inv, invoice.Paid)
	s.clock.Advance(31 * 24 * time.Hour)
	for range 3 { // the watcher drops the destination, so the transfer is not shown any more
		s.wantStatus(inv, invoice.Paid)
		s.clock.Advance(2 * time.Hour)
	}
}

func TestAccept_excludes_dust_and_later_money(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, quoteEnd.Add(time.Hour))
	late := inBlock(pay("a", full, 20*time.Minute), 101, 30*time.Minute)
	observe(inv, 101, late)
	inv.Accepted = []string{"a:0"}
	observe(inv, 101, late, inBlock(pay("z", full, 40*time.Minute), 101, 50*time.Minute))
	if diff := cmp.Diff(outcome{"paid", "[late]", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("a second late payment (-want +got):\n%s", diff)
	}

	s := openShop(t, table)
	open := s.create("40")
	_, err := s.service.SkipQuote(t.Context(), open.ID)
	s.must(err)
	s.must(s.net.Confirm(t.Context(), []string{s.pay(open, "BTC", "0.0005")}))
	s.pay(open, "BTC", "0.00000100")
	s.step()
	accepted, err := s.service.Accept(t.Context(), open.ID, "key_a", 0)
	s.must(err)
	if accepted.State.Status != invoice.Paid || len(accepted.Accepted) != 1 {
		t.Errorf("accepted with additional dust: %s, %v", accepted.State.Status, accepted.Accepted)
	}
}

func TestBump_after_a_reorganisation_inherits_the_first_sighting(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	first := inBlock(spending(pay("a", full, time.Minute), "x"), 101, 2*time.Minute)
	bump := inBlock(spending(pay("b", full, 20*time.Minute), "x"), 102, 21*time.Minute)
	observe(inv, 101, first)
	observe(inv, 102)
	observe(inv, 102, bump)
	scan(inv, quoteEnd.Add(time.Hour))
	if diff := cmp.Diff(outcome{"paid", "", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestRounding_of_a_rest_does_not_depend_on_IDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"01", "zz"} {
		inv := newInvoice(t, noon)
		inv.Quotes[0] = quote(t, 1, noon, "100", "86420")
		token := chain.Transfer{
			ID: "mm:1", Tx: "mm", Asset: "EURC", Script: "0x1", Amount: money.MustParse("60", eurc),
			Block: &chain.Block{Height: 101, Hash: "e101", Time: noon.Add(time.Minute)},
		}
		inv.Observe(invoice.Observation{
			Network: "base", Required: map[string]int{"mm:1": 1}, Transfers: []chain.Transfer{token},
			Snapshot: chain.Snapshot{Tip: chain.Block{Height: 101}, From: chain.Cursor{Height: 90}},
		})
		inv.State = inv.Evaluate()
		rest := pay(id, inv.Remaining(inv.Methods[0]).Minor().Int64(), time.Minute)
		observe(inv, 101, inBlock(rest, 101, 2*time.Minute))
		if diff := cmp.Diff(outcome{"paid", "", "100", "0", "0"}, outcomeOf(inv)); diff != "" {
			t.Errorf("rest in transaction %s (-want +got):\n%s", id, diff)
		}
	}
}

func TestOld_money_never_pays(t *testing.T) {
	t.Parallel()
	sighted := inBlock(pay("a", full, time.Second), 100, -time.Minute) // mined before, announced after
	inv := newInvoice(t, noon)
	observe(inv, 101, sighted)
	if got := outcomeOf(inv).Status; got != invoice.Created {
		t.Errorf("money in the birth block, sighted later: %s", got)
	}
	// The birth block leaves the chain, so the fork point replaces it. Money that is hours older
	// than the invoice still never counts.
	inv = newInvoice(t, noon)
	old := inBlock(pay("a", full, -200*time.Minute), 95, -200*time.Minute)
	old.FirstSeen = time.Time{}
	forked := chain.Snapshot{
		Unconfirmed: chain.Complete, Tip: chain.Block{Height: 101, Hash: "n101"}, From: chain.Cursor{Height: 90, Hash: "b90"},
		Blocks: map[int64]string{100: "n100", 101: "n101"},
	}
	observeSnapshot(inv, forked, old)
	if got := outcomeOf(inv).Status; got != invoice.Created {
		t.Errorf("old money after a fork: %s", got)
	}
	young := inBlock(pay("b", full, time.Minute), 100, 2*time.Minute)
	young.FirstSeen = time.Time{}
	observeSnapshot(inv, forked, old, young)
	if got := outcomeOf(inv).Status; got != invoice.Paid {
		t.Errorf("new money in a block that took the birth block's height: %s", got)
	}
}

func TestRefused_money_is_not_counted(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	inv.DeclinedAt = noon.Add(time.Minute)
	observe(inv, 101, inBlock(pay("a", full, 2*time.Minute), 101, 3*time.Minute))
	if diff := cmp.Diff(outcome{"declined", "[late]", "0", "100", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestAllowed_late_money_may_confirm_slowly(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	inv.Terms.AllowPaidExpired = true
	observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, 26*time.Hour))
	scan(inv, noon.Add(48*time.Hour))
	if got := outcomeOf(inv).Status; got != invoice.Paid {
		t.Errorf("seen in time, confirmed after a day, late money allowed: %s, want paid", got)
	}
}

func TestReverted_invoice_is_reported(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0005")
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.wantStatus(inv, invoice.Paid)
	s.clock.Advance(30 * time.Minute)
	s.must(s.net.Reorganise(t.Context(), []string{tx}))
	s.must(s.net.Replace(t.Context(), tx))
	s.wantStatus(inv, invoice.Expired, invoice.WasReorged)
	events := strings.Join(s.events(), "\n")
	if !strings.Contains(events, "invoice.reverted expired") || !strings.Contains(events, "invoice.expired expired") {
		t.Errorf("events:\n%s", events)
	}
}

func TestReplay_returns_the_invoice_of_a_key(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	r := s.request("40")
	r.Key, r.BodyHash = invoice.IdempotencyKey{Value: "k"}, "one"
	created, err := s.service.Create(t.Context(), r)
	s.must(err)
	replayed, err := s.service.Replay(t.Context(), "m", invoice.IdempotencyKey{Value: "k"}, "one")
	if err != nil || replayed.ID != created.ID {
		t.Errorf("replay: %v, %v", replayed, err)
	}
	if _, err := s.service.Replay(t.Context(), "m", invoice.IdempotencyKey{Value: "k"}, "two"); !errors.Is(err, invoice.ErrConflict) {
		t.Errorf("another body: %v", err)
	}
	if _, err := s.service.Replay(t.Context(), "m", invoice.IdempotencyKey{Value: "other"}, "one"); !errors.Is(err, invoice.ErrNotFound) {
		t.Errorf("another key: %v", err)
	}
	s.clock.Advance(25 * time.Hour)
	if _, err := s.service.Replay(t.Context(), "m", invoice.IdempotencyKey{Value: "k"}, "one"); !errors.Is(err, invoice.ErrNotFound) {
		t.Errorf("after a day: %v", err)
	}
}

func TestDepth_depends_on_the_first_quote_that_has_the_asset(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("600")
	m, _ := inv.Method(simnet.ID, "BTC")
	if got := inv.Confirmations(m); got != 2 {
		t.Errorf("600.00 EUR need %d confirmations, want 2", got)
	}
	inv.Quotes = append(inv.Quotes, invoice.Quote{Number: 2, From: inv.ExpiresAt(), Until: inv.ExpiresAt().Add(time.Hour), Due: fiat("1")})
	if got := inv.Confirmations(m); got != 2 {
		t.Errorf("after a quote without BTC: %d confirmations, want 2", got)
	}
}

func TestBump_of_older_money_is_older_money(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	observe(inv, 100, spending(pay("a", full, -3*time.Hour), "x"))
	bump := spending(pay("b", full, time.Minute), "x")
	observe(inv, 100, bump)
	if got := outcomeOf(inv).Status; got != invoice.Created {
		t.Errorf("bumped: %s", got)
	}
	observe(inv, 101, inBlock(bump, 101, 2*time.Minute))
	if diff := cmp.Diff(outcome{"created", "[old]", "0", "100", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("mined (-want +got):\n%s", diff)
	}
	for _, p := range inv.Payments() {
		if p.ID == "b:0" && p.State != invoice.PaymentOld {
			t.Errorf("the bump is %s, want %s", p.State, invoice.PaymentOld)
		}
	}
	// Only the amount of the older transaction is old if the bump pays more.
	inv = newInvoice(t, noon)
	observe(inv, 100, spending(pay("a", full/2, -3*time.Hour), "x"))
	observe(inv, 101, inBlock(spending(pay("b", full, time.Minute), "x"), 101, 2*time.Minute))
	if diff := cmp.Diff(outcome{"pending", "[underpaid old]", "50", "50", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("a fee bump that pays more (-want +got):\n%s", diff)
	}
}

func TestFirst_sighting_is_inherited_once(t *testing.T) {
	t.Parallel()
	// A tenth of the price is sent in time, from ten inputs. After expiry, when the market is
	// known, each of ten transactions spends one of the inputs and pays a tenth.
	inv := newInvoice(t, noon)
	var inputs []string
	for i := range 10 {
		inputs = append(inputs, fmt.Sprint("o", i))
	}
	observe(inv, 101, spending(pay("a", full/10, 5*time.Minute), inputs...))
	scan(inv, noon.Add(20*time.Minute))
	inv.State = inv.Evaluate()
	var split []chain.Transfer
	for i, input := range inputs {
		split = append(split, spending(pay(fmt.Sprint("d", i), full/10, 10*time.Hour), input))
	}
	observe(inv, 101, split...)
	for i := range split {
		split[i] = inBlock(split[i], 102, 11*time.Hour)
	}
	observe(inv, 104, split...)
	if diff := cmp.Diff(outcome{"expired", "[underpaid late]", "10", "90", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("want only one of ten to inherit the first sighting (-want +got):\n%s", diff)
	}
}

func TestOlder_money_stays_older_without_the_birth_block(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	old := pay("a", full, time.Minute)
	mined := inBlock(old, 100, -time.Hour)
	mined.FirstSeen = time.Time{}
	observe(inv, 100, mined)
	observe(inv, 100, old) // after the birth block left the chain
	observe(inv, 101, inBlock(old, 101, time.Minute))
	if diff := cmp.Diff(outcome{"created", "[old]", "0", "100", "0"}, outcomeOf(inv)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAccept_ends_with_a_double_spend(t *testing.T) {
	t.Parallel()
	listener := chain.Snapshot{Unconfirmed: chain.Partial, Tip: chain.Block{Height: 100}, Started: noon.Add(time.Minute)}
	inv := newInvoice(t, noon)
	observeSnapshot(inv, listener, spending(pay("a", full/2, time.Minute), "x"))
	inv.Accepted = []string{"a:0"}
	observeSnapshot(inv, listener, spending(pay("a", full/2, time.Minute), "x"), spending(pay("b", full/20, 2*time.Minute), "x"))
	if got := outcomeOf(inv); got.Paid == "100" {
		t.Errorf("after the accepted money was double spent: %+v", got)
	}
}

func TestBlock_above_the_birth_block_counts_at_any_block_time(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	observe(inv, 101, inBlock(pay("a", full, time.Minute), 101, -2*time.Hour-time.Minute))
	if got := outcomeOf(inv).Status; got != invoice.Paid {
		t.Errorf("mined with a clock two hours behind: %s", got)
	}
}

func TestDust_and_older_money_cause_no_events(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	version := s.reload(inv).Version
	s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.00000001")}))
	for range 5 {
		s.pay(inv, "BTC", "0.00000545")
		s.step()
	}
	if got := s.reload(inv); got.Version != version || len(got.Transfers) != 6 {
		t.Errorf("version %d after dust, %d before; %d transfers recorded", got.Version, version, len(got.Transfers))
	}
	if got := s.events(); len(got) != 1 {
		t.Errorf("events: %v, want only invoice.created", got)
	}
}

// BenchmarkEvaluate measures the cost of Evaluate, which must grow linearly with the number of transfers,
// because an attacker can send many.
func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			inv := newInvoice(b, noon)
			var list []chain.Transfer
			for i := range n {
				list = append(list, pay(fmt.Sprint("t", i), 600, time.Minute))
			}
			observe(inv, 100, list...)
			for b.Loop() {
				inv.Evaluate()
			}
		})
	}
}
