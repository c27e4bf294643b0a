package daemon_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/monero/monerotest"
)

// paid is an output that pays the shop, as the scanner and the wallet of the shop both show it.
type paid struct {
	Tx     string
	Index  uint32 // of the subaddress
	Amount uint64
	Height int64 // zero in the pool
	Locked bool  // by a time lock
}

func sortPaid(list []paid) []paid {
	slices.SortFunc(list, func(a, b paid) int {
		return cmp.Or(cmp.Compare(a.Tx, b.Tx), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Amount, b.Amount))
	})
	return list
}

// scanAll scans all known destinations from a cursor on, until the tip is reached.
func (c *realChain) scanAll(t *testing.T, from chain.Cursor) chain.Snapshot {
	t.Helper()
	watch := chaintest.Watch{}
	for script := range maps.Keys(c.indexes) {
		watch[script] = true
	}
	s, err := c.scanner.Scan(t.Context(), from, watch)
	if err != nil {
		t.Fatal(err)
	}
	if s.Behind {
		t.Fatal("the scan is behind")
	}
	return s
}

// scanned returns the transfers of a snapshot, in blocks or in the pool.
func (c *realChain) scanned(s chain.Snapshot, inBlocks bool) (list []paid) {
	for _, transfer := range s.Transfers {
		if inBlocks != (transfer.Block != nil) {
			continue
		}
		p := paid{Tx: transfer.Tx, Index: c.indexes[transfer.Script], Amount: transfer.Amount.Minor().Uint64(), Locked: transfer.Unsure}
		if inBlocks {
			p.Height = transfer.Block.Height
		}
		list = append(list, p)
	}
	return sortPaid(list)
}

// received returns the outputs of the shop's wallet above a height.
func (c *realChain) received(t *testing.T, above int64, locked map[string]bool) (list []paid) {
	t.Helper()
	for _, o := range c.shop.Outputs(t) {
		if o.Height > above {
			list = append(list, paid{o.Tx, uint32(o.Subaddress.Minor), o.Amount, o.Height, locked[o.Tx]})
		}
	}
	return sortPaid(list)
}

// inPool returns the payments to the shop in the pool. The wallet adds the outputs of a transaction to one subaddress.
func (c *realChain) inPool(t *testing.T, locked map[string]bool) (list []paid) {
	t.Helper()
	c.shop.Refresh(t)
	var answer struct {
		Pool []struct {
			TxID   string
			Amount uint64
			Index  struct{ Minor uint32 } `json:"subaddr_index"`
		}
	}
	c.shop.Call(t, "get_transfers", map[string]any{"pool": true, "account_index": 0}, &answer)
	for _, p := range answer.Pool {
		list = append(list, paid{Tx: p.TxID, Index: p.Index.Minor, Amount: p.Amount, Locked: locked[p.TxID]})
	}
	return sum(list)
}

// sum adds the amounts of each transaction to each subaddress.
func sum(list []paid) (sums []paid) {
	for _, p := range sortPaid(list) {
		if n := len(sums); n > 0 && sums[n-1].Tx == p.Tx && sums[n-1].Index == p.Index {
			sums[n-1].Amount += p.Amount
		} else {
			sums = append(sums, p)
		}
	}
	return sums
}

// addressOf returns a subaddress of the shop, and watches its script.
func (c *realChain) addressOf(t *testing.T, index uint32) string {
	t.Helper()
	if index > 0 {
		c.script(t, index)
	} else { // no invoice gets the primary address
		c.indexes[c.wallet.Address().SpendKey.String()] = 0
	}
	return c.wallet.Subaddress(index).String()
}

// randomPayments makes the destinations of a transaction: some pay the shop, and some pay it twice.
func (c *realChain) randomPayments(t *testing.T, random *rand.Rand) (to []monerotest.To) {
	t.Helper()
	count := 1 + random.IntN(3)
	if random.IntN(8) == 0 {
		count = 1 + random.IntN(monerotest.MaxDestinations)
	}
	for range count {
		address := c.Miner.Address
		switch random.IntN(4) {
		case 0:
		case 1:
			if len(to) > 0 {
				address = to[len(to)-1].Address
				break
			}
			fallthrough
		default:
			address = c.addressOf(t, uint32(random.IntN(60)))
		}
		to = append(to, monerotest.To{Address: address, Amount: 1 + random.Uint64N(1e10>>random.IntN(33))})
	}
	return to
}

// TestSource_of_a_real_daemon_finds_what_a_wallet_finds compares random transactions with the wallet of the shop.
func TestSource_of_a_real_daemon_finds_what_a_wallet_finds(t *testing.T) {
	const transactions, perBlock = 200, 9
	c := startChain(t, transactions, 0.4e12)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	start := c.scanAll(t, chain.Cursor{}).Tip
	locked := map[string]bool{}
	for i := range transactions {
		unlock := uint64(0)
		switch random.IntN(10) {
		case 0:
			unlock = uint64(start.Height) + 1000
		case 1:
			unlock = uint64(time.Now().Add(24 * time.Hour).Unix())
		}
		hash := c.prepare(t, c.payer.Wallet, c.payer.Coin(t), unlock, c.randomPayments(t, random))
		locked[hash] = unlock > 0
		c.submit(t, hash)
		if i%perBlock == perBlock/2 { // the last ones stay in the pool
			c.Node.Mine(t, 1)
		}
	}
	s := c.scanAll(t, start.Cursor())
	if diff := gocmp.Diff(c.inPool(t, locked), sum(c.scanned(s, false))); diff != "" {
		t.Errorf("payments in the pool (-wallet +scanner):\n%s", diff)
	}
	if len(c.scanned(s, false)) == 0 {
		t.Error("the pool has no payment")
	}
	c.Node.Mine(t, 20) // so that only time locks lock outputs
	s = c.scanAll(t, start.Cursor())
	got := c.scanned(s, true)
	if diff := gocmp.Diff(c.received(t, start.Height, locked), got); diff != "" {
		t.Errorf("payments in blocks (-wallet +scanner):\n%s", diff)
	}
	if len(got) < transactions/2 || len(c.scanned(s, false)) > 0 {
		t.Errorf("%d payments in blocks and %d in the pool", len(got), len(c.scanned(s, false)))
	}
	for _, o := range c.shop.Outputs(t) { // the wallet knows the locks of the network's rules
		if o.Unlocked == locked[o.Tx] {
			t.Errorf("output of %s: the wallet says unlocked %t, the scanner says locked %t", o.Tx, o.Unlocked, locked[o.Tx])
		}
	}
}

// TestSource_of_a_real_daemon_with_unusual_payments compares single cases with the wallet of the shop.
func TestSource_of_a_real_daemon_with_unusual_payments(t *testing.T) {
	c := startChain(t, 10, 0.5e12)
	send := func(t *testing.T, unlock uint64, to ...monerotest.To) string {
		t.Helper()
		return c.submit(t, c.prepare(t, c.payer.Wallet, c.payer.Coin(t), unlock, to))
	}
	// check mines a transaction, and compares its payments with the wallet and with the wanted ones.
	check := func(t *testing.T, hash string, want ...paid) chain.Snapshot {
		t.Helper()
		before := c.scanAll(t, chain.Cursor{}).Tip
		c.Mine(t, hash)
		s := c.scanAll(t, before.Cursor())
		for i := range want {
			want[i].Tx, want[i].Height = hash, before.Height+1
		}
		if diff := gocmp.Diff(sortPaid(want), c.scanned(s, true)); diff != "" {
			t.Errorf("payments (-want +scanner):\n%s", diff)
		}
		if diff := gocmp.Diff(c.received(t, before.Height, map[string]bool{hash: want[0].Locked}), c.scanned(s, true)); diff != "" {
			t.Errorf("payments (-wallet +scanner):\n%s", diff)
		}
		return s
	}
	t.Run("16 outputs", func(t *testing.T) {
		var to []monerotest.To
		var want []paid
		for i := range uint32(monerotest.MaxDestinations) { // and change
			amount := uint64(i+1) * 1e9
			to, want = append(to, monerotest.To{Address: c.addressOf(t, i+1), Amount: amount}), append(want, paid{Index: i + 1, Amount: amount})
		}
		check(t, send(t, 0, to...), want...)
	})
	t.Run("two outputs to one subaddress", func(t *testing.T) {
		address := c.addressOf(t, 20)
		s := check(t, send(t, 0, monerotest.To{Address: address, Amount: 1e9}, monerotest.To{Address: address, Amount: 1e9}),
			paid{Index: 20, Amount: 1e9}, paid{Index: 20, Amount: 1e9})
		if s.Transfers[0].ID == s.Transfers[1].ID {
			t.Errorf("two outputs have the ID %s", s.Transfers[0].ID)
		}
	})
	t.Run("subaddress 5,000", func(t *testing.T) {
		const index = 5000
		c.shop.Subaddresses(t, index) // besides those that are paid
		var answer struct{ Addresses []struct{ Address string } }
		c.shop.Call(t, "get_address", map[string]any{"account_index": 0, "address_index": []int{index}}, &answer)
		if got, want := c.addressOf(t, index), answer.Addresses[0].Address; got != want {
			t.Fatalf("subaddress %d is %s, want %s", index, got, want)
		}
		check(t, send(t, 0, monerotest.To{Address: c.addressOf(t, index), Amount: 3e9}), paid{Index: index, Amount: 3e9})
	})
	for name, unlock := range map[string]uint64{
		"locked until a height":      uint64(c.Height(t)) + 500,
		"locked until a time":        uint64(time.Now().Add(time.Hour).Unix()),
		"locked until a past height": 1,
	} {
		t.Run(name, func(t *testing.T) {
			hash := send(t, unlock, monerotest.To{Address: c.addressOf(t, 21), Amount: 2e9})
			if s := c.scanAll(t, chain.Cursor{}); !slices.ContainsFunc(s.Transfers, func(p chain.Transfer) bool { return p.Tx == hash && p.Block == nil && p.Unsure }) {
				t.Errorf("in the pool the transfers are %+v, want one that is not sure", s.Transfers)
			}
			check(t, hash, paid{Index: 21, Amount: 2e9, Locked: true})
		})
	}
	t.Run("reward of a block", func(t *testing.T) { checkReward(t, c) })
}

// checkReward mines a block that pays the shop, until the wallet can spend its reward.
func checkReward(t *testing.T, c *realChain) {
	t.Helper()
	c.FlushPool(t)
	c.addressOf(t, 0)
	before := c.scanAll(t, chain.Cursor{}).Tip
	c.MineTo(t, c.shop.Address, 1)
	find := func() monerotest.Output {
		for _, o := range c.shop.Outputs(t) {
			if o.Height == before.Height+1 {
				return o
			}
		}
		t.Fatal("the wallet has no reward")
		return monerotest.Output{}
	}
	reward, transfer := find(), only(t, c.scanAll(t, before.Cursor()))
	if !transfer.Coinbase || transfer.Unsure || transfer.Amount.Minor().Uint64() != reward.Amount || transfer.Tx != reward.Tx || transfer.Block.Height != before.Height+1 {
		t.Errorf("transfer %+v, want the reward %+v", transfer, reward)
	}
	confirmed := c.Asset().Policy.Coinbase
	c.Node.Mine(t, confirmed-2)
	if find().Unlocked {
		t.Errorf("the reward can be spent after %d confirmations", confirmed-1)
	}
	c.Node.Mine(t, 1)
	if !find().Unlocked {
		t.Errorf("the reward cannot be spent after %d confirmations", confirmed)
	}
}
