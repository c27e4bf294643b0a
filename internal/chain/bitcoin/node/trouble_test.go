package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/chain/chaintest"
)

// changed is the true answer of getblockchaininfo but for one word.
func changed(f *fake, word string, value any) answer {
	return func([]json.RawMessage) (any, int, string) {
		info := f.info()
		info[word] = value
		return info, 0, ""
	}
}

// page answers every request with the same.
func page(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// rewritten answers with a change of the true answer.
func rewritten(f *fake, change func([]byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		f.rpc(&b, r)
		_, _ = w.Write(change(b.Bytes()))
	}
}

// tip is the newest block with another content.
func tip(f *fake, change func(*wire.MsgBlock)) answer {
	b := *f.best[len(f.best)-1]
	change(&b)
	return says(encode(&b))
}

func TestNode_trouble(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		trouble func(f *fake)
		want    string
	}{
		"the connection breaks": {func(f *fake) {
			f.handler = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, "it cannot be reached: EOF"},
		"another password": {func(f *fake) { f.pass = "changed" }, "it refuses the user or password in CHEQUER_BITCOIN_NODE"},
		"not from here":    {func(f *fake) { f.handler = page(403, "") }, "it forbids us to ask: see its settings rpcallowip and rpcwhitelist"},
		"warming up": {func(f *fake) {
			f.answers["getblockchaininfo"] = refuses(-28, "Loading block index…")
			f.answers["getblockhash"] = f.answers["getblockchaininfo"]
		}, "it is still starting: Loading block index… (-28)"},
		"another network": {func(f *fake) { f.answers["getblockchaininfo"] = changed(f, "chain", "main") },
			`it is on the network "main", and "regtest" is asked for in CHEQUER_BITCOIN_NODE`},
		"another coin": {func(f *fake) { f.answers["getblockhash"] = says(litecoinGenesis) },
			"its first block is " + litecoinGenesis + " and not"},
		"catching up": {func(f *fake) { f.answers["getblockchaininfo"] = changed(f, "initialblockdownload", true) },
			"it is catching up: block 112 of 112"},
		"more headers than blocks": {func(f *fake) { f.answers["getblockchaininfo"] = changed(f, "headers", 119) },
			"it is catching up: block 112 of 119"},
		"far back": {func(f *fake) { f.best = f.best[:5] }, "its best block went down from 111 to 4"},
		"pruned": {func(f *fake) { f.answers["getblock"] = refuses(-1, "Block not available (pruned data)") },
			"it must keep the blocks from 111 on: set a larger prune, or none: getblock: Block not available (pruned data) (-1)"},
		"a web page":        {func(f *fake) { f.handler = page(200, "<html>\n<b>Welcome</b>") }, "it answers what is no JSON-RPC: <html> <b>Welcome</b>"},
		"a broken proxy":    {func(f *fake) { f.handler = page(502, "<html>Bad Gateway") }, "it answers HTTP 502: <html>Bad Gateway"},
		"busy":              {func(f *fake) { f.handler = page(503, "Work queue depth exceeded") }, "it answers HTTP 503: Work queue depth exceeded"},
		"sent elsewhere":    {func(f *fake) { f.handler = page(302, "") }, "it answers HTTP 302"},
		"no batches":        {func(f *fake) { f.handler = page(500, `{"error":{"code":-32700,"message":"Parse error"}}`) }, "Parse error (-32700)"},
		"one answer only":   {func(f *fake) { f.handler = page(200, `[{"id":0,"result":1}]`) }, "it gives 1 answers to 2 calls"},
		"the same twice":    {func(f *fake) { f.handler = page(200, `[{"id":1,"result":1},{"id":1,"result":1}]`) }, "it answers what was not asked"},
		"no number":         {func(f *fake) { f.handler = page(200, `[{"result":1},{"id":1,"result":1}]`) }, "it answers what was not asked"},
		"half an answer":    {func(f *fake) { f.handler = rewritten(f, func(b []byte) []byte { return b[:len(b)/2] }) }, "it answers what is no JSON-RPC"},
		"nothing":           {func(f *fake) { f.handler = page(200, "") }, "it answers what is no JSON-RPC"},
		"other types":       {func(f *fake) { f.answers["getblockchaininfo"] = says([]string{"regtest"}) }, "getblockchaininfo: it answers something else"},
		"a height in words": {func(f *fake) { f.answers["getblockchaininfo"] = changed(f, "blocks", "many") }, "it answers something else"},
		"a height below 0":  {func(f *fake) { f.answers["getblockchaininfo"] = changed(f, "blocks", -5) }, "it is at block -5 of 112"},
		"null":              {func(f *fake) { f.answers["getblockchaininfo"] = says(nil) }, "getblockchaininfo: it answers nothing"},
		"no hash":           {func(f *fake) { f.answers["getblockchaininfo"] = changed(f, "bestblockhash", "zz") }, `it says "zz" where a hash must be`},
		"no best block":     {func(f *fake) { f.answers["getblockheader"] = refuses(-5, "Block not found") }, "it does not have its own best block "},
		"a short header":    {func(f *fake) { f.answers["getblockheader"] = says("0001") }, "is none: 0001"},
		"another header":    {func(f *fake) { f.answers["getblockheader"] = says(encode(&f.best[5].Header)) }, "asked for the header of block "},
		"another block":     {func(f *fake) { f.answers["getblock"] = says(encode(f.best[5])) }, "asked for block "},
		"other transactions": {func(f *fake) {
			f.answers["getblock"] = tip(f, func(b *wire.MsgBlock) { b.Transactions = b.Transactions[:1] })
		}, "its transactions are not those of its header"},
		"a block without transactions": {func(f *fake) {
			f.answers["getblock"] = tip(f, func(b *wire.MsgBlock) { b.Transactions = nil })
		}, "its transactions are not those of its header"},
		"a negative amount in a block": {func(f *fake) { f.rob() },
			"units in output 0"},
		"no block": {func(f *fake) { f.answers["getblock"] = says("") }, "getblock: it answers something else"},
		"no list of what waits": {func(f *fake) { f.answers["getrawmempool"] = says(map[string]any{}) },
			"getrawmempool: it answers something else"},
		"no hashes wait": {func(f *fake) { f.answers["getrawmempool"] = says([]string{"ZZ"}) }, `it says "ZZ" where a hash must be`},
		"another transaction": {func(f *fake) { f.answers["getrawtransaction"] = says(encode(f.best[3].Transactions[0])) },
			"asked for transaction "},
		"no transaction": {func(f *fake) { f.answers["getrawtransaction"] = says(12) }, "it answers something else"},
		"a negative amount that waits": {func(f *fake) {
			f.mempool[0].TxOut[0].Value = -1
		}, "pays -1 units in output 0"},
		"no answer": {func(f *fake) {
			f.handler = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}, "it gives no whole answer within 2s"},
		"an answer in drops": {func(f *fake) {
			f.handler = func(w http.ResponseWriter, r *http.Request) {
				drop := time.NewTicker(10 * time.Millisecond)
				defer drop.Stop()
				for r.Context().Err() == nil {
					_, _ = w.Write([]byte(" "))
					_ = http.NewResponseController(w).Flush()
					<-drop.C
				}
			}
		}, "it gives no whole answer within 2s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 110)
			n := f.source(func(c *node.Config) {
				if strings.HasSuffix(test.want, "within 2s") {
					c.Patience = 2 * time.Second
				}
			})
			scanner, watch := scannerOf(n, f.clock.Now), chaintest.Watch{destination(1): true}
			f.send(destination(1), 1000)
			f.mine()
			cursor := mustScan(t, scanner, chain.Cursor{}, watch, "0.00001").Next
			f.send(destination(1), 2000)
			f.mine()
			f.send(destination(1), 3000)
			best, pass := f.best, f.pass
			var last wire.MsgBlock
			f.set(func() {
				last = *best[len(best)-1]
				test.trouble(f)
			})

			snapshot, err := scanner.Scan(t.Context(), cursor, watch)
			if err == nil || !strings.Contains(err.Error(), test.want) || snapshot.Transfers != nil || !snapshot.Started.IsZero() {
				t.Fatalf("Scan() = %+v, %v\nwant nothing and %q", snapshot.Transfers, err, test.want)
			}
			if fault := n.Health().Fault; !strings.Contains(fault, test.want) {
				t.Errorf("Health().Fault = %q, want %q", fault, test.want)
			}

			f.set(func() {
				f.handler, f.pass, f.best = nil, pass, best
				clear(f.answers)
				f.mempool[0].TxOut[0].Value = 3000
				best[len(best)-1] = &last
			})
			mustScan(t, scanner, cursor, watch, "0.00001", "0.00002", "0.00003")
			if fault := n.Health().Fault; fault != "" {
				t.Errorf("Health().Fault = %q, want none when all is well again", fault)
			}
		})
	}
}

// rob makes the newest block one with a negative amount, to which its header
// commits.
func (f *fake) rob() {
	b := f.best[len(f.best)-1]
	tx := b.Transactions[1].Copy()
	tx.TxOut[0].Value = -1
	robbed := &wire.MsgBlock{Header: b.Header, Transactions: []*wire.MsgTx{b.Transactions[0], tx}}
	robbed.Header.MerkleRoot = blockchain.CalcMerkleRoot([]*btcutil.Tx{btcutil.NewTx(b.Transactions[0]), btcutil.NewTx(tx)}, false)
	f.heights[robbed.BlockHash().String()] = len(f.best) - 1
	f.best[len(f.best)-1] = robbed
}

// mustScan scans and compares the amounts of what is shown.
func mustScan(t *testing.T, s chain.Scanner, from chain.Cursor, w chain.Watched, want ...string) chain.Snapshot {
	t.Helper()
	snapshot, err := s.Scan(t.Context(), from, w)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, transfer := range snapshot.Transfers {
		got = append(got, transfer.Amount.String())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("transfers of %q, want %q", got, want)
	}
	return snapshot
}

func TestNode_unreachable(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source()
	f.server.Close()
	_, err := n.Best(t.Context())
	if err == nil || !strings.Contains(err.Error(), "find the best block: getblockchaininfo: it cannot be reached: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Best() = %v, want that it cannot be reached", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error holds the password: %v", err)
	}
}

func TestNode_endless_answer(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.handler = func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}
	if _, err := f.source().Best(t.Context()); err == nil || !strings.Contains(err.Error(), "its answer is too long") {
		t.Errorf("Best() = %v, want that the answer is too long", err)
	}
}

func TestNode_a_scan_that_ends_is_no_fault(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source()
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	f.handler = func(_ http.ResponseWriter, r *http.Request) {
		cancel(ended)
		<-r.Context().Done()
	}
	if _, err := n.Best(ctx); err == nil || n.Health().Fault != "" {
		t.Errorf("Best() = %v with the fault %q, want an error and no fault", err, n.Health().Fault)
	}
}

func TestNode_that_does_not_tell_whether_it_is_catching_up(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	silent := func([]json.RawMessage) (any, int, string) {
		info := f.info()
		info["chain"] = "signet"
		delete(info, "initialblockdownload")
		return info, 0, ""
	}
	f.answers["getblockchaininfo"] = silent
	n := f.source(func(c *node.Config) { c.Chain = "signet" })
	if _, err := n.Best(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.clock.Pass(4 * time.Hour)
	if _, err := n.Best(t.Context()); err == nil || !strings.Contains(err.Error(), "it is catching up: the newest block is of 2027-01-15T12:00:00Z") {
		t.Errorf("Best() = %v, want that its newest block is old", err)
	}
	f.answers["getblockchaininfo"] = changed(f, "chain", "signet") // which says that it is not
	if _, err := n.Best(t.Context()); err != nil {
		t.Errorf("Best() = %v, want an old block of a node that has caught up", err)
	}
	if h := n.Health(); h.Fault != "" || !strings.Contains(h.Progress, "the newest block is of") {
		t.Errorf("Health() = %+v, want a hint", h)
	}
}

func TestNode_names_of_btcd(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.answers["getblockchaininfo"] = changed(f, "chain", "mainnet")
	if _, err := f.source(func(c *node.Config) { c.Chain = "main" }).Best(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNode_of_a_coin_that_split_off(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	n := f.source(func(c *node.Config) { c.Checkpoint = bitcoin.Checkpoint{Height: 3, Hash: destination(3)} })
	if _, err := n.Best(t.Context()); err != nil {
		t.Errorf("Best() = %v, want a chain that is not that high", err)
	}
	f.mine()
	hash := f.best[3].BlockHash().String()
	want := "its block 3 is " + hash + " and not " + destination(3) + ": it is a node of another coin, see CHEQUER_BITCOIN_NODE"
	if _, err := n.Best(t.Context()); err == nil || !strings.Contains(err.Error(), want) || n.Health().Fault != want {
		t.Errorf("Best() = %v with the fault %q, want %q", err, n.Health().Fault, want)
	}

	n = f.source(func(c *node.Config) { c.Checkpoint = bitcoin.Checkpoint{Height: 3, Hash: hash} })
	f.calls["getblockhash"] = 0
	for range 3 {
		if _, err := n.Best(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := f.calls["getblockhash"]; got != 4 {
		t.Errorf("getblockhash was called %d times, want thrice for the first block and once for the checkpoint", got)
	}
}

func TestNode_no_such_block(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	n := f.source()
	if _, err := n.AtHeight(t.Context(), 4); !errors.Is(err, bitcoin.ErrNoBlock) {
		t.Errorf("AtHeight(4) = %v, want %v", err, bitcoin.ErrNoBlock)
	}
	f.answers["getblockhash"] = refuses(-1, "Block number out of range") // btcd
	if _, err := n.AtHeight(t.Context(), 4); !errors.Is(err, bitcoin.ErrNoBlock) {
		t.Errorf("AtHeight(4) = %v, want %v", err, bitcoin.ErrNoBlock)
	}
	if _, err := n.Block(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, bitcoin.ErrNoBlock) {
		t.Errorf("Block() = %v, want %v", err, bitcoin.ErrNoBlock)
	}
	if fault := n.Health().Fault; fault != "" {
		t.Errorf("Health().Fault = %q, want none", fault)
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:8332", "ftp://127.0.0.1", "http://", "http://%zz"} {
		if n, err := node.New(node.Config{URL: url, Setting: "CHEQUER_BITCOIN_NODE"}); err == nil || n != nil {
			t.Errorf("New(%q) = %v, %v, want an error", url, n, err)
		}
	}
}
