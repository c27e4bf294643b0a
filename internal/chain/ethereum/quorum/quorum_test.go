package quorum_test

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum/quorum"
)

// behaviours are faults of one node.
var behaviours = map[string]struct {
	change  func(*node)
	isFalse bool // returns wrong answers, not only errors
}{
	"honest":                   {change: func(*node) {}},
	"dead":                     {change: func(n *node) { n.isDown = true }},
	"lagging":                  {change: func(n *node) { n.lagBlocks = 4 }},
	"wrong chain":              {change: func(n *node) { n.chain = 137 }},
	"rate limit":               {change: func(n *node) { n.status, n.retryAfter, n.garbage = http.StatusTooManyRequests, "30", "slow down" }},
	"garbage":                  {change: func(n *node) { n.garbage = "<html>hello</html>" }},
	"server error":             {change: func(n *node) { n.status, n.garbage = http.StatusBadGateway, "bad gateway" }},
	"no logs":                  {change: func(n *node) { n.failingMethod = "eth_getLogs" }},
	"no receipts":              {change: func(n *node) { n.failingMethod = "eth_getTransactionReceipt" }},
	"no tags":                  {change: func(n *node) { n.noTags = true }},
	"truncating":               {change: func(n *node) { n.maxLogs = 1 }, isFalse: true},
	"hiding logs":              {change: func(n *node) { n.hidesLogs = true }, isFalse: true},
	"hiding logs and receipts": {change: func(n *node) { n.hidesLogs, n.deniesReceipts = true, true }, isFalse: true},
	"faking":                   {change: func(n *node) { n.fakeAt, n.fakeTransfers = 20, []transfer{fakeTransfer} }, isFalse: true},
	"forging":                  {change: func(n *node) { n.fakeAt, n.fakeTransfers, n.forge = 20, []transfer{fakeTransfer}, true }, isFalse: true},
}

var fakeTransfer = transfer{contract: token.Contract, to: ourAddress, units: 9_000_000, tx: hashOf("fake")}

// One fault of three is tolerated. With two, no fake transfer is shown and no real transfer is taken
// for absent, unless two endpoints give the same wrong answer.
func TestScan_needs_two_operators(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(behaviours))
	for i, second := range names {
		for _, third := range names[i:] {
			t.Run(second+" and "+third, func(t *testing.T) {
				t.Parallel()
				fake := newFakeChain(19)
				b := fake.mineBlock(tokenPayment(otherAddress, 1), tokenPayment(ourAddress, 5_000_000), tokenPayment(otherAddress, 2))
				fake.mineBlock()
				s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake, behaviours[second].change), newNode(t, fake, behaviours[third].change)))
				snapshot, err := s.scan()
				if err != nil {
					if second == "honest" || third == "honest" {
						t.Errorf("scan fails with one faulty endpoint: %v", err)
					}
					return
				}
				if behaviours[second].isFalse && behaviours[third].isFalse {
					return
				}
				if snapshot.Tip.Height < b.height {
					s.compare(snapshot, nil)
					return
				}
				s.compare(snapshot, []string{"5"})
			})
		}
	}
}

func TestScan_names_the_faulty_endpoint(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	nodes := []*node{newNode(t, fake), newNode(t, fake), newNode(t, fake, func(n *node) { n.chain = 137 })}
	s := openShop(t, fake, endpoints(nodes...))
	s.want("5")
	if h := s.scanner.Health(); h.Fault != "" || h.Height != 21 || h.Source != "2 of 3 endpoints" {
		t.Errorf("health is %+v, want height 21 from 2 of 3 endpoints without a fault", h)
	}
	if got := s.quorum.Reports()[2]; got.Fault != "it answers for chain 137, not 31337" || got.Name != "C" {
		t.Errorf("report is %+v, want the wrong chain of C", got)
	}
	nodes[1].change(func(n *node) { n.isDown = true })
	fake.mineBlock()
	s.wantError("endpoints of at least 2 operators must answer", "C: it answers for chain 137", "B: ")
	if h := s.scanner.Health(); !strings.Contains(h.Fault, "must answer") {
		t.Errorf("health is %+v, want the fault that too few endpoints answer", h)
	}
	nodes[1].change(func(n *node) { n.isDown = false })
	fake.pass(2 * time.Minute)
	fake.mineBlock()
	s.want("5")
}

func TestScan_reports_an_endpoint_that_others_deny(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	var log bytes.Buffer
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake, behaviours["faking"].change), newNode(t, fake)), func(c *quorum.Config) {
		c.Network, c.Log = "base", slog.New(slog.NewTextHandler(&log, nil))
	})
	s.want()
	if got := log.String(); strings.Count(got, "others deny") != 1 || !strings.Contains(got, "network=base endpoint=B tx="+fakeTransfer.tx) {
		t.Errorf("log is %q, want one line about the transaction that B denies", got)
	}
	if got := s.quorum.Reports()[1].Denied; !strings.Contains(got, fakeTransfer.tx) {
		t.Errorf("denied is %q, want the forged transaction", got)
	}
}

func TestScan_waits_while_two_confirm_and_two_deny(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	faking := behaviours["faking"].change
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake, faking), newNode(t, fake, faking), newNode(t, fake)))
	for range 2 {
		snapshot, err := s.scan()
		if err == nil && (snapshot.Tip.Height >= 20 || !snapshot.Behind) {
			t.Errorf("scan reached block %d with %d transfers, want a block below 20", snapshot.Tip.Height, len(snapshot.Transfers))
		}
	}
}

func TestScan_waits_for_an_unresolved_transfer(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(19)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	fake.mineBlock()
	// B shows nothing and cannot be asked for receipts, so the transfer is neither confirmed nor denied.
	b := newNode(t, fake, func(n *node) { n.hidesLogs, n.failingMethod = true, "eth_getTransactionReceipt" })
	s := openShop(t, fake, endpoints(newNode(t, fake), b))
	for range 3 {
		snapshot, err := s.scan()
		if err == nil && (snapshot.Tip.Height >= 20 || !snapshot.Behind) {
			t.Fatalf("scan reached block %d, want a block below 20", snapshot.Tip.Height)
		}
		fake.pass(time.Minute)
	}
	b.change(func(n *node) { n.failingMethod = "" })
	s.want("5")
}

func TestScan_reads_final_blocks_again(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(100)
	fake.final = 90
	nodes := []*node{newNode(t, fake), newNode(t, fake)}
	s := openShop(t, fake, endpoints(nodes...))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hidesLogs = true }) // both lack a block's logs for a while
	}
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	for range 200 {
		fake.mineBlock()
	}
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hidesLogs = false })
	}
	snapshot := s.want()
	if snapshot.Next.Height > 90 {
		t.Errorf("cursor is at %d, above a block that was not read since it became final", snapshot.Next.Height)
	}
	fake.mu.Lock()
	fake.final = 290
	fake.mu.Unlock()
	snapshot = s.want("5")
	if snapshot.Next.Height < 200 {
		t.Errorf("cursor is at %d, want at least 200", snapshot.Next.Height)
	}
}

func TestScan_reads_new_blocks_again(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	nodes := []*node{newNode(t, fake), newNode(t, fake)}
	s := openShop(t, fake, endpoints(nodes...))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hidesLogs = true }) // they have the block, but not yet its logs
	}
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hidesLogs = false })
	}
	for range 4 {
		fake.mineBlock()
	}
	s.want("5")
}

func TestScan_follows_a_silent_reorganisation(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	paid := fake.mineBlock(tokenPayment(ourAddress, 5_000_000), tokenPayment(otherAddress, 1))
	fake.mineBlock()
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake), newNode(t, fake)))
	before := s.want("5")
	fake.reorganise(2)
	fake.mineBlock()
	fake.mineBlock()
	fake.mineBlock()
	after := s.want()
	if after.Blocks[paid.height] == paid.hash || after.From.Height >= paid.height {
		t.Errorf("block %d is still %s in a scan from %d, want it removed", paid.height, paid.hash, after.From.Height)
	}
	// The same transaction is mined again, with another log index.
	remined := paid.transfers[0]
	fake.mineBlock(tokenPayment(otherAddress, 7), remined)
	last := s.want("5")
	if last.Transfers[0].ID == before.Transfers[0].ID || last.Transfers[0].Tx != before.Transfers[0].Tx {
		t.Errorf("transfer %s after %s", last.Transfers[0].ID, before.Transfers[0].ID)
	}
}

func TestScan_begins_below_a_fork_under_its_cursor(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(200)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake)))
	s.from = s.want("5").Tip.Cursor()
	fake.reorganise(3)
	for range 5 {
		fake.mineBlock()
	}
	s = openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake))) // a restart
	s.from = chain.Cursor{Height: 201, Hash: hashOf("departed")}
	if snapshot := s.want(); snapshot.From.Height >= 198 {
		t.Errorf("scan begins at %d, want below 198", snapshot.From.Height)
	}
}

func TestScan_fails_while_the_chain_does_not_grow(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake)))
	first := s.want()
	fake.pass(4 * time.Minute)
	if got := s.want().Started.Sub(first.Tip.Time); got != time.Minute {
		t.Errorf("scanned time is %s after the newest block, want 1m0s", got)
	}
	fake.pass(6 * time.Minute)
	s.wantError("block 20, the newest, is 10m0s old")
}

func TestScan_catches_up_in_steps_from_its_cursor(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(50)
	s := openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake)))
	s.from = s.want().Tip.Cursor()
	fake.mineBlock(tokenPayment(ourAddress, 1_000_000))
	for range 500 {
		fake.mineBlock()
	}
	fake.mineBlock(tokenPayment(ourAddress, 2_000_000))
	fake.final = 480
	s = openShop(t, fake, endpoints(newNode(t, fake), newNode(t, fake))) // after downtime
	s.from = chain.Cursor{Height: 50, Hash: fake.blocks[50].hash}
	snapshot := s.want("1", "2")
	if snapshot.From.Height != 50 || snapshot.Next.Height <= 50 || snapshot.Next.Height > 552-64 {
		t.Errorf("from %d to %d, next %d", snapshot.From.Height, snapshot.Tip.Height, snapshot.Next.Height)
	}
}

func TestBest_is_cached(t *testing.T) {
	t.Parallel()
	fake := newFakeChain(20)
	n := newNode(t, fake)
	s := openShop(t, fake, endpoints(n, newNode(t, fake)), func(c *quorum.Config) { c.Poll = 4 * time.Second })
	first := s.want()
	fake.pass(3 * time.Second)
	if second := s.want(); !second.Started.Equal(first.Started) {
		t.Errorf("started at %s, want the time of the request: %s", second.Started, first.Started)
	}
	if requests := len(n.received("eth_chainId")); requests != 1 {
		t.Errorf("asked %d times, want 1", requests)
	}
	fake.pass(time.Second)
	s.want()
	if requests := len(n.received("eth_chainId")); requests != 2 {
		t.Errorf("asked %d times, want 2", requests)
	}
}

func TestNew_requires_two_operators_or_a_trusted_node(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		endpoints []quorum.Endpoint
		warns     bool
		fails     bool
	}{
		"no endpoint":                          {fails: true},
		"one endpoint":                         {[]quorum.Endpoint{{URL: "https://rpc.example.org"}}, false, true},
		"two of one operator":                  {[]quorum.Endpoint{{URL: "https://a.example.org"}, {URL: "https://b.example.org"}}, false, true},
		"two of one under co.uk":               {[]quorum.Endpoint{{URL: "https://a.example.co.uk"}, {URL: "https://b.example.co.uk"}}, false, true},
		"two on one machine":                   {[]quorum.Endpoint{{URL: "http://127.0.0.1:1"}, {URL: "http://127.0.0.1:2"}}, false, true},
		"two operators":                        {[]quorum.Endpoint{{URL: "https://a.example.org"}, {URL: "https://example.co.uk"}}, true, false},
		"two named operators":                  {[]quorum.Endpoint{{URL: "https://a.example.org", Operator: "a"}, {URL: "https://b.example.org", Operator: "b"}}, true, false},
		"three operators":                      {[]quorum.Endpoint{{URL: "https://a.org"}, {URL: "https://b.org"}, {URL: "https://c.org"}}, false, false},
		"one trusted node":                     {[]quorum.Endpoint{{URL: "http://127.0.0.1:1", Trusted: true}}, false, false},
		"a trusted node and a public endpoint": {[]quorum.Endpoint{{URL: "http://127.0.0.1:1", Trusted: true}, {URL: "https://a.org"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := quorum.New(quorum.Config{Endpoints: test.endpoints, Now: time.Now})
			if (err != nil) != test.fails {
				t.Fatalf("error %v, want an error: %t", err, test.fails)
			}
			if err == nil && (q.RedundancyWarning() != "") != test.warns {
				t.Errorf("RedundancyWarning() = %q, want a warning: %t", q.RedundancyWarning(), test.warns)
			}
		})
	}
}

// An endpoint can send any answer: none is trusted, and none stops a scan.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `{}`, `[null]`, `[{"id":1,"result":null}]`, `{"id":null,"error":{"code":-32000,"message":"x"}}`,
		`[{"id":1,"result":"0x7a69"},{"id":2,"result":{"number":"0x7fffffffffffffff","hash":"0x","parentHash":"0x","timestamp":"0x0"}},{"id":3,"result":[]}]`,
		`[{"id":1,"result":"0x7a69"},{"id":2,"result":{"number":"0x5","hash":"0x1111111111111111111111111111111111111111111111111111111111111111","parentHash":"0x1111111111111111111111111111111111111111111111111111111111111111","timestamp":"0x6"}},{"id":3,"result":{}}]`,
		`[{"id":9999,"result":1},{"id":-1,"result":1}]`, `{"id":1,"result":{"status":"0x1","logs":[{"topics":["0x"]}]}}`,
	} {
		f.Add(seed)
	}
	fake := newFakeChain(20)
	fake.mineBlock(tokenPayment(ourAddress, 5_000_000))
	honest := []*node{{fakeChain: fake, chain: chainID}, {fakeChain: fake, chain: chainID}}
	bad := &node{fakeChain: fake, chain: chainID}
	for _, n := range append(honest, bad) {
		n.Server = httptest.NewServer(n)
		f.Cleanup(n.Close)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bad.change(func(n *node) { n.garbage = text + " " })
		openShop(t, fake, endpoints(honest[0], bad, honest[1])).want("5")
	})
}
