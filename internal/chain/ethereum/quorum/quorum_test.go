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

// shop watches the made-up chain through some nodes.
type shop struct {
	*testing.T
	world   *world
	quorum  *quorum.Quorum
	scanner *ethereum.Scanner
	watch   chaintest.Watch
	from    chain.Cursor
}

// open watches through endpoints at some nodes, each of an operator of its own.
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
		T: t, world: w, quorum: q, scanner: ethereum.Watch(ethereum.New(params()), q, w.Now), watch: chaintest.Watch{ours: true},
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
		s.Errorf("the error holds a key: %v", err)
	}
	return snapshot, err
}

// want scans and compares the amounts that are shown.
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

// wantError scans and wants words in the error.
func (s *shop) wantError(words ...string) {
	s.Helper()
	_, err := s.scan()
	if err == nil {
		s.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			s.Errorf("error %q does not say %q", err, w)
		}
	}
}

// behaviours are what one node does while the others may do something else.
var behaviours = map[string]struct {
	change func(*node)
	lies   bool // says what is not so, other than being silent
}{
	"honest":           {change: func(*node) {}},
	"dead":             {change: func(n *node) { n.dead = true }},
	"lagging":          {change: func(n *node) { n.lag = 4 }},
	"wrong chain":      {change: func(n *node) { n.chain = 137 }},
	"rate limit":       {change: func(n *node) { n.status, n.retry, n.nonsense = http.StatusTooManyRequests, "30", "slow down" }},
	"nonsense":         {change: func(n *node) { n.nonsense = "<html>hello</html>" }},
	"server error":     {change: func(n *node) { n.status, n.nonsense = http.StatusBadGateway, "bad gateway" }},
	"no logs served":   {change: func(n *node) { n.fails = "eth_getLogs" }},
	"no receipts":      {change: func(n *node) { n.fails = "eth_getTransactionReceipt" }},
	"no tags":          {change: func(n *node) { n.noTags = true }},
	"truncating":       {change: func(n *node) { n.cut = 1 }, lies: true},
	"hiding logs":      {change: func(n *node) { n.hide = true }, lies: true},
	"hiding all of it": {change: func(n *node) { n.hide, n.deny = true, true }, lies: true},
	"faking":           {change: func(n *node) { n.fakeAt, n.fake = 20, []transfer{fake} }, lies: true},
	"forging":          {change: func(n *node) { n.fakeAt, n.fake, n.forge = 20, []transfer{fake}, true }, lies: true},
}

var fake = transfer{contract: token.Contract, to: ours, units: 9_000_000, tx: hashOf("fake")}

// One fault of three is survived. With two, nothing is ever shown that is not so,
// and nothing that is so is taken for absent, unless two say the same lie.
func TestScan_believes_what_two_operators_say(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(behaviours))
	for i, second := range names {
		for _, third := range names[i:] {
			t.Run(second+" and "+third, func(t *testing.T) {
				t.Parallel()
				w := newWorld(19)
				b := w.mine(pays(theirs, 1), pays(ours, 5_000_000), pays(theirs, 2))
				w.mine()
				s := open(t, w, endpoints(newNode(t, w), newNode(t, w, behaviours[second].change), newNode(t, w, behaviours[third].change)))
				snapshot, err := s.scan()
				if err != nil {
					if second == "honest" || third == "honest" {
						t.Errorf("one fault is not survived: %v", err)
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

func TestScan_names_who_is_wrong(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ours, 5_000_000))
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

func TestScan_exposes_who_shows_what_others_deny(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	var log bytes.Buffer
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w, behaviours["faking"].change), newNode(t, w)), func(c *quorum.Config) {
		c.Network, c.Log = "base", slog.New(slog.NewTextHandler(&log, nil))
	})
	s.want()
	if got := log.String(); strings.Count(got, "others deny") != 1 || !strings.Contains(got, "network=base endpoint=B tx="+fake.tx) {
		t.Errorf("the log says %q", got)
	}
	if got := s.quorum.Reports()[1].Denied; !strings.Contains(got, fake.tx) {
		t.Errorf("denied is %q", got)
	}
}

func TestScan_waits_while_two_say_so_and_two_otherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	faking := behaviours["faking"].change
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w, faking), newNode(t, w, faking), newNode(t, w)))
	for range 2 {
		snapshot, err := s.scan()
		if err == nil && (snapshot.Tip.Height >= 20 || !snapshot.Behind) {
			t.Errorf("the scan reached block %d with %d transfers", snapshot.Tip.Height, len(snapshot.Transfers))
		}
	}
}

func TestScan_waits_for_an_unresolved_transfer(t *testing.T) {
	t.Parallel()
	w := newWorld(19)
	w.mine(pays(ours, 5_000_000))
	w.mine()
	// B shows nothing and cannot be asked for receipts, so nobody confirms or denies.
	b := newNode(t, w, func(n *node) { n.hide, n.fails = true, "eth_getTransactionReceipt" })
	s := open(t, w, endpoints(newNode(t, w), b))
	for range 3 {
		snapshot, err := s.scan()
		if err == nil && (snapshot.Tip.Height >= 20 || !snapshot.Behind) {
			t.Fatalf("the scan reached block %d", snapshot.Tip.Height)
		}
		w.pass(time.Minute)
	}
	b.change(func(n *node) { n.fails = "" })
	s.want("5")
}

func TestScan_reads_once_more_what_is_final(t *testing.T) {
	t.Parallel()
	w := newWorld(100)
	w.final = 90
	nodes := []*node{newNode(t, w), newNode(t, w)}
	s := open(t, w, endpoints(nodes...))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = true }) // both lose a block's logs for a while
	}
	w.mine(pays(ours, 5_000_000))
	for range 200 {
		w.mine()
	}
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = false })
	}
	snapshot := s.want()
	if snapshot.Next.Height > 90 {
		t.Errorf("the cursor is at %d, past a block that was not read since it is final", snapshot.Next.Height)
	}
	w.mu.Lock()
	w.final = 290
	w.mu.Unlock()
	snapshot = s.want("5")
	if snapshot.Next.Height < 200 {
		t.Errorf("the cursor stays at %d", snapshot.Next.Height)
	}
}

func TestScan_reads_once_more_what_came_too_early(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	nodes := []*node{newNode(t, w), newNode(t, w)}
	s := open(t, w, endpoints(nodes...))
	s.want()
	for _, n := range nodes {
		n.change(func(n *node) { n.hide = true }) // they have the block, and not yet what is in it
	}
	w.mine(pays(ours, 5_000_000))
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
	paid := w.mine(pays(ours, 5_000_000), pays(theirs, 1))
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
	// The same transaction comes again, with another log index.
	again := paid.transfers[0]
	w.mine(pays(theirs, 7), again)
	last := s.want("5")
	if last.Transfers[0].ID == before.Transfers[0].ID || last.Transfers[0].Tx != before.Transfers[0].Tx {
		t.Errorf("transfer %s after %s", last.Transfers[0].ID, before.Transfers[0].ID)
	}
}

func TestScan_begins_below_a_fork_under_its_cursor(t *testing.T) {
	t.Parallel()
	w := newWorld(200)
	w.mine(pays(ours, 5_000_000))
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	s.from = s.want("5").Tip.Cursor()
	w.reorganise(3)
	for range 5 {
		w.mine()
	}
	s = open(t, w, endpoints(newNode(t, w), newNode(t, w))) // a restart
	s.from = chain.Cursor{Height: 201, Hash: hashOf("left")}
	if snapshot := s.want(); snapshot.From.Height >= 198 {
		t.Errorf("the scan begins at %d", snapshot.From.Height)
	}
}

func TestScan_ignores_an_endpoint_that_falls_back(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ours, 5_000_000))
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

func TestScan_does_not_count_while_the_chain_stands_still(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	first := s.want()
	w.pass(4 * time.Minute)
	if got := s.want().Started.Sub(first.Tip.Time); got != time.Minute {
		t.Errorf("looked at %s after the newest block, want as long as that tells how things stand", got)
	}
	w.pass(6 * time.Minute)
	s.wantError("block 20, the newest, is 10m0s old")
}

func TestScan_trusts_an_own_node_alone(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ours, 5_000_000))
	own, foreign := newNode(t, w), newNode(t, w, behaviours["faking"].change)
	list := endpoints(own, foreign)
	list[0].Trusted = true
	s := open(t, w, list)
	s.want("5")
	if n := len(foreign.asked("eth_getLogs")); n > 0 {
		t.Errorf("others were asked %d times beside the own node", n)
	}
	// Where it is away, others must agree; what it said alone before still stands.
	own.change(func(n *node) { n.dead = true })
	w.mine()
	s.wantError("must answer")
}

func TestScan_falls_back_from_an_own_node_that_stands_still(t *testing.T) {
	t.Parallel()
	w := newWorld(200)
	own := newNode(t, w, func(n *node) { n.lag = 190 })
	list := endpoints(own, newNode(t, w), newNode(t, w))
	list[0].Trusted = true
	w.mine(pays(ours, 5_000_000))
	open(t, w, list).want("5")
}

func TestScan_keeps_our_addresses_to_itself(t *testing.T) {
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
			w.mine(pays(ours, 5_000_000))
			nodes := []*node{newNode(t, w), newNode(t, w)}
			list := endpoints(nodes...)
			for i := range list {
				list[i].Trusted = test.trusted
			}
			s := open(t, w, list, func(c *quorum.Config) { c.AddressQueries = test.allowed })
			s.want("5")
			// Destinations that come later are looked for as well.
			s.watch[theirs] = true
			s.want("5")
			told := false
			for _, n := range nodes {
				for _, r := range n.asked("eth_getLogs") {
					told = told || strings.Contains(fmt.Sprint(r.Params), ours[2:])
				}
			}
			if told != test.want {
				t.Errorf("told our address: %t, want %t", told, test.want)
			}
		})
	}
}

func TestScan_finds_money_for_a_destination_that_came_later(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("by address %t", allowed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(20)
			w.mine(pays(theirs, 7_000_000))
			w.mine()
			s := open(t, w, endpoints(newNode(t, w), newNode(t, w)), func(c *quorum.Config) { c.AddressQueries = allowed })
			s.want()
			s.watch[theirs] = true
			s.want("7")
			s.want("7")
		})
	}
}

func TestScan_asks_nobody_for_logs_while_nothing_is_watched(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ours, 5_000_000))
	n := newNode(t, w)
	s := open(t, w, endpoints(n, newNode(t, w)))
	s.watch = chaintest.Watch{}
	s.want()
	if asked := n.asked("eth_getLogs"); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
	s.watch[ours] = true
	s.want("5")
}

func TestScan_asks_for_less_when_an_endpoint_refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(900)
	for range 30 {
		w.mine(pays(theirs, 1), pays(ours, 1_000_000))
	}
	w.final = 800
	modest := func(n *node) { n.wide, n.batch = 7, 3 }
	s := open(t, w, endpoints(newNode(t, w, modest), newNode(t, w, modest)))
	s.from = chain.Cursor{Height: 0, Hash: w.blocks[0].hash}
	snapshot := s.want(slices.Repeat([]string{"1"}, 30)...)
	if snapshot.Tip.Height != 930 || snapshot.Behind {
		t.Errorf("reached %d", snapshot.Tip.Height)
	}
}

func TestScan_takes_a_round_number_of_logs_for_a_limit(t *testing.T) {
	t.Parallel()
	w := newWorld(10)
	for range 15 {
		w.mine(append(slices.Repeat([]transfer{pays(theirs, 1)}, 60), pays(ours, 1_000_000))...)
	}
	w.final = 25
	cutting := func(n *node) { n.cut = 500 }
	s := open(t, w, endpoints(newNode(t, w, cutting), newNode(t, w, cutting)))
	s.from = chain.Cursor{Height: 0, Hash: w.blocks[0].hash}
	s.want(slices.Repeat([]string{"1"}, 15)...)
}

func TestLogs_bounds_filters(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	b := w.mine(pays(ours, 5_000_000))
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
	query.To = append(query.To, ours)
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

func TestScan_asks_for_everybody_where_that_is_less(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ours, 5_000_000))
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
			t.Errorf("a filter with %d topics", len(topics))
		}
	}
}

func TestScan_leaves_alone_who_asks_for_it(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	busy := newNode(t, w)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w), busy))
	s.want()
	busy.change(func(n *node) { n.status, n.retry, n.nonsense = http.StatusTooManyRequests, "90", "later" })
	w.mine()
	s.want()
	before := len(busy.asked("eth_chainId"))
	busy.change(func(n *node) { n.status, n.retry, n.nonsense = 0, "", "" })
	w.pass(80 * time.Second)
	w.mine()
	s.want()
	if n := len(busy.asked("eth_chainId")); n != before {
		t.Errorf("asked %d times within the rest", n-before)
	}
	w.pass(20 * time.Second)
	w.mine()
	s.want()
	if n := len(busy.asked("eth_chainId")); n == before {
		t.Error("not asked again after the rest")
	}
}

func TestScan_waits_for_nobody_who_is_much_slower(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	w.mine(pays(ours, 5_000_000))
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
		t.Error("the redirect was followed")
	}
}

func TestScan_matches_contracts_only(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	counterfeit := pays(ours, 20_000_000)
	counterfeit.contract = "0x" + strings.Repeat("11", 20)
	second := pays(ours, 3_000_000)
	second.contract = other.Contract
	w.mine(counterfeit, pays(ours, 0), second, pays(ours, 5_000_000))
	snapshot := open(t, w, endpoints(newNode(t, w), newNode(t, w))).want("3", "5")
	got := map[string]string{}
	for _, tr := range snapshot.Transfers {
		got[tr.Asset] = tr.Amount.String()
	}
	if diff := cmp.Diff(got, map[string]string{"USDC": "3", "EURC": "5"}); diff != "" {
		t.Errorf("assets (-got +want):\n%s", diff)
	}
}

func TestScan_tells_one_transaction_with_several_transfers_apart(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	tx := hashOf("many")
	part := func(to string, units uint64) transfer {
		p := pays(to, units)
		p.tx = tx
		return p
	}
	w.mine(part(ours, 5_000_000), part(ours, 5_000_000), part(theirs, 9))
	w.mine()
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	for range 2 {
		snapshot := s.want("5", "5")
		if got, want := []string{snapshot.Transfers[0].ID, snapshot.Transfers[1].ID}, []string{tx + ":0", tx + ":1"}; !slices.Equal(got, want) {
			t.Errorf("IDs %v, want %v", got, want)
		}
	}
}

func TestScan_hears_of_a_log_twice_and_of_its_removal(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	repeating := func(n *node) { n.repeats = true }
	s := open(t, w, endpoints(newNode(t, w, repeating), newNode(t, w, repeating)))
	paid := w.mine(pays(ours, 20_000_000))
	s.want("20")
	w.reorganise(1)
	w.mine()
	s.want()
	s.want()
	w.mine(pays(theirs, 1), paid.transfers[0])
	s.want("20")
}

func TestScan_catches_up_in_steps_from_its_cursor(t *testing.T) {
	t.Parallel()
	w := newWorld(50)
	s := open(t, w, endpoints(newNode(t, w), newNode(t, w)))
	s.from = s.want().Tip.Cursor()
	w.mine(pays(ours, 1_000_000))
	for range 500 {
		w.mine()
	}
	w.mine(pays(ours, 2_000_000))
	w.final = 480
	s = open(t, w, endpoints(newNode(t, w), newNode(t, w))) // was down
	s.from = chain.Cursor{Height: 50, Hash: w.blocks[50].hash}
	snapshot := s.want("1", "2")
	if snapshot.From.Height != 50 || snapshot.Next.Height <= 50 || snapshot.Next.Height > 552-64 {
		t.Errorf("from %d to %d, next %d", snapshot.From.Height, snapshot.Tip.Height, snapshot.Next.Height)
	}
}

func TestBest_is_taken_from_memory_for_a_while(t *testing.T) {
	t.Parallel()
	w := newWorld(20)
	n := newNode(t, w)
	s := open(t, w, endpoints(n, newNode(t, w)), func(c *quorum.Config) { c.Poll = 4 * time.Second })
	first := s.want()
	w.pass(3 * time.Second)
	if second := s.want(); !second.Started.Equal(first.Started) {
		t.Errorf("started at %s, want when it was asked: %s", second.Started, first.Started)
	}
	if asked := len(n.asked("eth_chainId")); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	w.pass(time.Second)
	s.want()
	if asked := len(n.asked("eth_chainId")); asked != 2 {
		t.Errorf("asked %d times", asked)
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
				t.Fatalf("error %v, want one: %t", err, test.fails)
			}
			if err == nil && (q.Narrow() != "") != test.narrow {
				t.Errorf("Narrow() = %q, want words: %t", q.Narrow(), test.narrow)
			}
		})
	}
}

// An endpoint may answer what it likes: nothing of it is believed, or stops us.
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
	w.mine(pays(ours, 5_000_000))
	good := []*node{{world: w, chain: chainID}, {world: w, chain: chainID}}
	bad := &node{world: w, chain: chainID}
	for _, n := range append(good, bad) {
		n.Server = httptest.NewServer(n)
		f.Cleanup(n.Close)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bad.change(func(n *node) { n.nonsense = text + " " })
		open(t, w, endpoints(good[0], bad, good[1])).want("5")
	})
}
