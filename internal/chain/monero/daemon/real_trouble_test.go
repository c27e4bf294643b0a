package daemon_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/monero/daemon"
	"chequer/internal/chain/monero/monerotest"
	"chequer/internal/monero"
)

// TestSource_of_a_real_daemon_in_trouble scans while the daemon is down, after restarts, and while its pool changes.
func TestSource_of_a_real_daemon_in_trouble(t *testing.T) {
	c := startChain(t, 6, 0.5e12)
	send := func(t *testing.T, index uint32) string {
		t.Helper()
		return c.submit(t, c.prepare(t, c.payer.Wallet, c.payer.Coin(t), 0, []monerotest.To{{Address: c.addressOf(t, index), Amount: 1e9}}))
	}
	mined := send(t, 1)
	c.Mine(t, mined)
	waits := send(t, 2)
	before := c.scanAll(t, chain.Cursor{})
	want := append(c.scanned(before, true), c.scanned(before, false)...)
	if len(want) != 2 || want[0].Tx != mined || want[1].Tx != waits {
		t.Fatalf("payments %+v, want %s in a block and %s in the pool", want, mined, waits)
	}
	t.Run("stopped", func(t *testing.T) { checkStopped(t, c, before, want, c.Stop) })
	t.Run("killed", func(t *testing.T) { checkStopped(t, c, before, want, func(testing.TB) { c.Kill() }) })
	t.Run("restarted between two scans", func(t *testing.T) {
		started := time.Now()
		c.Restart(t)
		if s := c.scanAll(t, before.From); s.ViewSince.Before(started) {
			t.Errorf("view since %s, want since the restart at %s", s.ViewSince, started)
		}
	})
	t.Run("restart of the program", func(t *testing.T) {
		other := c.forkOf(t, c.URL)
		if diff := gocmp.Diff(before.Transfers, other.scanAll(t, chain.Cursor{}).Transfers, ignoreSightingsInBlocks); diff != "" {
			t.Errorf("transfers (-before +after):\n%s", diff)
		}
	})
	t.Run("restricted", func(t *testing.T) {
		started := time.Now()
		s := c.forkOf(t, c.Restricted).scanAll(t, chain.Cursor{})
		if diff := gocmp.Diff(want, append(c.scanned(s, true), c.scanned(s, false)...)); diff != "" || s.Unconfirmed != chain.Partial {
			t.Errorf("coverage %s, payments (-want +got):\n%s", s.Unconfirmed, diff)
		}
		for _, transfer := range s.Transfers {
			if transfer.Block == nil && (transfer.Firm || transfer.FirstSeen.Before(started)) {
				t.Errorf("transfer %+v, want one that is not firm and was seen now", transfer)
			}
		}
	})
	t.Run("contested", func(t *testing.T) {
		rival := c.prepare(t, c.payer.Wallet, c.sent[waits].coin, 0, []monerotest.To{{Address: c.Miner.Address, Amount: 1e9}})
		if reason := c.Submit(t, c.sent[rival].Hex); reason != "double spend" {
			t.Fatalf("Submit() of a double spend = %q", reason)
		}
		s := c.scanAll(t, chain.Cursor{})
		if diff := gocmp.Diff(want, append(c.scanned(s, true), c.scanned(s, false)...)); diff != "" {
			t.Errorf("payments (-want +got):\n%s", diff)
		}
		for _, transfer := range s.Transfers {
			if transfer.Firm {
				t.Errorf("transfer %+v is firm", transfer)
			}
		}
		c.FlushPool(t, waits)
		if got := c.scanned(c.scanAll(t, chain.Cursor{}), false); len(got) > 0 {
			t.Errorf("payments %+v in the pool after it was emptied", got)
		}
	})
	t.Run("not relayed", func(t *testing.T) {
		hash := c.prepare(t, c.payer.Wallet, c.payer.Coin(t), 0, []monerotest.To{{Address: c.addressOf(t, 3), Amount: 1e9}})
		c.Get(t, "/send_raw_transaction", map[string]any{"tx_as_hex": c.sent[hash].Hex, "do_not_relay": true}, nil)
		inPool := func() chain.Transfer {
			t.Helper()
			for _, transfer := range c.scanAll(t, chain.Cursor{}).Transfers {
				if transfer.Tx == hash && transfer.Block == nil {
					return transfer
				}
			}
			t.Fatal("the transaction is not shown")
			return chain.Transfer{}
		}
		if inPool().Firm {
			t.Error("a transaction that is not relayed is firm")
		}
		c.Call(t, "relay_tx", map[string]any{"txids": []string{hash}}, nil)
		if !inPool().Firm {
			t.Error("the transaction is not firm after it was relayed")
		}
	})
	t.Run("another network", func(t *testing.T) {
		mainnet := realClient(t, c.URL, func(c *daemon.Config) { c.Network = daemon.Mainnet })
		source := daemon.NewSource(mainnet, func(context.Context) ([]*monero.Wallet, error) { return nil, nil }, time.Now)
		if _, err := source.Best(t.Context()); err == nil || !strings.Contains(source.Health().Fault, "the daemon is on fakechain, want mainnet") {
			t.Errorf("Best() = %v with the fault %q", err, source.Health().Fault)
		}
	})
}

// ignoreSightingsInBlocks ignores when a transaction in a block was seen in the pool, which a daemon does not show.
var ignoreSightingsInBlocks = gocmp.FilterPath(func(p gocmp.Path) bool { return p.Last().String() == ".FirstSeen" },
	gocmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) || a.IsZero() || b.IsZero() }))

// forkOf is fork with the pool as it is.
func (c *realChain) forkOf(t *testing.T, url string) *realChain {
	t.Helper()
	other := *c
	other.scanner = c.newScanner(t, url)
	return &other
}

// checkStopped stops the daemon, and starts it again. It keeps its chain and its pool.
func checkStopped(t *testing.T, c *realChain, before chain.Snapshot, want []paid, stop func(testing.TB)) {
	t.Helper()
	stop(t)
	if _, err := c.scanner.Scan(t.Context(), before.Next, chaintest.Watch{}); err == nil || !strings.Contains(c.scanner.Health().Fault, "connection refused") {
		t.Fatalf("Scan() = %v with the fault %q while the daemon is down", err, c.scanner.Health().Fault)
	}
	started := time.Now()
	c.Launch(t)
	s := c.scanAll(t, before.From)
	if fault := c.scanner.Health().Fault; fault != "" {
		t.Errorf("fault %q after the restart", fault)
	}
	if diff := gocmp.Diff(want, append(c.scanned(s, true), c.scanned(s, false)...)); diff != "" {
		t.Errorf("payments after the restart (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(before.Transfers, s.Transfers); diff != "" {
		t.Errorf("transfers (-before +after):\n%s", diff)
	}
	if s.Unconfirmed != chain.Complete || s.ViewSince.Before(started) || !before.ViewSince.Before(started) {
		t.Errorf("coverage %s since %s, was since %s, want a view since the restart at %s", s.Unconfirmed, s.ViewSince, before.ViewSince, started)
	}
}

// TestSource_of_a_real_daemon_without_its_blocks reads from daemons that lack blocks.
func TestSource_of_a_real_daemon_without_its_blocks(t *testing.T) {
	t.Run("stagenet", func(t *testing.T) {
		n := monerotest.Start(t, monerotest.Stagenet())
		stagenet := func(c *daemon.Config) { c.Network = daemon.Stagenet }
		if _, tip, err := realClient(t, n.URL, stagenet).Tip(t.Context()); tip.Hash == "" || !isError[*daemon.OldTipError](err) {
			t.Errorf("Tip() = %+v, %v, want the first block and an error about its age", tip, err)
		}
		if _, _, err := realClient(t, n.URL).Tip(t.Context()); !isError[*daemon.NetworkError](err) || !strings.Contains(err.Error(), "the daemon is on stagenet, want fakechain") {
			t.Errorf("Tip() = %v, want an error about the network", err)
		}
	})
	t.Run("synchronizing", func(t *testing.T) {
		complete, behind := monerotest.Start(t), monerotest.Start(t, monerotest.Bare())
		height := complete.Height(t)
		complete.Connect(t, behind)
		source := daemon.NewSource(realClient(t, behind.URL), func(context.Context) ([]*monero.Wallet, error) { return nil, nil }, time.Now)
		if best, err := source.Best(t.Context()); err != nil || best.Height != 0 {
			t.Fatalf("Best() = %+v, %v before the daemon has peers", best, err)
		}
		behind.Connect(t, complete)
		hasTarget, progress := false, ""
		for deadline := time.Now().Add(3 * time.Minute); ; {
			best, err := source.Best(t.Context())
			if lag, isBehind := errors.AsType[*daemon.BehindError](err); isBehind {
				if hasTarget = hasTarget || lag.Target == height && lag.Height < height; hasTarget {
					progress = source.Health().Progress
				}
				if time.Now().After(deadline) {
					t.Fatalf("Best() = %v after 3 minutes", err)
				}
				continue
			}
			if err == nil && best.Height == height {
				break
			}
			if err != nil || best.Height > 0 || time.Now().After(deadline) {
				t.Fatalf("Best() = %+v, %v, want block %d, or an error about missing blocks", best, err, height)
			}
		}
		if !hasTarget || !strings.Contains(progress, "blocks to go") {
			t.Errorf("no error named the block %d of the peers; progress %q", height, progress)
		}
	})
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
