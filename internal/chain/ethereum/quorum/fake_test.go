package quorum_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"chequer/internal/chain/ethereum"
	"chequer/internal/keys"
)

// chainID is the chain ID of the fake chain.
const chainID = 31337

// transfer is a transfer in a block of the fake chain.
type transfer struct {
	contract, to, tx string
	units            uint64
	index            int
	// A transfer without contract is one of the network's native coin. It is sent by a transaction if plain is true,
	// and otherwise by a contract. If failed is true, it does not arrive. If spent is true, the account spends it.
	plain, failed, spent bool
	// fee is the part of a token's logged amount that does not arrive; a negative fee is
	// added by the token.
	fee int64
}

// block is a block of the fake chain.
type block struct {
	height       int64
	hash, parent string
	at           time.Time
	transfers    []transfer
}

// fakeChain is a fake chain that several nodes show.
type fakeChain struct {
	mu     sync.Mutex
	now    time.Time
	blocks []block // by height
	final  int64
	txs    int
	fork   int
}

func newFakeChain(height int) *fakeChain {
	f := &fakeChain{now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	for range height + 1 {
		f.mineBlock()
	}
	return f
}

// Now returns the time of the newest block, or a later time.
func (f *fakeChain) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fakeChain) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// mineBlock adds a block with some transfers.
func (f *fakeChain) mineBlock(transfers ...transfer) block {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(2 * time.Second)
	b := block{height: int64(len(f.blocks)), at: f.now, transfers: slices.Clone(transfers)}
	if len(f.blocks) > 0 {
		b.parent = f.blocks[len(f.blocks)-1].hash
	} else {
		b.parent = hashOf("no block")
	}
	b.hash = hashOf("block", b.height, f.fork, b.parent)
	for i := range b.transfers {
		b.transfers[i].index = i
		if b.transfers[i].tx == "" {
			f.txs++
			b.transfers[i].tx = hashOf("tx", f.txs)
		}
	}
	f.blocks = append(f.blocks, b)
	return b
}

// reorganise removes blocks, so that others can be mined in their place.
func (f *fakeChain) reorganise(depth int) []block {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fork++
	removed := slices.Clone(f.blocks[len(f.blocks)-depth:])
	f.blocks = f.blocks[:len(f.blocks)-depth]
	return removed
}

func hashOf(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return "0x" + hex.EncodeToString(sum[:])
}

// The tokens and addresses of the fake chain.
var (
	token        = ethereum.Mainnet.Assets[2]
	other        = ethereum.Mainnet.Assets[1]
	ourAddress   = "0x" + strings.Repeat("a1", 20)
	otherAddress = "0x" + strings.Repeat("b2", 20)
)

// tokenPayment returns a transfer of the token.
func tokenPayment(to string, units uint64) transfer {
	return transfer{contract: token.Contract, to: to, units: units}
}

// params returns the parameters of the fake chain.
func params() ethereum.Params {
	p := ethereum.Mainnet
	p.ChainID, p.Keys = chainID, keys.Main
	return p
}
