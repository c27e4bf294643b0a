package ethereum_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// fakeChain is a chain in memory, with a source that reads it. Its newest block is the last one.
type fakeChain struct {
	blocks    []fakeBlock // by height
	final     int64       // 0 = unknown
	byAddress bool
	queryable bool
	pruned    int64 // the state of blocks below this height is pruned
	decimals  map[string]int
	// forged are the logs, by transfer ID, that Logs returns and Confirm denies.
	forged map[string]bool

	spans     []ethereum.Span
	confirmed int // number of logs passed to Confirm
	readings  int // number of calls of Balances
}

// fakeBlock is a block with its logs and, by account, the state after it.
type fakeBlock struct {
	ethereum.Header
	logs     []ethereum.Log
	payments []ethereum.Payment
	balances map[string]int64 // wei
	nonces   map[string]uint64
	tokens   map[string]int64 // smallest units of any token
}

// newChain returns a chain with a height.
func newChain(height int) *fakeChain {
	c := &fakeChain{byAddress: true, queryable: true, decimals: map[string]int{}, forged: map[string]bool{}}
	c.mineEmpty(height+1, "a")
	return c
}

// mineEmpty adds n empty blocks, whose hashes depend on their height and on the name of the fork.
func (c *fakeChain) mineEmpty(n int, fork string) {
	for range n {
		b := fakeBlock{balances: map[string]int64{}, nonces: map[string]uint64{}, tokens: map[string]int64{}}
		b.Height, b.Hash = int64(len(c.blocks)), hashOf(fmt.Sprint(fork, len(c.blocks))).String()
		if len(c.blocks) > 0 {
			b.Parent = c.last().Hash
			for account, wei := range c.last().balances {
				b.balances[account] = wei
			}
			for account, nonce := range c.last().nonces {
				b.nonces[account] = nonce
			}
			for account, units := range c.last().tokens {
				b.tokens[account] = units
			}
		}
		c.blocks = append(c.blocks, b)
	}
	for i := range c.blocks {
		c.blocks[i].Time = now.Add(time.Duration(i-len(c.blocks)) * 2 * time.Second)
	}
}

// reorganise replaces the newest n blocks with n+1 empty ones.
func (c *fakeChain) reorganise(n int) {
	c.blocks = c.blocks[:len(c.blocks)-n]
	c.mineEmpty(n+1, "b")
}

func (c *fakeChain) last() *fakeBlock { return &c.blocks[len(c.blocks)-1] }

func hashOf(text string) ethereum.Hash { return sha256.Sum256([]byte(text)) }

func addressOf(t *testing.T, text string) keys.EthereumAddress {
	t.Helper()
	address, err := keys.ParseEthereumAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// addTransfer adds the log of a token transfer to the newest block.
func (c *fakeChain) addTransfer(t *testing.T, contract, to string, units *big.Int, tx string) *ethereum.Log {
	t.Helper()
	b := c.last()
	block, _ := ethereum.ParseHash(b.Hash)
	l := ethereum.Log{
		Contract: addressOf(t, contract), To: addressOf(t, to), Tx: hashOf(tx), Index: uint32(len(b.logs)), Block: block, Height: b.Height, Operators: 1,
	}
	units.FillBytes(l.Amount[:])
	b.logs = append(b.logs, l)
	return &b.logs[len(b.logs)-1]
}

func (c *fakeChain) Best(context.Context) (ethereum.Best, error) {
	return ethereum.Best{Header: c.last().Header, Final: c.final, At: now}, nil
}

func (c *fakeChain) Headers(_ context.Context, from, to int64) ([]ethereum.Header, error) {
	var list []ethereum.Header
	for _, b := range c.blocks[from : to+1] {
		list = append(list, b.Header)
	}
	return list, nil
}

func (c *fakeChain) ByAddress() bool { return c.byAddress }

func (c *fakeChain) QueryableByAddress() bool { return c.queryable }

func (c *fakeChain) Logs(_ context.Context, span ethereum.Span, query ethereum.Query) ([]ethereum.Log, error) {
	c.spans = append(c.spans, span)
	var list []ethereum.Log
	for _, b := range c.blocks[span.From : span.To.Height+1] {
		for _, l := range b.logs {
			to := fmt.Sprintf("%#x", l.To[:])
			if slices.Contains(query.Contracts, l.Contract) && (query.To == nil || slices.Contains(query.To, to)) {
				list = append(list, l)
			}
		}
	}
	return list, nil
}

func (c *fakeChain) Confirm(_ context.Context, logs []ethereum.Log) ([]ethereum.Log, error) {
	c.confirmed += len(logs)
	return slices.DeleteFunc(slices.Clone(logs), func(l ethereum.Log) bool { return c.forged[fmt.Sprintf("%s:%d", l.Tx, l.Index)] }), nil
}

func (c *fakeChain) Health() chain.Health { return chain.Health{} }

// state returns the values of accounts in the state after a block.
func state[V any](c *fakeChain, at ethereum.Header, accounts []keys.EthereumAddress, value func(fakeBlock, string) V) ([]V, error) {
	if at.Height < c.pruned {
		return nil, ethereum.ErrNoState
	}
	b := c.blocks[at.Height]
	if b.Hash != at.Hash {
		return nil, fmt.Errorf("block %d is not %s", at.Height, at.Hash)
	}
	var list []V
	for _, a := range accounts {
		list = append(list, value(b, fmt.Sprintf("%#x", a[:])))
	}
	return list, nil
}

func (c *fakeChain) Balances(_ context.Context, at ethereum.Header, accounts []keys.EthereumAddress) ([]*big.Int, error) {
	c.readings++
	return state(c, at, accounts, func(b fakeBlock, a string) *big.Int { return big.NewInt(b.balances[a]) })
}

func (c *fakeChain) Nonces(_ context.Context, at ethereum.Header, accounts []keys.EthereumAddress) ([]uint64, error) {
	return state(c, at, accounts, func(b fakeBlock, a string) uint64 { return b.nonces[a] })
}

func (c *fakeChain) Tokens(_ context.Context, at ethereum.Header, _ keys.EthereumAddress, accounts []keys.EthereumAddress) ([]*big.Int, error) {
	return state(c, at, accounts, func(b fakeBlock, a string) *big.Int { return big.NewInt(b.tokens[a]) })
}

func (c *fakeChain) Payments(_ context.Context, at ethereum.Header, _ []keys.EthereumAddress) ([]ethereum.Payment, error) {
	return c.blocks[at.Height].payments, nil
}

// Decimals returns 6 for contracts without an entry, and known false for negative entries.
func (c *fakeChain) Decimals(_ context.Context, _ ethereum.Header, contract keys.EthereumAddress) (int, bool, error) {
	decimals, known := c.decimals[contract.String()]
	if !known {
		return 6, true, nil
	}
	return decimals, decimals >= 0, nil
}

// fakeWatched are watched destinations. Accounts are those whose balances are read.
type fakeWatched struct {
	scripts  []string
	accounts []chain.Account
	strays   []string
	recorded []chain.Transfer
	read     chain.Block
}

func (f *fakeWatched) Destination(script string) bool { return slices.Contains(f.scripts, script) }

func (f *fakeWatched) Since(mark uint64) (iter.Seq[string], uint64) {
	return slices.Values(f.scripts[mark:]), uint64(len(f.scripts))
}

func (f *fakeWatched) Outpoint(string) bool { return false }

func (f *fakeWatched) Recorded() iter.Seq[chain.Transfer] { return slices.Values(f.recorded) }

func (f *fakeWatched) Accounts() iter.Seq[chain.Account] { return slices.Values(f.accounts) }

func (f *fakeWatched) Strays() iter.Seq[string] { return slices.Values(f.strays) }

func (f *fakeWatched) Read() chain.Block { return f.read }

// shallow returns the parameters of a network whose transfers need three confirmations.
func shallow(p ethereum.Params) ethereum.Params {
	set := func(assets []chain.Asset) []chain.Asset {
		assets = slices.Clone(assets)
		for i := range assets {
			assets[i].Policy.Depth = []chain.Depth{{Confirmations: 3}}
		}
		return assets
	}
	p.Assets, p.More, p.Bridged = set(p.Assets), set(p.More), set(p.Bridged)
	return p
}

func watch(p ethereum.Params, source ethereum.Source) *ethereum.Scanner {
	return ethereum.Watch(ethereum.New(p), source, func() time.Time { return now })
}

// row is the part of a transfer that the tests compare.
type row struct {
	ID, Asset, Amount string
	Height            int64
}

func rows(s chain.Snapshot) []row {
	var list []row
	for _, t := range s.Transfers {
		list = append(list, row{t.ID, t.Asset, t.Amount.String(), t.Block.Height})
	}
	return list
}
