package light_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/bitcoin/light"
)

func TestFetches_ask_the_next_peer_after_a_timeout(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	f, id := light.NewFetches(), chainhash.Hash{1}
	if !f.AddSource(id, 1, now) || f.AddSource(id, 2, now) || f.AddSource(id, 3, now) {
		t.Error("transaction is not requested from the first peer only")
	}
	if overdue := f.Overdue(now.Add(9 * time.Second)); len(overdue) != 0 {
		t.Errorf("overdue after 9 s: %v, want none", overdue)
	}
	now = now.Add(10 * time.Second)
	if diff := cmp.Diff(map[int32][]chainhash.Hash{1: {id}}, f.Overdue(now)); diff != "" {
		t.Errorf("overdue (-want +got):\n%s", diff)
	}
	if next, ok := f.NextPeer(id, 1, now); next != 2 || !ok {
		t.Errorf("next is %d, %t, want 2", next, ok)
	}
	if _, ok := f.NextPeer(id, 1, now); ok {
		t.Error("peer that was not asked can refuse")
	}
	if requested := f.RemovePeer(3); len(requested) != 0 {
		t.Errorf("requested from peer 3: %v, want none", requested)
	}
	if diff := cmp.Diff([]chainhash.Hash{id}, f.RemovePeer(2)); diff != "" {
		t.Errorf("requested from peer 2 (-want +got):\n%s", diff)
	}
	if _, ok := f.NextPeer(id, 2, now); ok || f.Remove(id) || f.Len() != 0 {
		t.Error("fetch without a source is not deleted")
	}
	if !f.AddSource(id, 4, now) || !f.Remove(id) || f.Len() != 0 {
		t.Error("new announcement does not start a new fetch")
	}
}

func TestFetches_are_limited(t *testing.T) {
	t.Parallel()
	f := light.NewFetches()
	for i := range 100_000 {
		f.AddSource(chainhash.HashH(fmt.Append(nil, i)), 1, time.Time{})
	}
	if f.Len() > 5_001 {
		t.Errorf("%d fetches and peers, want at most 5001", f.Len())
	}
	if !f.AddSource(chainhash.HashH([]byte("another's")), 2, time.Time{}) {
		t.Error("another peer is not asked after the first reached its limit")
	}
}
