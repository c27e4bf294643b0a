package simnet_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/lightning"
	"chequer/internal/chain/simnet"
	"chequer/internal/money"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// node is the simnet of one process, with a clock that tests move.
type node struct {
	*simnet.Network
	t     *testing.T
	clock *time.Time
}

func newNode(t *testing.T, s *storage.Storage) node {
	now := noon.Add(300 * time.Millisecond)
	return node{Network: simnet.New(s, func() time.Time { return now }), t: t, clock: &now}
}

// asset returns an asset of simnet.
func (n node) asset(code string) chain.Asset {
	n.t.Helper()
	i := slices.IndexFunc(n.Assets(), func(a chain.Asset) bool { return a.Code == code })
	if i < 0 {
		n.t.Fatalf("simnet has no asset %s", code)
	}
	return n.Assets()[i]
}

// request asks for 2100 satoshis for 20 minutes.
func (n node) request() chain.Offer {
	n.t.Helper()
	offer, err := n.Ask(n.t.Context(), chain.Ask{Amount: sats(2_100), Until: noon.Add(20 * time.Minute), Memo: "Shop"})
	if err != nil {
		n.t.Fatal(err)
	}
	return offer
}

// pay pays a request by its text or hash.
func (n node) pay(request string, amount money.Amount) error {
	n.t.Helper()
	tx, err := n.Pay(n.t.Context(), n.asset("BTC-LN"), request, amount)
	if err == nil && len(tx) != 64 {
		n.t.Errorf("Pay() = %q, want a payment hash", tx)
	}
	return err
}

// scan shows the transfers to destinations.
func (n node) scan(from chain.Cursor, hashes ...string) chain.Snapshot {
	n.t.Helper()
	watch := chaintest.Watch{}
	for _, h := range hashes {
		watch[h] = true
	}
	s, err := n.Scan(n.t.Context(), from, watch)
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

func sats(n int64) money.Amount { return money.FromCents(n, money.BTC) }

func TestAsk_makes_a_payment_request(t *testing.T) {
	t.Parallel()
	n := newNode(t, storagetest.SQLite(t))
	for name, test := range map[string]struct{ until, ends time.Time }{
		"until a time":      {noon.Add(20 * time.Minute), noon.Add(20 * time.Minute)},
		"at least a minute": {noon.Add(10 * time.Second), noon.Add(61 * time.Second)},
		"no end":            {time.Time{}, noon.Add(61 * time.Second)},
		"not whole":         {noon.Add(20*time.Minute + time.Millisecond), noon.Add(20*time.Minute + time.Second)},
	} {
		offer, err := n.Ask(t.Context(), chain.Ask{Amount: sats(2_100), Until: test.until, Memo: "Shop"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := lightning.Check(lightning.Made{Text: offer.Address, Hash: offer.Script}, lightning.Ask{MilliSatoshi: 2_100_000}, n.RequestNetwork(), *n.clock)
		if err != nil || r.Description != "Shop" || !r.Ends().Equal(test.ends) || !offer.Until.Equal(test.ends) || !strings.HasPrefix(offer.Address, "lnbcrt21u1") {
			t.Errorf("%s: got %+v, error %v, offer %+v, want the end %s", name, r, err, offer, test.ends)
		}
		read, err := n.ReadAddress("BTC-LN", "LIGHTNING:"+strings.ToUpper(offer.Address))
		if err != nil || read != offer.Destination {
			t.Errorf("%s: ReadAddress() = %+v, %v, want %+v", name, read, err, offer.Destination)
		}
	}
	for name, test := range map[string]struct {
		ask  chain.Ask
		want string
	}{
		"no amount":          {chain.Ask{Amount: sats(0)}, "no request can ask for 0 satoshis"},
		"too much":           {chain.Ask{Amount: sats(2_100_000_000_000_001)}, "no request can ask for 2100000000000001 satoshis"},
		"another coin":       {chain.Ask{Amount: money.MustParse("1", money.ETH)}, "no request can ask for ETH"},
		"a long description": {chain.Ask{Amount: sats(1), Memo: strings.Repeat("x", chain.MaxMemo+1)}, "the description has 101 bytes, more than 100"},
	} {
		if offer, err := n.Ask(t.Context(), test.ask); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Ask() = %+v, %v, want %q", name, offer, err, test.want)
		}
	}
}

func TestLightning_derives_no_destination(t *testing.T) {
	t.Parallel()
	n := newNode(t, storagetest.SQLite(t))
	if d, err := n.NewDestination(chain.Request{Asset: n.asset("BTC-LN"), Key: "simnet"}); err == nil {
		t.Errorf("NewDestination() = %+v, want an error", d)
	}
	// The first request is for mainnet, from the examples of BOLT 11.
	for _, text := range []string{
		"lnbc25m1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5vdhkven9v5sxyetpdeessp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygs9q5sqqqqqqqqqqqqqqqqsgq2a25dxl5hrntdtn6zvydt7d66hyzsyhqs4wdynavys42xgl6sgx9c4g7me86a27t07mdtfry458rtjr0v92cnmswpsjscgt2vcse3sgpz3uapa",
		"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "lnbcrt1", "",
	} {
		if d, err := n.ReadAddress("BTC-LN", text); err == nil {
			t.Errorf("ReadAddress(%q) = %+v, want an error", text, d)
		}
	}
	if d, err := n.ReadAddress("BTC", n.request().Address); err == nil {
		t.Errorf("a request is read as the address %+v", d)
	}
}

func TestPay_settles_a_request_at_once(t *testing.T) {
	storagetest.OnBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		n := newNode(t, s)
		exact, more, open := n.request(), n.request(), n.request()
		*n.clock = noon.Add(5 * time.Minute)
		from := n.scan(chain.Cursor{}, exact.Script).Next
		if err := errors.Join(n.pay(strings.ToUpper(exact.Address), sats(2_100)), n.pay(more.Script, sats(2_101))); err != nil {
			t.Fatal(err)
		}
		other := newNode(t, storagetest.Open(t, url)) // another process, or the next start
		got := other.scan(from, exact.Script, more.Script, open.Script)
		transfer := func(hash string, amount int64, height int64) chain.Transfer {
			block := &chain.Block{Height: height, Hash: got.Blocks[height], Time: *n.clock}
			return chain.Transfer{ID: hash, Tx: hash, Asset: "BTC-LN", Script: hash, Amount: sats(amount), Block: block}
		}
		byHeight := func(a, b chain.Transfer) int { return int(a.Block.Height - b.Block.Height) }
		slices.SortFunc(got.Transfers, byHeight)
		want := []chain.Transfer{transfer(exact.Script, 2_100, 1), transfer(more.Script, 2_101, 2)}
		if diff := cmp.Diff(got.Transfers, want); diff != "" || got.Tip.Height != 2 {
			t.Errorf("tip %+v, transfers (-got +want):\n%s", got.Tip, diff)
		}
		if hidden := other.scan(from, open.Script).Transfers; len(hidden) > 0 {
			t.Errorf("a scan shows %+v, which it does not watch", hidden)
		}
	})
}

func TestPay_refuses_a_request_that_cannot_be_paid(t *testing.T) {
	t.Parallel()
	n := newNode(t, storagetest.SQLite(t))
	later := newNode(t, storagetest.SQLite(t))
	paid, cancelled, open := n.request(), n.request(), n.request()
	if err := errors.Join(n.pay(paid.Script, sats(2_100)), n.Cancel(t.Context(), cancelled.Script), n.Cancel(t.Context(), paid.Script)); err != nil {
		t.Fatal(err)
	}
	check := func(name, request string, amount money.Amount, want string) {
		t.Helper()
		if err := n.pay(request, amount); !errors.Is(err, simnet.ErrUnpayable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Pay() = %v, want %q", name, err, want)
		}
	}
	check("paid", paid.Script, sats(2_100), "it is already paid") // also after Cancel
	check("cancelled", cancelled.Address, sats(2_100), "it was cancelled")
	check("less", open.Script, sats(2_099), "it asks for 0.000021 BTC, and not for less")
	check("of another simnet", later.request().Address, sats(2_100), "simnet does not know it")
	check("not a request", "0014aa", sats(2_100), "simnet does not know it")
	if err := n.Cancel(t.Context(), later.request().Script); err != nil {
		t.Errorf("Cancel of an unknown request: %v", err)
	}
	*n.clock = open.Until
	check("ended", open.Script, sats(2_100), "it ended at 2026-03-01T12:20:00Z")
	*n.clock = open.Until.Add(-time.Millisecond)
	if err := n.pay(open.Script, sats(2_100)); err != nil {
		t.Errorf("just before the end: Pay() = %v", err)
	}
	if got := n.scan(chain.Cursor{}, paid.Script, cancelled.Script, open.Script).Transfers; len(got) != 2 {
		t.Errorf("a scan shows %+v, want two payments", got)
	}
}

func TestPay_settles_a_request_once_for_two_processes(t *testing.T) {
	storagetest.OnBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		nodes := []node{newNode(t, s), newNode(t, storagetest.Open(t, url))}
		var group sync.WaitGroup
		offers := make([]chain.Offer, 6)
		for i := range offers { // the first of them store the key
			group.Go(func() { offers[i] = nodes[i%2].request() })
		}
		group.Wait()
		signers := map[[33]byte]bool{}
		for _, o := range offers {
			_, r, err := chain.ReadRequest(o.Address)
			if err != nil {
				t.Fatal(err)
			}
			signers[r.NodeKey] = true
		}
		if len(signers) != 1 {
			t.Errorf("%d keys signed the requests, want 1", len(signers))
		}
		results := make([]error, 6)
		for i := range results {
			group.Go(func() { results[i] = nodes[i%2].pay(offers[0].Script, sats(2_100)) })
		}
		group.Wait()
		paid := 0
		for _, err := range results {
			switch {
			case err == nil:
				paid++
			case !errors.Is(err, simnet.ErrUnpayable):
				t.Errorf("Pay() = %v", err)
			}
		}
		if got := nodes[1].scan(chain.Cursor{}, offers[0].Script).Transfers; paid != 1 || len(got) != 1 {
			t.Errorf("%d payments succeeded, and a scan shows %d, want 1", paid, len(got))
		}
	})
}

func TestPay_by_Lightning_is_final(t *testing.T) {
	t.Parallel()
	n := newNode(t, storagetest.SQLite(t))
	ctx, offer, bitcoin := t.Context(), n.request(), n.asset("BTC")
	before, err := n.Pay(ctx, bitcoin, "0014aa", sats(50_000))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Confirm(ctx, []string{before}), n.pay(offer.Script, sats(2_100))); err != nil {
		t.Fatal(err)
	}
	first := n.scan(chain.Cursor{}, offer.Script)
	_, sent := n.Send(ctx, simnet.Tx{Outputs: []simnet.Output{simnet.OutputTo(n.asset("BTC-LN"), offer.Script, sats(2_100))}})
	for name, err := range map[string]error{
		"Replace": n.Replace(ctx, offer.Script), "Drop": n.Drop(ctx, offer.Script), "Reorganise": n.Reorganise(ctx, []string{before, offer.Script}),
	} {
		if !errors.Is(err, simnet.ErrFinal) {
			t.Errorf("%s: got error %v, want ErrFinal", name, err)
		}
	}
	if sent == nil || !strings.Contains(sent.Error(), "a payment by Lightning is not a transaction") {
		t.Errorf("Send: got error %v", sent)
	}
	if diff := cmp.Diff(n.scan(chain.Cursor{}, offer.Script).Transfers, first.Transfers); diff != "" {
		t.Errorf("transfers after refused changes (-got +want):\n%s", diff)
	}
	if err := n.Reorganise(ctx, []string{before}); err != nil { // of blocks below the payment
		t.Fatal(err)
	}
	after := n.scan(first.Next, offer.Script, "0014aa")
	want := first.Transfers[0]
	want.Block = &chain.Block{Height: 2, Hash: after.Blocks[2], Time: want.Block.Time}
	i := slices.IndexFunc(after.Transfers, func(t chain.Transfer) bool { return t.ID == offer.Script })
	if i < 0 || len(after.Transfers) != 2 || after.Blocks[2] == first.Blocks[2] {
		t.Fatalf("after a reorganisation a scan shows %+v", after)
	}
	if diff := cmp.Diff(after.Transfers[i], want); diff != "" {
		t.Errorf("payment after a reorganisation of lower blocks (-got +want):\n%s", diff)
	}
}
