package utxo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/utxo"
	"chequer/internal/money"
)

// coin is the asset of the network of the tests.
var coin = chain.Asset{Code: "BTC", Network: "bitcoin", Currency: money.BTC}

// source is a chain in memory. It implements utxo.Source.
type source struct {
	best    []utxo.Block // the best chain by height
	byHash  map[string]utxo.Block
	known   map[string]bool // blocks that were read; MayPay is exact for them
	reads   []int64         // heights of blocks in the order in which they were read
	waiting []utxo.Tx
	partial bool // the waiting transactions have partial coverage
	seen    map[string]time.Time
	buried  []string
	fault   string
	before  func(call string, height int64) error // called before each call
}

var _ utxo.Source = (*source)(nil)

func newSource(height int64) *source {
	s := &source{byHash: map[string]utxo.Block{}, known: map[string]bool{}, seen: map[string]time.Time{}}
	for range height + 1 {
		s.mineBlock("a")
	}
	return s
}

// mineBlock adds a block; branch distinguishes blocks of one height.
func (s *source) mineBlock(branch string, txs ...utxo.Tx) chain.Block {
	height := int64(len(s.best))
	b := utxo.Block{Txs: txs}
	b.Block = chain.Block{Height: height, Hash: fmt.Sprintf("%s%d", branch, height), Time: time.Unix(height*600, 0)}
	if height > 0 {
		b.Parent = s.best[height-1].Hash
	}
	s.best = append(s.best, b)
	s.byHash[b.Hash] = b
	return b.Block
}

// fork removes the blocks above a height and mines a branch up to another height.
func (s *source) fork(from, to int64, branch string) {
	s.best = s.best[:from+1]
	for int64(len(s.best)) <= to {
		s.mineBlock(branch)
	}
}

func (s *source) call(name string, height int64) error {
	if s.before == nil {
		return nil
	}
	return s.before(name, height)
}

func (s *source) Best(context.Context) (utxo.Header, error) {
	if err := s.call("Best", 0); err != nil {
		return utxo.Header{}, err
	}
	return s.best[len(s.best)-1].Header, nil
}

func (s *source) AtHeight(_ context.Context, height int64) (utxo.Header, error) {
	if err := s.call("AtHeight", height); err != nil {
		return utxo.Header{}, err
	}
	if height >= int64(len(s.best)) {
		return utxo.Header{}, utxo.ErrNoBlock
	}
	return s.best[height].Header, nil
}

func (s *source) MayPay(_ context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	if !s.known[hash] {
		return true, nil
	}
	wanted := maps.Collect(func(yield func(string, bool) bool) {
		scripts(func(script string) bool { return yield(script, true) })
	})
	return slices.ContainsFunc(s.byHash[hash].Txs, func(tx utxo.Tx) bool {
		return slices.ContainsFunc(tx.Outputs, func(out utxo.Output) bool { return wanted[out.Script] })
	}), nil
}

func (s *source) Block(_ context.Context, hash string) (utxo.Block, error) {
	b := s.byHash[hash]
	if err := s.call("Block", b.Height); err != nil {
		return utxo.Block{}, err
	}
	s.known[hash] = true
	s.reads = append(s.reads, b.Height)
	return b, nil
}

func (s *source) Waiting(context.Context, chain.Watched) (utxo.Waiting, error) {
	if err := s.call("Waiting", 0); err != nil {
		return utxo.Waiting{}, err
	}
	w := utxo.Waiting{Coverage: chain.Complete, Since: time.Unix(1, 0), Txs: s.waiting, Firm: map[string]bool{}}
	if s.partial {
		w.Coverage = chain.Partial
	}
	for _, tx := range s.waiting {
		w.Firm[tx.ID] = true
	}
	return w, nil
}

func (s *source) Seen(tx string) time.Time { return s.seen[tx] }

func (s *source) Inputs(mark uint64) (iter.Seq[string], uint64) {
	return func(func(string) bool) {}, mark
}

func (s *source) Pending(outpoint string) bool {
	return slices.ContainsFunc(s.waiting, func(tx utxo.Tx) bool { return slices.Contains(tx.Spends, outpoint) })
}

func (s *source) Buried(txs []string)   { s.buried = append(s.buried, txs...) }
func (s *source) Health() chain.Health  { return chain.Health{Fault: s.fault} }
func (s *source) Wake() <-chan struct{} { return nil }

// watch are watched scripts in the order in which they were added. It implements
// chain.Watched with marks, like the watcher.
type watch []string

func (w watch) Destination(script string) bool { return slices.Contains(w, script) }
func (w watch) Outpoint(string) bool           { return false }

func (w watch) Recorded() iter.Seq[chain.Transfer] { return func(func(chain.Transfer) bool) {} }

func (w watch) Since(mark uint64) (iter.Seq[string], uint64) {
	return slices.Values(w[min(int(mark), len(w)):]), uint64(len(w))
}

func payment(id, script string, units int64) utxo.Tx {
	return utxo.Tx{ID: id, Spends: []string{"from-" + id + ":0"}, Outputs: []utxo.Output{{Script: script, Units: units}}}
}

func newScanner(s *source) *utxo.Scanner {
	return utxo.New(coin, 100, s, time.Now)
}

func scan(t *testing.T, s *utxo.Scanner, from chain.Cursor, w watch) chain.Snapshot {
	t.Helper()
	snapshot, err := s.Scan(t.Context(), from, w)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// wantTxs fails the test if a snapshot shows other transactions. "tx@height" is in a block.
func wantTxs(t *testing.T, s chain.Snapshot, want ...string) {
	t.Helper()
	var got []string
	for _, transfer := range s.Transfers {
		text := transfer.Tx
		if transfer.Block != nil {
			text += fmt.Sprintf("@%d", transfer.Block.Height)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Fatalf("transfers (-got +want):\n%s", diff)
	}
}

func TestScan_begins_below_a_fork_deeper_than_the_cursor(t *testing.T) {
	t.Parallel()
	s := newSource(245)
	s.mineBlock("a", payment("lost", "mine", 1))
	for len(s.best) <= 250 {
		s.mineBlock("a")
	}
	scanner := newScanner(s)
	first := scan(t, scanner, chain.Cursor{}, watch{"mine"})
	wantTxs(t, first, "lost@246")
	if want := (chain.Cursor{Height: 150, Hash: "a150"}); first.Next != want || first.From != want {
		t.Fatalf("from %v to %v, want %v", first.From, first.Next, want)
	}
	s.fork(140, 144, "b")
	s.mineBlock("b", payment("new", "mine", 2))
	s.fork(145, 251, "b")
	second := scan(t, scanner, first.Next, watch{"mine"})
	wantTxs(t, second, "new@145")
	if want := (chain.Cursor{Height: 50, Hash: "a50"}); second.From != want {
		t.Errorf("from %v, want %v", second.From, want)
	}
	if second.Blocks[150] != "b150" || second.Tip.Hash != "b251" {
		t.Errorf("block 150 is %s and the tip %s", second.Blocks[150], second.Tip.Hash)
	}
	for height := second.From.Height; height <= second.Tip.Height; height++ {
		if second.Blocks[height] != s.best[height].Hash {
			t.Fatalf("block %d is %q, want %q", height, second.Blocks[height], s.best[height].Hash)
		}
	}
}

func TestScan_repeats_if_the_chain_changes(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"AtHeight 20", "Block 115", "Block 120", "Waiting 0"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			s := newSource(119)
			s.mineBlock("a", payment("back", "mine", 1))
			changed := false
			s.before = func(call string, height int64) error {
				if fmt.Sprint(call, " ", height) == moment && !changed {
					changed = true
					s.fork(117, 118, "b")
					s.mineBlock("b", payment("other", "mine", 1))
					s.mineBlock("b")
					s.mineBlock("b")
				}
				return nil
			}
			snapshot := scan(t, newScanner(s), chain.Cursor{}, watch{"mine"})
			wantTxs(t, snapshot, "other@119")
			if snapshot.Tip.Hash != "b121" {
				t.Errorf("tip %v, want b121", snapshot.Tip)
			}
		})
	}
}

func TestScan_repeats_if_the_chain_shrinks_below_the_cursor(t *testing.T) {
	t.Parallel()
	s := newSource(120)
	shrunk := false
	s.before = func(call string, height int64) error {
		if call == "AtHeight" && height == 118 && !shrunk {
			shrunk = true
			old := s.best
			s.best = s.best[:117]
			s.before = func(call string, _ int64) error {
				if call == "Best" {
					s.best = old
				}
				return nil
			}
		}
		return nil
	}
	snapshot := scan(t, newScanner(s), chain.Cursor{Height: 118, Hash: "a118"}, watch{})
	if snapshot.Tip.Hash != "a120" {
		t.Errorf("tip %v, want a120", snapshot.Tip)
	}
}

func TestScan_fails_if_the_chain_keeps_changing(t *testing.T) {
	t.Parallel()
	s := newSource(120)
	s.before = func(call string, _ int64) error {
		if call == "Waiting" {
			s.mineBlock("a")
		}
		return nil
	}
	if _, err := newScanner(s).Scan(t.Context(), chain.Cursor{}, watch{}); !errors.Is(err, chain.ErrChanged) {
		t.Errorf("Scan() = %v, want %v", err, chain.ErrChanged)
	}
}

func TestScan_fails_below_the_cursor(t *testing.T) {
	t.Parallel()
	_, err := newScanner(newSource(120)).Scan(t.Context(), chain.Cursor{Height: 121, Hash: "a121"}, watch{})
	if err == nil || !strings.Contains(err.Error(), "only at block 120") {
		t.Errorf("Scan() = %v, want an error with: only at block 120", err)
	}
}

func TestHealth_reports_the_error_of_the_last_scan(t *testing.T) {
	t.Parallel()
	s := newSource(120)
	watcher := newScanner(s)
	_, _ = watcher.Scan(t.Context(), chain.Cursor{Height: 121, Hash: "a121"}, watch{})
	want := chain.Health{Fault: "the source is only at block 120, although block 121 was already read"}
	if diff := cmp.Diff(watcher.Health(), want); diff != "" {
		t.Errorf("after a failed scan (-got +want):\n%s", diff)
	}
	scan(t, watcher, chain.Cursor{}, nil)
	if diff := cmp.Diff(watcher.Health(), chain.Health{}); diff != "" {
		t.Errorf("after a successful scan (-got +want):\n%s", diff)
	}
	s.fault = "no peers"
	_, _ = watcher.Scan(t.Context(), chain.Cursor{Height: 121, Hash: "a121"}, watch{})
	if got := watcher.Health().Fault; got != s.fault {
		t.Errorf("fault is %q, want the source's own %q", got, s.fault)
	}
}

func TestScan_returns_a_partial_snapshot_after_the_timeout(t *testing.T) {
	t.Parallel()
	s := newSource(100)
	var want []string
	for height := int64(101); height <= 400; height++ {
		var txs []utxo.Tx
		if height%50 == 0 {
			txs = append(txs, payment(fmt.Sprintf("tx%d", height), "mine", 1))
			want = append(want, fmt.Sprintf("tx%d@%d", height, height))
		}
		s.mineBlock("a", txs...)
	}
	s.waiting = []utxo.Tx{payment("waits", "mine", 1)}
	clock := time.Unix(1_800_000_000, 0)
	scanner := utxo.New(coin, 100, s, func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	})
	found := map[string]bool{}
	cursor := chain.Cursor{Height: 0, Hash: "a0"}
	var scans int
	for {
		snapshot := scan(t, scanner, cursor, watch{"mine"})
		for _, transfer := range snapshot.Transfers {
			if transfer.Block != nil {
				found[fmt.Sprintf("%s@%d", transfer.Tx, transfer.Block.Height)] = true
			}
		}
		if scans++; snapshot.Behind {
			if snapshot.Unconfirmed != chain.None || !snapshot.ViewSince.IsZero() || snapshot.Tip.Height == 400 {
				t.Fatalf("scan that is behind covers %q since %v up to %d", snapshot.Unconfirmed, snapshot.ViewSince, snapshot.Tip.Height)
			}
			if !(snapshot.Next.Height > cursor.Height) || snapshot.Next.Height != snapshot.Tip.Height-100 {
				t.Fatalf("cursor moves from %d to %d with tip %d", cursor.Height, snapshot.Next.Height, snapshot.Tip.Height)
			}
			cursor = snapshot.Next
			continue
		}
		if snapshot.Tip.Height != 400 || snapshot.Unconfirmed != chain.Complete {
			t.Errorf("last scan covers %q up to %d", snapshot.Unconfirmed, snapshot.Tip.Height)
		}
		wantTxs(t, snapshot, "tx300@300", "tx350@350", "tx400@400", "waits")
		break
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(found)), want); diff != "" {
		t.Errorf("transfers (-got +want):\n%s", diff)
	}
	if scans < 10 || len(s.reads) != 400 {
		t.Errorf("%d scans read %d blocks, want at least 10 scans and 400 blocks", scans, len(s.reads))
	}
}

func TestScan_reads_again_only_blocks_with_a_new_destination(t *testing.T) {
	t.Parallel()
	s := newSource(110)
	s.mineBlock("a", payment("one", "first", 1), payment("two", "second", 1))
	s.mineBlock("a", payment("three", "first", 1))
	s.mineBlock("a", payment("four", "third", 1))
	scanner := newScanner(s)
	cursor := scan(t, scanner, chain.Cursor{}, watch{"first"}).Next
	s.reads = nil
	wantTxs(t, scan(t, scanner, cursor, watch{"first", "second"}), "one@111", "two@111", "three@112")
	wantTxs(t, scan(t, scanner, cursor, watch{"first", "second"}), "one@111", "two@111", "three@112")
	if diff := cmp.Diff(s.reads, []int64{111}); diff != "" {
		t.Errorf("blocks read (-got +want):\n%s", diff)
	}
	wantTxs(t, scan(t, scanner, cursor, watch{"third"}), "four@113") // a new index with fewer destinations
	wantTxs(t, scan(t, scanner, cursor, watch{"third", "fourth"}), "four@113")
}

func TestScan_is_complete_after_an_error(t *testing.T) {
	t.Parallel()
	sourceError := errors.New("broken")
	s := newSource(110)
	s.mineBlock("a", payment("one", "first", 1))
	s.mineBlock("a", payment("two", "second", 1))
	s.mineBlock("a", payment("three", "first", 1))
	scanner := newScanner(s)
	fail := func(height int64) {
		s.before = func(call string, h int64) error {
			if call == "Block" && h == height {
				return sourceError
			}
			return nil
		}
	}
	fail(112)
	if _, err := scanner.Scan(t.Context(), chain.Cursor{}, watch{"first"}); !errors.Is(err, sourceError) {
		t.Fatalf("Scan() = %v, want %v", err, sourceError)
	}
	fail(0)
	s.reads = nil
	cursor := scan(t, scanner, chain.Cursor{Height: 13, Hash: "a13"}, watch{"first"}).Next
	if diff := cmp.Diff(s.reads, []int64{112, 113}); diff != "" {
		t.Errorf("blocks read after the error (-got +want):\n%s", diff)
	}
	fail(112)
	if _, err := scanner.Scan(t.Context(), cursor, watch{"first", "second"}); !errors.Is(err, sourceError) {
		t.Fatalf("Scan() = %v, want %v", err, sourceError)
	}
	fail(0)
	wantTxs(t, scan(t, scanner, cursor, watch{"first", "second"}), "one@111", "two@112", "three@113")
}

func TestScan_shows_a_transaction_once(t *testing.T) {
	t.Parallel()
	s := newSource(110)
	mined, waits, doubleSpent := payment("mined", "mine", 1), payment("waits", "mine", 2), payment("stolen", "mine", 3)
	conflict := payment("thief", "other", 3)
	conflict.Spends = doubleSpent.Spends
	s.mineBlock("a", mined, conflict)
	s.waiting = []utxo.Tx{mined, waits, doubleSpent}
	s.seen["mined"], s.seen["waits"] = time.Unix(10, 0), time.Unix(20, 0)
	snapshot := scan(t, newScanner(s), chain.Cursor{}, watch{"mine"})
	wantTxs(t, snapshot, "mined@111", "waits")
	for i, want := range []time.Time{s.seen["mined"], s.seen["waits"]} {
		if got := snapshot.Transfers[i].FirstSeen; !got.Equal(want) {
			t.Errorf("%s was seen at %v, want %v", snapshot.Transfers[i].Tx, got, want)
		}
	}
	isConflict := func(c chain.Conflict) bool {
		return c.Outpoint == doubleSpent.Spends[0] && c.Tx == "thief" && c.Block.Height == 111
	}
	if !slices.ContainsFunc(snapshot.Conflicts, isConflict) {
		t.Errorf("conflicts %+v, want one by thief", snapshot.Conflicts)
	}
}

func TestScan_does_not_show_amounts_of_zero_or_less(t *testing.T) {
	t.Parallel()
	s := newSource(110)
	s.mineBlock("a", payment("nothing", "mine", 0), payment("less", "mine", -1), payment("least", "mine", 1))
	wantTxs(t, scan(t, newScanner(s), chain.Cursor{}, watch{"mine"}), "least@111")
}

func TestScan_reports_buried_transactions(t *testing.T) {
	t.Parallel()
	s := newSource(110)
	s.mineBlock("a", payment("deep", "mine", 1))
	scanner := newScanner(s)
	cursor := scan(t, scanner, chain.Cursor{}, watch{"mine"}).Next
	s.fork(111, 211, "a")
	cursor = scan(t, scanner, cursor, watch{"mine"}).Next
	if cursor.Height != 111 || len(s.buried) > 0 {
		t.Fatalf("cursor at %d with %q buried, want 111 and none buried", cursor.Height, s.buried)
	}
	wantTxs(t, scan(t, scanner, cursor, watch{"mine"}))
	if diff := cmp.Diff(s.buried, []string{"deep"}); diff != "" {
		t.Errorf("buried (-got +want):\n%s", diff)
	}
}

// A waiting transaction is firm only under complete coverage, which the light client never has.
func TestScan_with_partial_coverage_shows_nothing_as_firm(t *testing.T) {
	t.Parallel()
	for _, partial := range []bool{false, true} {
		s := newSource(3)
		s.partial, s.waiting = partial, []utxo.Tx{{ID: "tx", Spends: []string{"in:0"}, Outputs: []utxo.Output{{Script: "watched", Units: 1000}}}}
		shown, err := utxo.New(coin, 100, s, time.Now).Scan(t.Context(), chain.Cursor{}, chaintest.Watch{"watched": true})
		if err != nil || len(shown.Transfers) != 1 || shown.Transfers[0].Firm == partial {
			t.Errorf("partial %t: got %+v, error %v, want one transfer with firm %t", partial, shown.Transfers, err, !partial)
		}
	}
}
