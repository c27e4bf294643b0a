package light_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/light"
	"chequer/internal/chain/chaintest"
)

// inventedTx returns a transaction without coins: it spends an output that does not exist, with a
// witness of the given size.
func inventedTx(n, size int, scripts ...[]byte) *wire.MsgTx {
	tx := newTx([]int{1}, scripts...)
	binary.BigEndian.PutUint32(tx.TxIn[0].PreviousOutPoint.Hash[20:], uint32(n)+1)
	tx.TxIn[0].Witness = wire.TxWitness{make([]byte, size)}
	return tx
}

// isWaiting reports whether the pool returns a transaction as waiting.
func isWaiting(p *light.Pool, watch chaintest.Watch, tx *wire.MsgTx) bool {
	txs, _ := p.Waiting(watch)
	for _, t := range txs {
		if t.ID == tx.TxHash().String() {
			return true
		}
	}
	return false
}

// expire forgets the transactions that are kept for destinations added later.
func expire(t *testing.T, p *light.Pool) {
	t.Helper()
	p.Now = p.Now.Add(3 * time.Hour)
	p.Expire(t)
}

func TestPool_limits_invented_transactions(t *testing.T) {
	t.Parallel()

	t.Run("of_one_destination_are_limited_in_bytes", func(t *testing.T) {
		t.Parallel()
		p := light.NewPool(t, 2)
		p.Waiting(watch)
		honest := newTx([]int{1}, other, shop)
		for i := range 60 {
			if i == 30 {
				p.Announce(honest, 3, 4)
			}
			p.Announce(inventedTx(i, 390_000, shop), 1, 2)
		}
		expire(t, p)
		if count, bytes := p.Relevant(); count > 3 || bytes > 1<<20 {
			t.Errorf("%d transactions of %d bytes kept, want at most 3 of 1 MiB", count, bytes)
		}
		if stored := p.Stored(t); stored > 3 {
			t.Errorf("%d transactions stored, want at most 3", stored)
		}
		if !isWaiting(p, watch, honest) {
			t.Error("small payment is forgotten")
		}
		p.Restart(t)
		if count, bytes := p.Relevant(); count > 3 || bytes > 1<<20 || !isWaiting(p, watch, honest) {
			t.Errorf("after a restart %d transactions of %d bytes kept, want the small payment and at most 3 of 1 MiB", count, bytes)
		}
	})

	t.Run("of_one_destination_are_limited_in_number", func(t *testing.T) {
		t.Parallel()
		p := light.NewPool(t, 2)
		p.Waiting(watch)
		honest := newTx([]int{1}, other, shop)
		p.Announce(honest, 3, 4)
		for i := range 1_000 {
			p.Announce(inventedTx(i, 10, shop), 1, 2)
		}
		expire(t, p)
		if count, _ := p.Relevant(); count != 200 {
			t.Errorf("%d transactions kept, want 200", count)
		}
		if !isWaiting(p, watch, honest) {
			t.Error("payment that was seen first is forgotten")
		}
	})

	t.Run("of_a_destination_that_is_watched_later_are_limited", func(t *testing.T) {
		t.Parallel()
		p := light.NewPool(t, 2)
		for i := range 1_000 {
			p.Announce(inventedTx(i, 10, shop), 1, 2)
		}
		p.Waiting(watch)
		if count, _ := p.Relevant(); count != 200 {
			t.Errorf("%d transactions kept, want 200", count)
		}
	})

	t.Run("that_spend_the_outputs_of_a_payment_are_limited", func(t *testing.T) {
		t.Parallel()
		p := light.NewPool(t, 2)
		p.Waiting(watch)
		p.Announce(newTx([]int{1, 2, 3, 4}, shop), 1, 2)
		for i := range 90 {
			conflict := newTx([]int{1 + i%4}, other, fmt.Append(nil, i))
			p.Announce(withWitness(conflict, 390_000), 1, 2)
		}
		expire(t, p)
		if _, bytes := p.Relevant(); bytes > 1<<20 {
			t.Errorf("%d bytes kept, want at most 1 MiB", bytes)
		}
	})

	t.Run("of_many_destinations_are_limited_in_total", func(t *testing.T) {
		t.Parallel()
		pool := light.NewPool(t, 2)
		honest := newTx([]int{1}, other, shop)
		everyScript := chaintest.Watch{hex.EncodeToString(shop): true}
		var scripts [][]byte
		for i := range 100 {
			scripts = append(scripts, script(fmt.Sprint("invoice ", i)))
			everyScript[hex.EncodeToString(scripts[i])] = true
		}
		pool.Waiting(everyScript)
		pool.SetMaxRelevant(500)
		pool.Announce(honest, 3, 4)
		for i := range 1_000 {
			pool.Announce(inventedTx(i, 10, scripts[i%100]), 1, 2)
		}
		if count, _ := pool.Relevant(); count > 500 || count < 450 {
			t.Errorf("%d transactions kept, want 450 to 500", count)
		}
		for i := range 200 {
			pool.Announce(inventedTx(20_000+i, 390_000, scripts[i%100]), 1, 2)
		}
		if _, bytes := pool.Relevant(); bytes > 32<<20 {
			t.Errorf("%d bytes kept, want at most 32 MiB", bytes)
		}
		if !isWaiting(pool, everyScript, honest) {
			t.Error("payment to a destination with one transaction is forgotten")
		}
		expire(t, pool)
		pool.Restart(t)
		if count, bytes := pool.Relevant(); count > 500 || bytes > 32<<20 {
			t.Errorf("after a restart %d transactions of %d bytes kept, want at most 500 of 32 MiB", count, bytes)
		}
	})

	t.Run("without_a_block_are_forgotten_first", func(t *testing.T) {
		t.Parallel()
		p := light.NewPool(t, 2)
		p.Waiting(watch)
		for i := range 199 {
			p.Announce(inventedTx(i, 10, shop), 1, 2)
		}
		mined := inventedTx(1_000, 1_000, shop)
		p.Announce(mined, 1, 2)
		p.Block(bitcoin.NewTx(mined))
		for i := range 100 {
			p.Announce(inventedTx(2_000+i, 10, shop), 1, 2)
		}
		for i := range 10 {
			p.Announce(inventedTx(3_000+i, 390_000, shop), 1, 2)
		}
		if !isWaiting(p, watch, mined) {
			t.Error("transaction in a block is forgotten")
		}
	})
}
