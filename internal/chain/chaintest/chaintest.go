// Package chaintest is the test suite for all watched networks. It tests how a scan shows transfers that are
// unconfirmed, confirmed, replaced or reorganised.
package chaintest

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Output is a payment to a script.
type Output struct {
	Script string
	Amount money.Amount
}

// Harness controls a network in a test: a node that the test started, or simnet. Its methods fail
// the test on errors, and return when a scan can see their effect.
type Harness interface {
	Network() chain.Scanner
	// Asset is the asset that the harness pays with.
	Asset() chain.Asset
	// NewScript returns a destination without payments.
	NewScript(t testing.TB) string
	// Send puts a transaction into the mempool.
	Send(t testing.TB, outputs ...Output) (tx string)
	// Replace double-spends a waiting transaction.
	Replace(t testing.TB, tx string, outputs ...Output) (replacement string)
	// Mine mines a block with the given waiting transactions.
	Mine(t testing.TB, txs ...string)
	// Reorganise replaces the newest blocks by one more, from the lowest that contains one
	// of the transactions: their transactions are unconfirmed again.
	Reorganise(t testing.TB, txs ...string)
}

// Watch is a set of scripts that are watched. It implements chain.Watched.
type Watch map[string]bool

// Destination implements chain.Watched.
func (w Watch) Destination(script string) bool { return w[script] }

// Since implements chain.Watched: every call returns all scripts.
func (w Watch) Since(uint64) (iter.Seq[string], uint64) { return maps.Keys(w), 0 }

// Outpoint implements chain.Watched.
func (w Watch) Outpoint(string) bool { return false }

// Recorded implements chain.Watched: nothing is recorded.
func (w Watch) Recorded() iter.Seq[chain.Transfer] { return func(func(chain.Transfer) bool) {} }

// Recording is a Watch with recorded transfers. It implements chain.Watched.
type Recording struct {
	Watch
	Transfers []chain.Transfer
}

// Recorded implements chain.Watched.
func (r Recording) Recorded() iter.Seq[chain.Transfer] { return slices.Values(r.Transfers) }

// Run runs the suite, with a new harness for each case.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, f *fixture)
	}{
		{"unconfirmed_then_confirmed", unconfirmedThenConfirmed},
		{"two_outputs_to_one_script_are_two_transfers", twoOutputs},
		{"one_transaction_pays_three_scripts", threeScripts},
		{"other_scripts_are_not_shown", otherScripts},
		{"double_spend_is_gone", doubleSpend},
		{"fee_bump_spends_the_same_outpoint", feeBump},
		{"reorganised_transfer_is_unconfirmed_until_it_is_mined_again", reorganised},
		{"transfer_during_downtime_is_found", transferDuringDowntime},
		{"two_scans_of_the_same_chain_are_equal", equalScans},
		{"cursor_stays_behind_the_tip", cursorBehind},
		{"reorganisation_of_6_blocks", reorganisedDeep},
		{"double_spend_first_seen_in_a_block_is_shown", hiddenDoubleSpend},
		{"spending_a_received_output_changes_nothing", spentOutput},
		{"dust_and_zero_outputs_do_not_hide_transfers", dust},
		{"block_scanned_twice_has_equal_transfers", sameBlock},
		{"old_payment_to_a_reused_script_is_not_shown", reusedScript},
		{"transfer_to_a_destination_added_later_is_found", laterDestination},
		{"changes_during_downtime_are_seen", changesDuringDowntime},
		{"recorded_transfer_that_a_scan_missed_is_shown", recordedMissed},
		{"recorded_transfer_that_is_not_in_its_block_is_refuted", recordedRefuted},
		{"recorded_transfer_leaves_with_its_block", recordedLeaves},
		{"recorded_transfer_above_the_tip_is_an_error", recordedAbove},
		{"bridged_token_is_shown_as_itself_and_not_offered", bridgedToken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness := open(t)
			tt.run(t, &fixture{Harness: harness, watch: Watch{}})
		})
	}
}

// fixture is a harness with a cursor and a set of watched scripts.
type fixture struct {
	Harness
	watch Watch
	from  chain.Cursor
}

// scan scans from the cursor and does not move it.
func (f *fixture) scan(t *testing.T) chain.Snapshot {
	t.Helper()
	s, err := f.Network().Scan(t.Context(), f.from, f.watch)
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return s
}

// script makes a watched destination.
func (f *fixture) script(t *testing.T) string {
	t.Helper()
	s := f.NewScript(t)
	f.watch[s] = true
	return s
}

func (f *fixture) amount(text string) money.Amount {
	return money.MustParse(text, f.Asset().Currency)
}

// shown is the compared part of a transfer.
type shown struct {
	Tx, Script, Amount string
	Confirmed          bool
}

// summary returns the transfers without those of zero, which a network need not show.
func summary(s chain.Snapshot) []shown {
	list := []shown{}
	for _, t := range s.Transfers {
		if t.Amount.IsZero() {
			continue
		}
		list = append(list, shown{t.Tx, t.Script, t.Amount.String(), t.Block != nil})
	}
	return list
}

// mempool reports whether the network shows unconfirmed transfers.
func (f *fixture) mempool() bool { return f.Asset().Policy.Mempool }

// want scans and compares the transfers. Unconfirmed transfers are removed from want if the
// network has no mempool.
func (f *fixture) want(t *testing.T, want ...shown) chain.Snapshot {
	t.Helper()
	s := f.scan(t)
	want = slices.DeleteFunc(append([]shown{}, want...), func(e shown) bool { return !e.Confirmed && !f.mempool() })
	asSet := cmp.Transformer("set", func(list []shown) map[shown]int {
		set := map[shown]int{}
		for _, e := range list {
			set[e]++
		}
		return set
	})
	if diff := cmp.Diff(want, summary(s), asSet); diff != "" {
		t.Fatalf("transfers (-want +got):\n%s", diff)
	}
	return s
}

func unconfirmedThenConfirmed(t *testing.T, f *fixture) {
	script := f.script(t)
	f.want(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	waiting := f.want(t, shown{tx, script, "0.5", false})
	if f.mempool() && waiting.Transfers[0].FirstSeen.IsZero() && waiting.Unconfirmed == chain.Complete {
		t.Error("complete mempool has no first sighting")
	}
	if !f.mempool() && waiting.Unconfirmed != chain.None {
		t.Errorf("coverage without a mempool is %s, want none", waiting.Unconfirmed)
	}
	f.Mine(t, tx)
	s := f.want(t, shown{tx, script, "0.5", true})
	if got := s.Transfers[0].Block; got.Height != s.Tip.Height || got.Hash != s.Tip.Hash {
		t.Errorf("block = %+v, tip = %+v", got, s.Tip)
	}
	if f.mempool() && s.Transfers[0].ID != waiting.Transfers[0].ID {
		t.Errorf("transfer's ID changed from %s to %s", waiting.Transfers[0].ID, s.Transfers[0].ID)
	}
}

func twoOutputs(t *testing.T, f *fixture) {
	script := f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.1")}, Output{f.NewScript(t), f.amount("1")}, Output{script, f.amount("0.2")})
	if !f.mempool() {
		f.Mine(t, tx)
	}
	s := f.want(t, shown{tx, script, "0.1", !f.mempool()}, shown{tx, script, "0.2", !f.mempool()})
	if s.Transfers[0].ID == s.Transfers[1].ID {
		t.Errorf("two outputs have the same ID %s", s.Transfers[0].ID)
	}
}

func threeScripts(t *testing.T, f *fixture) {
	one, two, three := f.script(t), f.script(t), f.script(t)
	tx := f.Send(t, Output{one, f.amount("0.1")}, Output{two, f.amount("0.2")}, Output{three, f.amount("0.3")})
	f.Mine(t, tx)
	f.want(t, shown{tx, one, "0.1", true}, shown{tx, two, "0.2", true}, shown{tx, three, "0.3", true})
}

func otherScripts(t *testing.T, f *fixture) {
	f.Mine(t, f.Send(t, Output{f.NewScript(t), f.amount("0.1")}))
	f.want(t)
}

func doubleSpend(t *testing.T, f *fixture) {
	script := f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	f.want(t, shown{tx, script, "0.5", false})
	replacement := f.Replace(t, tx, Output{f.NewScript(t), f.amount("0.5")})
	f.want(t)
	f.Mine(t, replacement)
	f.want(t)
}

func feeBump(t *testing.T, f *fixture) {
	if !f.mempool() {
		t.Skip("network has no mempool")
	}
	script := f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	before := f.want(t, shown{tx, script, "0.5", false})
	bump := f.Replace(t, tx, Output{script, f.amount("0.5")})
	after := f.want(t, shown{bump, script, "0.5", false})
	spent := func(s chain.Snapshot) []string {
		return slices.DeleteFunc(slices.Clone(s.Transfers[0].Spends), chain.IsOneTimeOutpoint)
	}
	if diff := cmp.Diff(spent(before), spent(after)); diff != "" {
		t.Errorf("outpoints (-before +after):\n%s", diff)
	}
}

func reorganised(t *testing.T, f *fixture) {
	script := f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	f.Mine(t, tx)
	before := f.want(t, shown{tx, script, "0.5", true})
	f.from = before.Next
	f.Reorganise(t, tx)
	after := f.want(t, shown{tx, script, "0.5", false})
	if after.From.Height >= before.Transfers[0].Block.Height {
		t.Errorf("scan after a reorganisation begins at %d, want below %d", after.From.Height, before.Transfers[0].Block.Height)
	}
	if after.Blocks[before.Tip.Height] == before.Tip.Hash {
		t.Error("old tip is still in Blocks")
	}
	f.Mine(t, tx)
	f.want(t, shown{tx, script, "0.5", true})
}

func transferDuringDowntime(t *testing.T, f *fixture) {
	one, two := f.script(t), f.script(t)
	f.from = f.scan(t).Next
	first := f.Send(t, Output{one, f.amount("0.1")})
	f.Mine(t, first)
	f.Mine(t)
	second := f.Send(t, Output{two, f.amount("0.2")})
	f.Mine(t, second)
	f.Mine(t)
	f.want(t, shown{first, one, "0.1", true}, shown{second, two, "0.2", true})
}

func equalScans(t *testing.T, f *fixture) {
	script := f.script(t)
	f.Mine(t, f.Send(t, Output{script, f.amount("0.1")}))
	f.Send(t, Output{script, f.amount("0.2")})
	f.scan(t) // a node's mempool is complete from its second list on
	first, second := f.scan(t), f.scan(t)
	second.Started = first.Started
	first.Conflicts, second.Conflicts = withoutOwnConflicts(first), withoutOwnConflicts(second)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two scans of the same chain (-first +second):\n%s", diff)
	}
}

// withoutOwnConflicts returns a snapshot's conflicts without those of a transfer with itself, which are
// shown only after a scan has watched the outpoint.
func withoutOwnConflicts(s chain.Snapshot) (conflicts []chain.Conflict) {
	for _, c := range s.Conflicts {
		if !slices.ContainsFunc(s.Transfers, func(t chain.Transfer) bool { return t.Tx == c.Tx }) {
			conflicts = append(conflicts, c)
		}
	}
	return conflicts
}

func cursorBehind(t *testing.T, f *fixture) {
	deepest := 0
	for _, d := range f.Asset().Policy.Depth {
		deepest = max(deepest, d.Confirmations)
	}
	for range max(30, deepest+1) {
		f.Mine(t)
	}
	s := f.scan(t)
	if behind := s.Tip.Height - s.Next.Height; behind < int64(deepest) {
		t.Errorf("cursor is %d blocks behind the tip, want at least the largest confirmation count %d", behind, deepest)
	}
	if s.Blocks[s.Next.Height] != s.Next.Hash {
		t.Error("next cursor is not a block of the best chain")
	}
}
