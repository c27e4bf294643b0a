package node_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/utxo"
)

func mustWait(t *testing.T, n *node.Node, w chain.Watched) utxo.Waiting {
	t.Helper()
	waiting, err := n.Waiting(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return waiting
}

// ids returns the IDs of the waiting transactions.
func ids(w utxo.Waiting) (ids []string) {
	for _, tx := range w.Txs {
		ids = append(ids, tx.ID)
	}
	return ids
}

func wantIDs(t *testing.T, w utxo.Waiting, want ...string) {
	t.Helper()
	if diff := cmp.Diff(ids(w), want); diff != "" {
		t.Fatalf("waiting transactions differ (-got +want):\n%s", diff)
	}
}

func TestSeen_is_between_two_scans(t *testing.T) {
	t.Parallel()
	watch := chaintest.Watch{destination(1): true}
	const first = true // the transaction is in the first listing
	tests := map[string]struct {
		first bool
		entry time.Duration // the node's entry time, after the previous listing
		clock time.Duration // time by which the node's clock is ahead
		want  time.Duration // after the previous listing, which is at half a second
	}{
		"between the lists: the end of its second": {!first, 3 * time.Second, 0, 3500 * time.Millisecond},
		"in the last second: the list":             {!first, 10 * time.Second, 0, 10 * time.Second},
		"in the second of the previous list":       {!first, 0, 0, 500 * time.Millisecond},
		"long before the previous list: the list":  {!first, -time.Hour, 0, 10 * time.Second},
		"after the list: the list":                 {!first, time.Hour, 0, 10 * time.Second},
		"a clock ahead is corrected":               {!first, time.Hour + 3*time.Second, time.Hour, 4 * time.Second},
		"a clock behind is corrected":              {!first, -time.Hour + 3*time.Second, -time.Hour, 4 * time.Second},
		"before the first list: the node's time":   {first, -time.Hour, 0, -time.Hour + 500*time.Millisecond},
		"after the first list: not after now":      {first, time.Hour, 0, 10 * time.Second},
		"before the first list with a wrong clock": {first, -2 * time.Hour, -time.Hour, -time.Hour + time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 1)
			n := f.source()
			f.clockLead = test.clock
			if !test.first {
				mustWait(t, n, watch)
			}
			tx := f.send(destination(1), 1000)
			f.entered[tx] = noon.Add(test.entry)
			f.clock.Advance(10 * time.Second)
			wantIDs(t, mustWait(t, n, watch), tx)
			if got := n.Seen(tx).Sub(noon); got != test.want {
				t.Errorf("Seen() = %v after noon, want %v", got, test.want)
			}
		})
	}
}

func TestSeen_is_kept_for_two_hours(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	source, watch := f.source(), chaintest.Watch{destination(1): true}
	mustWait(t, source, watch)
	f.clock.Advance(time.Second)
	paid, other := f.send(destination(1), 1000), f.send(destination(2), 1000)
	f.clock.Advance(time.Second)
	wantIDs(t, mustWait(t, source, watch), paid)
	seen := map[string]time.Time{paid: source.Seen(paid), other: source.Seen(other)}
	old := f.mempool
	f.mine()
	f.clock.Advance(time.Minute)
	wantIDs(t, mustWait(t, source, watch))
	f.clock.Advance(2 * time.Hour)
	wantIDs(t, mustWait(t, source, watch))
	for tx, want := range seen {
		if got := source.Seen(tx); !got.Equal(want) || want.IsZero() {
			t.Errorf("Seen(%s) = %v, want %v as before", tx, got, want)
		}
	}
	f.set(func() { f.mempool = old }) // the block left the chain
	wantIDs(t, mustWait(t, source, watch), paid)
	if got := source.Seen(paid); !got.Equal(seen[paid]) {
		t.Errorf("Seen() = %v, want the first sighting %v", got, seen[paid])
	}
	f.set(func() { f.mempool = nil })
	mustWait(t, source, watch)
	source.Buried([]string{paid})
	if got := source.Seen(paid); !got.IsZero() {
		t.Errorf("Seen() = %v for a buried transaction, want zero", got)
	}
	f.clock.Advance(2*time.Hour + time.Second)
	mustWait(t, source, watch)
	if got := source.Seen(other); !got.IsZero() {
		t.Errorf("Seen() = %v after two hours, want zero", got)
	}
}

func TestSeen_is_zero_for_an_unknown_transaction(t *testing.T) {
	t.Parallel()
	n := newFake(t, 1).source()
	for _, tx := range []string{"", "zz", destination(1)} {
		if got := n.Seen(tx); !got.IsZero() {
			t.Errorf("Seen(%q) = %v, want zero", tx, got)
		}
	}
}

func TestWaiting_of_btcd_reads_all_times_at_once(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	likeBtcd(f)
	n, watch := f.source(), chaintest.Watch{destination(1): true}
	tx := f.send(destination(1), 1000)
	f.entered[tx] = noon.Add(-time.Hour)
	w := mustWait(t, n, watch)
	if got, want := n.Seen(tx), noon.Truncate(time.Second).Add(-time.Hour+time.Second); !got.Equal(want) {
		t.Errorf("Seen() = %v, want the node's %v", got, want)
	}
	if w.Coverage != chain.Complete || !w.Since.Equal(noon) {
		t.Errorf("coverage %q since %v", w.Coverage, w.Since)
	}
	f.clock.Advance(time.Second)
	later := f.send(destination(1), 1000)
	f.clock.Advance(time.Second)
	wantIDs(t, mustWait(t, n, watch), tx, later)
	if got, want := n.Seen(later), noon.Add(2*time.Second); !got.Equal(want) {
		t.Errorf("Seen() = %v, want the time of the list, %v", got, want)
	}
	if got := f.calls["getrawmempool"]; got != 3 {
		t.Errorf("getrawmempool was called %d times, want 3", got)
	}
}

// likeBtcd makes a fake answer like btcd where btcd differs.
func likeBtcd(f *fake) {
	f.answers["getmempoolentry"] = refuses(-1, "Command unimplemented")
	f.answers["getnetworkinfo"] = refuses(-1, "Command unimplemented")
	f.answers["getmempoolinfo"] = result(map[string]any{"size": 1})
	f.answers["getrawmempool"] = func(params []json.RawMessage) (any, int, string) {
		if len(params) == 0 {
			return f.trueAnswer("getrawmempool", nil)
		}
		entries := map[string]any{}
		for tx, enteredAt := range f.entered {
			entries[tx] = map[string]any{"time": enteredAt.Unix()}
		}
		return entries, 0, ""
	}
}

func TestWaiting_begins_at_the_start_of_the_node(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source()
	wantSince := func(want time.Time) {
		t.Helper()
		if got := mustWait(t, n, chaintest.Watch{}).Since; !got.Equal(want) {
			t.Errorf("since %v, want %v", got, want)
		}
	}
	wantSince(noon) // although the node ran before
	f.clock.Advance(30 * time.Second)
	wantSince(noon)
	f.clock.Advance(30*time.Second + time.Millisecond)
	wantSince(f.clock.Now())                    // a transaction that entered and left meanwhile has no sighting
	f.set(func() { f.started = f.clock.Now() }) // the node restarts
	restart := f.clock.Now()
	f.clock.Advance(10*time.Second + 900*time.Millisecond)
	wantSince(restart.Add(900 * time.Millisecond)) // the start is known to a second
	f.clock.Advance(100 * time.Millisecond)
	wantSince(restart)
	f.answers["uptime"] = refuses(-32601, "Method not found")
	wantSince(restart)
}

func TestWaiting_since_the_first_list_without_uptime(t *testing.T) {
	t.Parallel()
	for name, uptime := range map[string]answer{
		"unknown": refuses(-32601, "Method not found"), "negative": result(-1), "too large": result(int64(1) << 62), "words": result("long"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 1)
			f.answers["uptime"] = uptime
			n := f.source()
			for range 2 {
				if got := mustWait(t, n, chaintest.Watch{}).Since; !got.Equal(noon) {
					t.Errorf("since %v, want %v", got, noon)
				}
				f.clock.Advance(20 * time.Second)
			}
		})
	}
}

func TestWaiting_is_partial_while_the_mempool_is_loading(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.answers["getmempoolinfo"] = result(map[string]any{"loaded": false})
	n, watch := f.source(), chaintest.Watch{destination(1): true}
	if got := mustWait(t, n, watch).Coverage; got != chain.Partial {
		t.Errorf("coverage %q, want %q", got, chain.Partial)
	}
	f.clock.Advance(time.Second)
	tx := f.send(destination(1), 1000)
	f.entered[tx] = noon.Add(-time.Hour)
	f.clock.Advance(time.Second)
	f.set(func() { clear(f.answers) })
	w := mustWait(t, n, watch)
	if w.Coverage != chain.Complete {
		t.Errorf("coverage %q, want %q", w.Coverage, chain.Complete)
	}
	if got, want := n.Seen(tx), noon.Truncate(time.Second).Add(-time.Hour+time.Second); !got.Equal(want) {
		t.Errorf("Seen() = %v, want the node's %v", got, want)
	}
}

// outpoints watches outpoints in addition to scripts.
type outpoints struct {
	chaintest.Watch
	watched []string
}

func (w outpoints) Outpoint(o string) bool { return slices.Contains(w.watched, o) }

func TestWaiting_returns_conflicts_of_watched_outpoints_only(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n, tx := f.source(), f.send(destination(1), 1000)
	spent := f.mempool[0].TxIn[0].PreviousOutPoint.String()
	w := mustWait(t, n, outpoints{chaintest.Watch{}, []string{spent}})
	want := []chain.Conflict{{Outpoint: spent, Tx: tx, Seen: f.clock.Now()}}
	if diff := cmp.Diff(w.Conflicts, want); diff != "" {
		t.Errorf("conflicts (-got +want):\n%s", diff)
	}
	if w := mustWait(t, n, chaintest.Watch{}); len(w.Conflicts) > 0 {
		t.Errorf("conflicts %v of unwatched outpoints", w.Conflicts)
	}
}

func TestWaiting_after_a_start(t *testing.T) {
	t.Parallel()
	loaded, loading := result(map[string]any{"loaded": true}), result(map[string]any{"loaded": false})
	type step struct {
		after time.Duration
		pool  answer
		want  chain.Coverage
	}
	for name, steps := range map[string][]step{
		"absence_counts_from_the_second_list_of_a_loaded_mempool": {
			{time.Second, loaded, chain.Partial}, {time.Second, loaded, chain.Complete}, {time.Second, loaded, chain.Complete},
		},
		"lists_while_the_mempool_is_loading_do_not_count": {
			{time.Second, loading, chain.Partial}, {time.Second, loading, chain.Partial},
			{time.Second, loaded, chain.Partial}, {time.Second, loaded, chain.Complete},
		},
		"a_node_that_does_not_report_loading_needs_a_day": {
			{time.Hour, result(map[string]any{}), chain.Partial}, {time.Hour, result(map[string]any{}), chain.Partial},
			{22 * time.Hour, result(map[string]any{}), chain.Complete},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 1)
			n := f.source()
			for restart := range 2 { // the same after the next start
				f.clock.Advance(time.Minute)
				f.set(func() { f.started = f.clock.Now() })
				for i, step := range steps {
					f.clock.Advance(step.after)
					f.set(func() { f.answers["getmempoolinfo"] = step.pool })
					if got := mustWait(t, n, chaintest.Watch{}).Coverage; got != step.want {
						t.Errorf("start %d, step %d: coverage %q, want %q", restart+1, i+1, got, step.want)
					}
				}
			}
		})
	}
}

func TestWaiting_of_a_node_with_blocksonly_is_no_view(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.answers["getnetworkinfo"] = result(map[string]any{"localrelay": false})
	f.send(destination(1), 1000)
	n := f.source()
	w := mustWait(t, n, chaintest.Watch{destination(1): true})
	if w.Coverage != chain.None || !w.Since.IsZero() || len(w.Txs) > 0 {
		t.Errorf("Waiting() = %+v, want no view", w)
	}
	f.set(func() { clear(f.answers) })
	f.clock.Advance(time.Second)
	if w := mustWait(t, n, chaintest.Watch{}); w.Coverage != chain.Complete || !w.Since.Equal(f.clock.Now()) {
		t.Errorf("coverage %q since %v, want complete since now", w.Coverage, w.Since)
	}
}

func TestWaiting_fails_without_peers(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source(func(c *node.Config) { c.Chain = "main" })
	if w := mustWait(t, n, chaintest.Watch{}); !w.Since.Equal(noon) {
		t.Errorf("since %v, want the first list", w.Since)
	}
	f.answers["getconnectioncount"] = result(0)
	f.clock.Advance(time.Second)
	if _, err := n.Waiting(t.Context(), chaintest.Watch{}); err == nil || !strings.Contains(n.Health().Fault, "no peers") {
		t.Errorf("Waiting() = %v with the fault %q, want an error for no peers", err, n.Health().Fault)
	}
	f.set(func() { clear(f.answers) })
	f.clock.Advance(time.Second)
	for range 2 {
		if w := mustWait(t, n, chaintest.Watch{}); !w.Since.Equal(noon.Add(2*time.Second)) || w.Coverage != chain.Complete {
			t.Errorf("coverage %q since %v, want complete since the peers are back", w.Coverage, w.Since)
		}
	}
	f.clock.Advance(20 * time.Second)
	f.set(func() { f.started = f.clock.Now() })
	if w := mustWait(t, n, chaintest.Watch{}); !w.Since.Equal(f.clock.Now()) {
		t.Errorf("since %v, want the restart", w.Since)
	}
	if h := n.Health(); h.Peers != 8 || h.Fault != "" || h.Source != "node at "+strings.TrimPrefix(f.server.URL, "http://") {
		t.Errorf("Health() = %+v", h)
	}
}

func TestWaiting_tolerates_transactions_that_leave_meanwhile(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n, watch := f.source(), chaintest.Watch{destination(1): true}
	mustWait(t, n, watch)
	f.clock.Advance(time.Second)
	stays, leaves := f.send(destination(1), 1000), f.send(destination(1), 2000)
	f.answers["getrawtransaction"] = func(params []json.RawMessage) (any, int, string) {
		if string(params[0]) == `"`+leaves+`"` {
			f.mempool = f.mempool[:1]
		}
		return f.trueAnswer("getrawtransaction", params)
	}
	wantIDs(t, mustWait(t, n, watch), stays)
	if got := n.Seen(leaves); !got.Equal(f.clock.Now()) {
		t.Errorf("Seen() = %v for a transaction that may be mined, want %v", got, f.clock.Now())
	}
	f.set(func() { f.answers["getmempoolentry"] = refuses(-5, "Transaction not in mempool") })
	third := f.send(destination(1), 3000)
	wantIDs(t, mustWait(t, n, watch), slices.Sorted(slices.Values([]string{stays, third}))...)
}

func TestWaiting_reads_each_transaction_once(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source()
	var paid []string
	for i := range 60 {
		paid = append(paid, f.send(destination(i), 1000))
		f.clock.Advance(time.Second)
	}
	watch := chaintest.Watch{destination(1): true}
	wantIDs(t, mustWait(t, n, watch), paid[1])
	wantIDs(t, mustWait(t, n, watch), paid[1])
	if got := f.calls["getrawtransaction"]; got != 60 {
		t.Errorf("%d transactions requested, want 60", got)
	}
	watch[destination(2)], watch[destination(77)] = true, true
	wantIDs(t, mustWait(t, n, watch), paid[1], paid[2])
	if got := f.calls["getrawtransaction"]; got != 61 {
		t.Errorf("%d transactions requested, want 61", got)
	}
	delete(watch, destination(1))
	wantIDs(t, mustWait(t, n, watch), paid[2])
}

func TestWaiting_continues_after_an_error(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	source, watch := f.source(), chaintest.Watch{destination(59): true}
	mustWait(t, source, watch)
	for i := range 60 {
		f.send(destination(i), 1000)
	}
	f.clock.Advance(time.Second)
	requests := 0
	f.answers["getrawtransaction"] = func(params []json.RawMessage) (any, int, string) {
		if requests++; requests > 30 {
			return nil, -32603, "Internal error"
		}
		return f.trueAnswer("getrawtransaction", params)
	}
	if _, err := source.Waiting(t.Context(), watch); err == nil {
		t.Fatal("no error")
	}
	at := f.clock.Now()
	f.clock.Advance(time.Hour)
	f.set(func() {
		f.answers["getrawtransaction"], f.answers["getmempoolentry"] = nil, refuses(-32601, "Method not found")
	})
	f.calls["getrawtransaction"] = 0
	w := mustWait(t, source, watch)
	if got := f.calls["getrawtransaction"]; len(w.Txs) != 1 || got != 30 {
		t.Errorf("%d waiting, %d transactions requested again, want 1 and 30", len(w.Txs), got)
	}
	if got := source.Seen(w.Txs[0].ID); !got.Equal(at) {
		t.Errorf("Seen() = %v, want the time of its first list, %v", got, at)
	}
}

func TestWaiting_reads_JSON_if_the_wire_format_cannot_be_parsed(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	tx := f.send(destination(1), 1000)
	f.answers["getrawtransaction"] = func(params []json.RawMessage) (any, int, string) {
		if len(params) == 1 {
			return "02000000000108", 0, ""
		}
		return json.RawMessage(fmt.Sprintf(`{"txid":%q,"vin":[{"txid":%q,"vout":3,"sequence":4294967295}],"vout":[
			{"value":0.00001000,"n":0,"scriptPubKey":{"hex":%q}}]}`, tx, tx, destination(1))), 0, ""
	}
	w := mustWait(t, f.source(), chaintest.Watch{destination(1): true})
	want := []utxo.Tx{{ID: tx, Spends: []string{tx + ":3"}, Outputs: []utxo.Output{{Script: destination(1), Units: 1000}}}}
	if diff := cmp.Diff(w.Txs, want); diff != "" {
		t.Errorf("waiting transactions differ (-got +want):\n%s", diff)
	}
}
