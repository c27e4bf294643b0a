package quorum_test

import (
	"net/http"
	"testing"
	"time"

	"chequer/internal/chain"
)

func TestScan_ignores_an_endpoint_that_lags(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	nodes := []*node{newNode(t, fake), newNode(t, fake)}
	s := openShop(t, fake, endpoints(nodes...))
	before := s.want("5")
	nodes[1].change(func(n *node) { n.lagBlocks = 3 })
	fake.pass(time.Second)
	after := s.want("5")
	if !after.Started.Equal(before.Started) || after.Tip != before.Tip {
		t.Errorf("started %s at %d, want %s at %d", after.Started, after.Tip.Height, before.Started, before.Tip.Height)
	}
}

func TestScan_does_not_begin_with_endpoints_below_its_cursor(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(200)
	lagging := func(n *node) { n.lagBlocks = 50 }
	s := openShop(t, fake, endpoints(newNode(t, fake, lagging), newNode(t, fake, lagging)))
	s.from = chain.Cursor{Height: 190, Hash: fake.blocks[190].hash}
	s.wantError("the endpoints are only at block 150, although block 190 was already read")
}

func TestScan_trusts_an_own_node_alone(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	trusted, foreign := newNode(t, fake), newNode(t, fake, behaviours["faking"].change)
	list := endpoints(trusted, foreign)
	list[0].Trusted = true
	s := openShop(t, fake, list)
	s.want("5")
	if n := len(foreign.received("eth_getLogs")); n > 0 {
		t.Errorf("other endpoint was asked %d times, want 0", n)
	}
	// Without it, others must agree; what it alone confirmed before is kept.
	trusted.change(func(n *node) { n.isDown = true })
	fake.mineBlock()
	s.wantError("must answer")
}

func TestScan_replaces_an_own_node_that_does_not_follow_the_chain(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(200)
	trusted := newNode(t, fake, func(n *node) { n.lagBlocks = 190 })
	list := endpoints(trusted, newNode(t, fake), newNode(t, fake))
	list[0].Trusted = true
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	openShop(t, fake, list).want("5")
}

func TestScan_respects_Retry_After(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	busy := newNode(t, fake)
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake), busy))
	s.want()
	busy.change(func(n *node) { n.status, n.retryAfter, n.garbage = http.StatusTooManyRequests, "90", "later" })
	fake.mineBlock()
	s.want()
	before := len(busy.received("eth_chainId"))
	busy.change(func(n *node) { n.status, n.retryAfter, n.garbage = 0, "", "" })
	fake.pass(80 * time.Second)
	fake.mineBlock()
	s.want()
	if n := len(busy.received("eth_chainId")); n != before {
		t.Errorf("asked %d times before Retry-After", n-before)
	}
	fake.pass(20 * time.Second)
	fake.mineBlock()
	s.want()
	if n := len(busy.received("eth_chainId")); n == before {
		t.Error("not asked again after Retry-After")
	}
}

func TestScan_does_not_wait_for_a_slow_endpoint(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake), newNode(t, fake, func(n *node) { n.hangs = true })))
	start := time.Now()
	s.want("5")
	if elapsed := time.Since(start); elapsed > 6*time.Second {
		t.Errorf("took %s", elapsed)
	}
	if got := s.quorum.Reports()[2].Fault; got != "answers much later than others" {
		t.Errorf("fault %q", got)
	}
}

func TestScan_follows_no_redirect(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	target := newNode(t, fake)
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake, func(n *node) { n.redirectTo = target.URL })))
	s.wantError("B: answers 307")
	if len(target.received("eth_chainId")) > 0 {
		t.Error("redirect was followed")
	}
}
