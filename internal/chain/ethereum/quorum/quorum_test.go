package quorum_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/keys"
)

// shop watches the fake chain through some nodes.
type shop struct {
	*testing.T
	world   *world
	quorum  *quorum.Quorum
	scanner *ethereum.Scanner
	watch   chaintest.Watch
	from    chain.Cursor
}

// open watches through the given endpoints.
func open(t *testing.T, w *world, endpoints []quorum.Endpoint, change ...func(*quorum.Config)) *shop {
	t.Helper()
	config := quorum.Config{ChainID: chainID, Tags: true, Endpoints: endpoints, Now: w.Now, Chance: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&config)
	}
	q, err := quorum.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &shop{
		T: t, world: w, quorum: q, scanner: ethereum.Watch(ethereum.New(params()), q, w.Now), watch: chaintest.Watch{ourAddress: true},
	}
}

func endpoints(nodes ...*node) []quorum.Endpoint {
	var list []quorum.Endpoint
	for i, n := range nodes {
		list = append(list, quorum.Endpoint{URL: n.URL + "/v3/topsecretkey", Operator: string(rune('A' + i))})
	}
	return list
}

func (s *shop) scan() (chain.Snapshot, error) {
	snapshot, err := s.scanner.Scan(s.Context(), s.from, s.watch)
	if err != nil && strings.Contains(err.Error(), "topsecret") {
		s.Errorf("error contains a key: %v", err)
	}
	return snapshot, err
}

// want scans and compares the amounts of the transfers.
func (s *shop) want(amounts ...string) chain.Snapshot {
	s.Helper()
	snapshot, err := s.scan()
	if err != nil {
		s.Fatalf("scan: %v", err)
	}
	s.compare(snapshot, amounts)
	return snapshot
}

func (s *shop) compare(snapshot chain.Snapshot, amounts []string) {
	s.Helper()
	got := []string{}
	for _, t := range snapshot.Transfers {
		got = append(got, t.Amount.String())
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, append([]string{}, amounts...)); diff != "" {
		s.Errorf("amounts (-got +want):\n%s", diff)
	}
}

// wantError scans and checks that the error contains words.
func (s *shop) wantError(words ...string) {
	s.Helper()
	_, err := s.scan()
	if err == nil {
		s.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.Errorf("error %q does not contain %q", err, w)
		}
	}
}

// behaviours are faults of one node.
var behaviours = map[string]struct {
	change func(*node)
	lies   bool // gives wrong answers, not only none
}{
	"honest":                   {change: func(*node) {}},
	"dead":                     {change: func(n *node) { n.dead = true }},
	"lagging":                  {change: func(n *node) { n.lag = 4 }},
	"wrong chain":              {change: func(n *node) { n.chain = 137 }},
	"rate limit":               {change: func(n *node) { n.status, n.retry, n.garbage = http.StatusTooManyRequests, "30", "slow down" }},
	"garbage":                  {change: func(n *node) { n.garbage = "<html>hello</html>" }},
	"server error":             {change: func(n *node) { n.status, n.garbage = http.StatusBadGateway, "bad gateway" }},
	"no logs":                  {change: func(n *node) { n.fails = "eth_getLogs" }},
	"no receipts":              {change: func(n *node) { n.fails = "eth_getTransactionReceipt" }},
	"no tags":                  {change: func(n *node) { n.noTags = true }},
	"truncating":               {change: func(n *node) { n.cut = 1 }, lies: true},
	"hiding logs":              {change: func(n *node) { n.hide = true }, lies: true},
	"hiding logs and receipts": {change: func(n *node) { n.hide, n.deny = true, true }, lies: true},
	"faking":                   {change: func(n *node) { n.fakeAt, n.fake = 20, []transfer{fake} }, lies: true},
	"forging":                  {change: func(n *node) { n.fakeAt, n.fake, n.forge = 20, []transfer{fake}, true }, lies: true},
}

var fake = transfer{contract: token.Contract, to: ourAddress, units: 9_000_000, tx: hashOf("fake")}

// One fault of three is tolerated. With two, no fake transfer is shown and no real one is taken
// for absent, unless two endpoints tell the same lie.
func TestScan_needs_two_operators(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(behaviours))
	for i, second := range names {
		for _, third := range names[i:] {
			t.Run(second+" and "+third, func(t *testing.T) {
				t.Parallel()
				w := newWorld(19)
				b := w.mine(pays(otherAddress, 1), pays(ourAddress, 5_000_000), pays(otherAddress, 2))
				w.mine()
				s := open(t, w, endpoints(newNode(t, w), newNode(t, w, behaviours[second].change), newNode(t, w, behaviours[third].change)))
				snapshot, err := s.scan()
				if err != nil {
					if second == "honest" || third == "honest" {
						t.Errorf("scan fails with one faulty endpoint: %v", err)
					}
					return
				}
				if behaviours[second].lies && behaviours[third].lies {
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
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	nodes := []*node{newNode(t, w), newNode(t, w), newNode(t, w, func(n *node) { n.chain = 137 })}
	s := open(t, w, endpoints(nodes...))
	s.want("5")
	if h := s.scanner.Health(); h.Fault != "" || h.Height != 21 || h.Source != "2 of 3 endpoints" {
		t.Errorf("health is %+v", h)
	}
	if got := s.quorum.Reports()[2]; got.Fault != "it answers for chain 137, not 31337" || got.Name != "C" {
		t.Errorf("report is %+v", got)
	}
	nodes[1].change(func(n *node) { n.dead = true })
	w.mine()
	s.wantError("endpoints of at least 2 operators must answer", "C: it answers for chain 137", "B: ")
	if h := s.scanner.Health(); !strings.Contains(h.Fault, "must answer") {
		t.Errorf("health is %+v", h)
	}
	nodes[1].change(func(n *node) { n.dead = false })
	w.pass(2 * time.Minute)
	w.mine()
	s.want("5")
}

func TestScan_reports_an_endpoint_that_others_deny(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	var log bytes.Buffer
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w, behaviours["faking"].change), newNode(t, w)), func(c *quorum.Config) {
		c.Network, c.Log = "base", slog.New(slog.NewTextHandler(&log, nil))
	})
	s.want()
	if got := log.String(); strings.Count(got, "others deny") != 1 || !strings.Contains(got, "network=base endpoint=B tx="+fake.tx) {
		t.Errorf("log is %q", got)
	}
	if got := s.quorum.Reports()[1].Denied; !strings.Contains(got, fake.tx) {
		t.Errorf("denied is %q", got)
	}
}

func TestScan_waits_while_two_confirm_and_two_deny(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	faking := behaviours["faking"].change
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w, faking), newNode(t, w, faking), newNode(t, w)))
	for range 2 {
		snapshot, err := s.scan()
		if err == nil && (snapshot.Tip.Height >= 20 || !snapshot.Behind) {
			t.Errorf("scan reached block %d with %d transfers, want a block below 20", snapshot.Tip.Height, len(snapshot.Transfers))
		}
	}
}

func TestScan_waits_for_an_unresolved_transfer(t *testing.T) {
	t.Parallel()
	w := newWorld(19)
	w.mine(pays(ourAddress, 5_000_000))
	w.mine()
	// B shows nothing and cannot be asked for receipts, so the transfer is neither confirmed nor denied.
	b := newNode(t, w, func(n *node) { n.hide, n.fails = true, "eth_getTransactionReceipt" })
	s := open(t, w, endpoints(newNode(t, w), b))
	for range 3 {
		snapshot, err := s.scan()
		if err == nil && (snapshot.Tip.Height >= 20 || !snapshot.Behind) {
			t.Fatalf("scan reached block %d, want a block below 20", snapshot.Tip.Height)
		}
		w.pass(time.Minute)
	}
	b.change(func(n *node) { n.fails = "" })
	s.want("5")
}

func TestScan_reads_final_blocks_again(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	w.final = 90
	nodes := []*node{newNode(t, w), newNode(t, w)}
	s := open(t, w, endpoints(nodes...))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = true }) // both lack a block's logs for a while
	}
	w.mine(pays(ourAddress, 5_000_000))
	for range 200 {
		w.mine()
	}
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = false })
	}
	snapshot := s.want()
	if snapshot.Next.Height > 90 {
		t.Errorf("cursor is at %d, above a block that was not read since it became final", snapshot.Next.Height)
	}
	w.mu.Lock()
	w.final = 290
	w.mu.Unlock()
	snapshot = s.want("5")
	if snapshot.Next.Height < 200 {
		t.Errorf("cursor is at %d, want at least 200", snapshot.Next.Height)
	}
}

func TestScan_reads_new_blocks_again(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	nodes := []*node{newNode(t, w), newNode(t, w)}
	s := open(t, w, endpoints(nodes...))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = true }) // they have the block, but not yet its logs
	}
	w.mine(pays(ourAddress, 5_000_000))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = false })
	}
	for range 4 {
		w.mine()
	}
	s.want("5")
}

func TestScan_follows_a_silent_reorganisation(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	paid := w.mine(pays(ourAddress, 5_000_000), pays(otherAddress, 1))
	w.mine()
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w), newNode(t, w)))
	before := s.want("5")
	w.reorganise(2)
	w.mine()
	w.mine()
	w.mine()
	after := s.want()
	if after.Blocks[paid.height] == paid.hash || after.From.Height >= paid.height {
		t.Errorf("block %d is still %s, from %d", paid.height, paid.hash, after.From.Height)
	}
	// The same transaction is mined again, with another log index.
	again := paid.transfers[0]
	w.mine(pays(otherAddress, 7), again)
	last := s.want("5")
	if last.Transfers[0].ID == before.Transfers[0].ID || last.Transfers[0].Tx != before.Transfers[0].Tx {
		t.Errorf("transfer %s after %s", last.Transfers[0].ID, before.Transfers[0].ID)
	}
}

func TestScan_begins_below_a_fork_under_its_cursor(t *testing.T) {
	t.Parallel()
	w := newWorld(200)
	w.mine(pays(ourAddress, 5_000_000))
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	s.from = s.want("5").Tip.Cursor()
	w.reorganise(3)
	for range 5 {
		w.mine()
	}
	s = open(t, w, endpoints(newNode(t, w), newNode(t, w))) // a restart
	s.from = chain.Cursor{Height: 201, Hash: hashOf("left")}
	if snapshot := s.want(); snapshot.From.Height >= 198 {
		t.Errorf("scan begins at %d, want below 198", snapshot.From.Height)
	}
}

func TestScan_ignores_an_endpoint_that_lags(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	nodes := []*node{newNode(t, w), newNode(t, w)}
	s := open(t, w, endpoints(nodes...))
	before := s.want("5")
	nodes[1].change(func(n *node) { n.lag = 3 })
	w.pass(time.Second)
	after := s.want("5")
	if !after.Started.Equal(before.Started) || after.Tip != before.Tip {
		t.Errorf("started %s at %d, want %s at %d", after.Started, after.Tip.Height, before.Started, before.Tip.Height)
	}
}

func TestScan_does_not_begin_with_endpoints_below_its_cursor(t *testing.T) {
	t.Parallel()
	w := newWorld(200)
	lagging := func(n *node) { n.lag = 50 }
	s := open(t, w, endpoints(newNode(t, w, lagging), newNode(t, w, lagging)))
	s.from = chain.Cursor{Height: 190, Hash: w.blocks[190].hash}
	s.wantError("the endpoints are at block 150 only, and block 190 was already read")
}

func TestScan_fails_while_the_chain_does_not_grow(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	first := s.want()
	w.pass(4 * time.Minute)
	if got := s.want().Started.Sub(first.Tip.Time); got != time.Minute {
		t.Errorf("scanned time is %s after the newest block, want 1m0s", got)
	}
	w.pass(6 * time.Minute)
	s.wantError("block 20, the newest, is 10m0s old")
}

func TestScan_trusts_an_own_node_alone(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	own, foreign := newNode(t, w), newNode(t, w, behaviours["faking"].change)
	list := endpoints(own, foreign)
	list[0].Trusted = true
	s := open(t, w, list)
	s.want("5")
	if n := len(foreign.asked("eth_getLogs")); n > 0 {
		t.Errorf("other endpoint was asked %d times, want 0", n)
	}
	// Without it, others must agree; what it alone confirmed before is kept.
	own.change(func(n *node) { n.dead = true })
	w.mine()
	s.wantError("must answer")
}

func TestScan_replaces_an_own_node_that_does_not_follow_the_chain(t *testing.T) {
	t.Parallel()
	w := newWorld(200)
	own := newNode(t, w, func(n *node) { n.lag = 190 })
	list := endpoints(own, newNode(t, w), newNode(t, w))
	list[0].Trusted = true
	w.mine(pays(ourAddress, 5_000_000))
	open(t, w, list).want("5")
}

func TestScan_sends_addresses_only_with_permission(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trusted, allowed, want bool
	}{
		"public endpoints":                        {want: false},
		"public endpoints and allowed by setting": {allowed: true, want: true},
		"own nodes":                               {trusted: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(20)
			w.mine(pays(ourAddress, 5_000_000))
			nodes := []*node{newNode(t, w), newNode(t, w)}
			list := endpoints(nodes...)
			for i := range list {
				list[i].Trusted = test.trusted
			}
			s := open(t, w, list, func(c *quorum.Config) { c.AddressQueries = test.allowed })
			s.want("5")
			// Destinations that are added later are watched as well.
			s.watch[otherAddress] = true
			s.want("5")
			sent := false
			for _, n := range nodes {
				for _, r := range n.asked("eth_getLogs") {
					sent = sent || strings.Contains(fmt.Sprint(r.Params), ourAddress[2:])
				}
			}
			if sent != test.want {
				t.Errorf("our address was sent: %t, want %t", sent, test.want)
			}
		})
	}
}

func TestScan_finds_transfers_to_a_destination_added_later(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("by address %t", allowed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(20)
			w.mine(pays(otherAddress, 7_000_000))
			w.mine()
			s := open(t, w, endpoints(newNode(t, w), newNode(t, w)), func(c *quorum.Config) { c.AddressQueries = allowed })
			s.want()
			s.watch[otherAddress] = true
			s.want("7")
			s.want("7")
		})
	}
}

func TestScan_asks_for_no_logs_while_nothing_is_watched(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	n := newNode(t, w)
	s := open(t, w, endpoints(n, newNode(t, w)))
	s.watch = chaintest.Watch{}
	s.want()
	if asked := n.asked("eth_getLogs"); len(asked) > 0 {
		t.Errorf("asked %v, want nothing", asked)
	}
	s.watch[ourAddress] = true
	s.want("5")
}

func TestScan_asks_for_less_when_an_endpoint_refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(900)
	for range 30 {
		w.mine(pays(otherAddress, 1), pays(ourAddress, 1_000_000))
	}
	w.final = 800
	modest := func(n *node) { n.wide, n.batch = 7, 3 }
	s := open(t, w, endpoints(newNode(t, w, modest), newNode(t, w, modest)))
	s.from = chain.Cursor{Height: 0, Hash: w.blocks[0].hash}
	snapshot := s.want(slices.Repeat([]string{"1"}, 30)...)
	if snapshot.Tip.Height != 930 || snapshot.Behind {
		t.Errorf("reached block %d, want 930", snapshot.Tip.Height)
	}
}

func TestScan_asks_again_after_a_round_number_of_logs(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	for range 15 {
		w.mine(append(slices.Repeat([]transfer{pays(otherAddress, 1)}, 60), pays(ourAddress, 1_000_000))...)
	}
	w.final = 25
	cutting := func(n *node) { n.cut = 500 }
	s := open(t, w, endpoints(newNode(t, w, cutting), newNode(t, w, cutting)))
	s.from = chain.Cursor{Height: 0, Hash: w.blocks[0].hash}
	s.want(slices.Repeat([]string{"1"}, 15)...)
}

func TestLogs_limits_the_size_of_filters(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	b := w.mine(pays(ourAddress, 5_000_000))
	n := newNode(t, w)
	list := endpoints(n)
	list[0].Trusted = true
	q := open(t, w, list).quorum
	best, err := q.Best(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	contract, _ := keys.ParseEthereumAddress(token.Contract)
	query := ethereum.Query{Contracts: []keys.EthereumAddress{contract}}
	for i := range 2500 {
		query.To = append(query.To, fmt.Sprintf("0x%040x", i))
	}
	query.To = append(query.To, ourAddress)
	logs, err := q.Logs(t.Context(), ethereum.Span{From: b.height, To: best.Header}, query)
	if err != nil || len(logs) != 1 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	asked := n.asked("eth_getLogs")
	if len(asked) != 3 {
		t.Errorf("%d filters, want 3", len(asked))
	}
	for _, r := range asked {
		topics := r.Params[0].(map[string]any)["topics"].([]any)
		if to := topics[2].([]any); len(to) > 1000 {
			t.Errorf("%d addresses in one filter", len(to))
		}
	}
}

func TestScan_asks_without_addresses_if_they_are_many(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	n := newNode(t, w)
	list := endpoints(n)
	list[0].Trusted = true
	s := open(t, w, list)
	for i := range 2500 {
		s.watch[fmt.Sprintf("0x%040x", i)] = true
	}
	s.want("5")
	for _, r := range n.asked("eth_getLogs") {
		if topics := r.Params[0].(map[string]any)["topics"].([]any); len(topics) != 1 {
			t.Errorf("filter has %d topics, want 1", len(topics))
		}
	}
}

func TestScan_respects_Retry_After(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	busy := newNode(t, w)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w), busy))
	s.want()
	busy.change(func(n *node) { n.status, n.retry, n.garbage = http.StatusTooManyRequests, "90", "later" })
	w.mine()
	s.want()
	before := len(busy.asked("eth_chainId"))
	busy.change(func(n *node) { n.status, n.retry, n.garbage = 0, "", "" })
	w.pass(80 * time.Second)
	w.mine()
	s.want()
	if n := len(busy.asked("eth_chainId")); n != before {
		t.Errorf("asked %d times before Retry-After", n-before)
	}
	w.pass(20 * time.Second)
	w.mine()
	s.want()
	if n := len(busy.asked("eth_chainId")); n == before {
		t.Error("not asked again after Retry-After")
	}
}

func TestScan_does_not_wait_for_a_slow_endpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w), newNode(t, w, func(n *node) { n.hangs = true })))
	begin := time.Now()
	s.want("5")
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("took %s", took)
	}
	if got := s.quorum.Reports()[2].Fault; got != "answers much later than others" {
		t.Errorf("fault %q", got)
	}
}

func TestScan_follows_no_redirect(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	target := newNode(t, w)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w, func(n *node) { n.redirects = target.URL })))
	s.wantError("B: answers 307")
	if len(target.asked("eth_chainId")) > 0 {
		t.Error("redirect was followed")
	}
}

func TestScan_shows_only_listed_contracts(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	counterfeit := pays(ourAddress, 20_000_000)
	counterfeit.contract = "0x" + strings.Repeat("11", 20)
	second := pays(ourAddress, 3_000_000)
	second.contract = other.Contract
	w.mine(counterfeit, pays(ourAddress, 0), second, pays(ourAddress, 5_000_000))
	snapshot := open(t, w, endpoints(newNode(t, w), newNode(t, w))).want("3", "5")
	got := map[string]string{}
	for _, tr := range snapshot.Transfers {
		got[tr.Asset] = tr.Amount.String()
	}
	if diff := cmp.Diff(got, map[string]string{"USDC": "3", "EURC": "5"}); diff != "" {
		t.Errorf("assets (-got +want):\n%s", diff)
	}
}

// C28: addresses and hashes are bytes, however an endpoint writes their hex digits.
func TestScan_accepts_hex_in_capitals(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000), pays(otherAddress, 1))
	s := open(t, w, endpoints(newNode(t, w, func(n *node) { n.capitals = true }), newNode(t, w)))
	for _, transfer := range s.want("5").Transfers {
		if transfer.Script != ourAddress {
			t.Errorf("transfer to %s, want %s", transfer.Script, ourAddress)
		}
	}
}

// C49: two equal amounts in one transaction are two transfers, and so are those to two invoices.
func TestScan_shows_all_transfers_of_one_transaction(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	tx := hashOf("many")
	part := func(to string, units uint64) transfer {
		p := pays(to, units)
		p.tx = tx
		return p
	}
	elsewhere := "0x" + strings.Repeat("c3", 20)
	w.mine(part(elsewhere, 9), part(ourAddress, 5_000_000), part(ourAddress, 5_000_000), part(elsewhere, 9), part(otherAddress, 10_000_000))
	w.mine()
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	s.watch[otherAddress] = true
	want := map[string]string{tx + ":1": ourAddress + " 5", tx + ":2": ourAddress + " 5", tx + ":4": otherAddress + " 10"}
	for range 2 {
		got := map[string]string{}
		for _, tr := range s.want("10", "5", "5").Transfers {
			got[tr.ID] = tr.Script + " " + tr.Amount.String()
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("transfers (-got +want):\n%s", diff)
		}
	}
}

func TestScan_accepts_repeated_and_removed_logs(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	repeating := func(n *node) { n.repeats = true }
	s := open(t, w, endpoints(newNode(t, w, repeating), newNode(t, w, repeating)))
	paid := w.mine(pays(ourAddress, 20_000_000))
	s.want("20")
	w.reorganise(1)
	w.mine()
	s.want()
	s.want()
	w.mine(pays(otherAddress, 1), paid.transfers[0])
	s.want("20")
}

func TestScan_catches_up_in_steps_from_its_cursor(t *testing.T) {
	t.Parallel()
	w := newWorld(50)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	s.from = s.want().Tip.Cursor()
	w.mine(pays(ourAddress, 1_000_000))
	for range 500 {
		w.mine()
	}
	w.mine(pays(ourAddress, 2_000_000))
	w.final = 480
	s = open(t, w, endpoints(newNode(t, w), newNode(t, w))) // after downtime
	s.from = chain.Cursor{Height: 50, Hash: w.blocks[50].hash}
	snapshot := s.want("1", "2")
	if snapshot.From.Height != 50 || snapshot.Next.Height <= 50 || snapshot.Next.Height > 552-64 {
		t.Errorf("from %d to %d, next %d", snapshot.From.Height, snapshot.Tip.Height, snapshot.Next.Height)
	}
}

func TestBest_is_cached(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	n := newNode(t, w)
	s := open(t, w, endpoints(n, newNode(t, w)), func(c *quorum.Config) { c.Poll = 4 * time.Second })
	first := s.want()
	w.pass(3 * time.Second)
	if second := s.want(); !second.Started.Equal(first.Started) {
		t.Errorf("started at %s, want the time of the request: %s", second.Started, first.Started)
	}
	if asked := len(n.asked("eth_chainId")); asked != 1 {
		t.Errorf("asked %d times, want 1", asked)
	}
	w.pass(time.Second)
	s.want()
	if asked := len(n.asked("eth_chainId")); asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		endpoints []quorum.Endpoint
		narrow    bool
		fails     bool
	}{
		"none":                         {fails: true},
		"one":                          {[]quorum.Endpoint{{URL: "https://rpc.example.org"}}, false, true},
		"two of one operator":          {[]quorum.Endpoint{{URL: "https://a.example.org"}, {URL: "https://b.example.org"}}, false, true},
		"two of one under co.uk":       {[]quorum.Endpoint{{URL: "https://a.example.co.uk"}, {URL: "https://b.example.co.uk"}}, false, true},
		"two on one machine":           {[]quorum.Endpoint{{URL: "http://127.0.0.1:1"}, {URL: "http://127.0.0.1:2"}}, false, true},
		"two operators":                {[]quorum.Endpoint{{URL: "https://a.example.org"}, {URL: "https://example.co.uk"}}, true, false},
		"two named operators":          {[]quorum.Endpoint{{URL: "https://a.example.org", Operator: "a"}, {URL: "https://b.example.org", Operator: "b"}}, true, false},
		"three operators":              {[]quorum.Endpoint{{URL: "https://a.org"}, {URL: "https://b.org"}, {URL: "https://c.org"}}, false, false},
		"one own node":                 {[]quorum.Endpoint{{URL: "http://127.0.0.1:1", Trusted: true}}, false, false},
		"an own node and a public one": {[]quorum.Endpoint{{URL: "http://127.0.0.1:1", Trusted: true}, {URL: "https://a.org"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := quorum.New(quorum.Config{Endpoints: test.endpoints, Now: time.Now})
			if (err != nil) != test.fails {
				t.Fatalf("error %v, want an error: %t", err, test.fails)
			}
			if err == nil && (q.Narrow() != "") != test.narrow {
				t.Errorf("Narrow() = %q, want a warning: %t", q.Narrow(), test.narrow)
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
	w := newWorld(20)
	w.mine(pays(ourAddress, 5_000_000))
	good := []*node{{world: w, chain: chainID}, {world: w, chain: chainID}}
	bad := &node{world: w, chain: chainID}
	for _, n := range append(good, bad) {
		n.Server = httptest.NewServer(n)
		f.Cleanup(n.Close)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bad.change(func(n *node) { n.garbage = text + " " })
		open(t, w, endpoints(good[0], bad, good[1])).want("5")
	})
}
