package light_test

import (
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/bitcoin/light"
)

// withWitness returns tx with a witness of the given size. The ID is unchanged: it does not cover the
// witness.
func withWitness(tx *wire.MsgTx, size int) *wire.MsgTx {
	tx = tx.Copy()
	tx.TxIn[0].Witness = wire.TxWitness{make([]byte, size)}
	return tx
}

func TestListener_requests_undelivered_transactions_from_the_next_peer(t *testing.T) {
	t.Parallel()
	tx := newTx([]int{1}, shop)
	id := tx.TxHash().String()

	t.Run("too_large_to_keep_is_requested_from_the_next_peer", func(t *testing.T) {
		t.Parallel()
		l := light.NewListener(t, 2, 4)
		for peer := range 4 {
			l.Announce(peer, tx)
		}
		// All but the last peer deliver a witness that no node relays.
		for peer := range 3 {
			if got := l.Asked(tx); got != peer {
				t.Fatalf("requested from peer %d, want %d", got, peer)
			}
			l.Deliver(peer, withWitness(tx, 450_000))
			if got := l.Undelivered(peer); got != 1 {
				t.Errorf("peer %d failed to deliver %d transactions, want 1", peer, got)
			}
		}
		l.Deliver(3, tx)
		if l.Pool.Seen(id).IsZero() {
			t.Error("payment is not seen")
		}
		if l.Undelivered(3) != 0 || l.Asked(tx) != -1 {
			t.Error("the delivered payment counts as undelivered, or the request is still open")
		}
	})

	t.Run("too_large_from_a_peer_that_was_not_asked_changes_nothing", func(t *testing.T) {
		t.Parallel()
		l := light.NewListener(t, 2, 3)
		l.Announce(0, tx)
		l.Announce(1, tx)
		l.Deliver(2, withWitness(tx, 450_000))
		if l.Asked(tx) != 0 || l.Undelivered(2) != 1 {
			t.Errorf("requested from peer %d, %d undelivered by peer 2; want peer 0 and 1", l.Asked(tx), l.Undelivered(2))
		}
		l.Deliver(0, tx)
		if l.Pool.Seen(id).IsZero() {
			t.Error("payment is not seen")
		}
	})

	t.Run("too_large_from_all_peers_is_requested_when_it_is_announced_again", func(t *testing.T) {
		t.Parallel()
		l := light.NewListener(t, 2, 3)
		for peer := range 2 {
			l.Announce(peer, tx)
		}
		for peer := range 2 {
			l.Deliver(peer, withWitness(tx, 450_000))
		}
		l.Pool.Now = l.Pool.Now.Add(time.Minute)
		l.Announce(2, tx)
		l.Deliver(2, tx)
		if l.Pool.Seen(id).IsZero() {
			t.Error("payment is not seen")
		}
	})

	t.Run("every_connected_peer_is_a_source", func(t *testing.T) {
		t.Parallel()
		l := light.NewListener(t, 2, 8)
		for peer := range 8 {
			l.Announce(peer, tx)
		}
		for peer := range 7 {
			l.Deliver(peer, withWitness(tx, 450_000))
		}
		l.Deliver(7, tx)
		if l.Pool.Seen(id).IsZero() {
			t.Error("payment is not seen")
		}
	})
}
