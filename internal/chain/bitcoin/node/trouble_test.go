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
	"chequer/internal/chain/utxo"
)

// changedInfo returns the normal answer of getblockchaininfo with one changed field.
func changedInfo(f *fake, field string, value any) answer {
	return func([]json.RawMessage) (any, int, string) {
		info := f.info()
		info[field] = value
		return info, 0, ""
	}
}

// fixedResponse answers every request with the same status and text.
func fixedResponse(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// rewrittenResponse answers every request with a changed copy of the normal answer.
func rewrittenResponse(f *fake, change func([]byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		f.rpc(&b, r)
		_, _ = w.Write(change(b.Bytes()))
	}
}

// changedTip answers with a changed copy of the newest block.
func changedTip(f *fake, change func(*wire.MsgBlock)) answer {
	b := *f.best[len(f.best)-1]
	change(&b)
	return result(encode(&b))
}

func TestNode_reports_faults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault func(f *fake)
		want  string
	}{
		"the connection is closed": {func(f *fake) {
			f.handler = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, "connection failed: EOF"},
		"a wrong password":   {func(f *fake) { f.pass = "changed" }, "wrong user or password in CHEQUER_BITCOIN_NODE"},
		"a forbidden client": {func(f *fake) { f.handler = fixedResponse(403, "") }, "access denied: see the node's settings rpcallowip and rpcwhitelist"},
		"warming up": {func(f *fake) {
			f.answers["getblockchaininfo"] = refuses(-28, "Loading block index…")
			f.answers["getblockhash"] = f.answers["getblockchaininfo"]
		}, "node is still starting: Loading block index… (-28)"},
		"another network": {func(f *fake) { f.answers["getblockchaininfo"] = changedInfo(f, "chain", "main") },
			`node is on the network "main", want "regtest" as in CHEQUER_BITCOIN_NODE`},
		"another coin": {func(f *fake) { f.answers["getblockhash"] = result(litecoinGenesis) },
			"first block is " + litecoinGenesis + ", want "},
		"catching up": {func(f *fake) { f.answers["getblockchaininfo"] = changedInfo(f, "initialblockdownload", true) },
			"catching up: block 112 of 112"},
		"more headers than blocks": {func(f *fake) { f.answers["getblockchaininfo"] = changedInfo(f, "headers", 119) },
			"catching up: block 112 of 119"},
		"a much lower best block": {func(f *fake) { f.best = f.best[:5] }, "best block went down from 111 to 4"},
		"pruned": {func(f *fake) { f.answers["getblock"] = refuses(-1, "Block not available (pruned data)") },
			"node must keep the blocks from 111 on: set a larger prune, or none: getblock: Block not available (pruned data) (-1)"},
		"a web page":       {func(f *fake) { f.handler = fixedResponse(200, "<html>\n<b>Welcome</b>") }, "answer is not JSON-RPC: <html> <b>Welcome</b>"},
		"a broken proxy":   {func(f *fake) { f.handler = fixedResponse(502, "<html>Bad Gateway") }, "HTTP status 502: <html>Bad Gateway"},
		"busy":             {func(f *fake) { f.handler = fixedResponse(503, "Work queue depth exceeded") }, "HTTP status 503: Work queue depth exceeded"},
		"a redirect":       {func(f *fake) { f.handler = fixedResponse(302, "") }, "HTTP status 302"},
		"no batches":       {func(f *fake) { f.handler = fixedResponse(500, `{"error":{"code":-32700,"message":"Parse error"}}`) }, "Parse error (-32700)"},
		"one answer only":  {func(f *fake) { f.handler = fixedResponse(200, `[{"id":0,"result":1}]`) }, "1 answers to 2 calls"},
		"a repeated ID":    {func(f *fake) { f.handler = fixedResponse(200, `[{"id":1,"result":1},{"id":1,"result":1}]`) }, "answer with an unknown or repeated ID"},
		"no ID":            {func(f *fake) { f.handler = fixedResponse(200, `[{"result":1},{"id":1,"result":1}]`) }, "answer with an unknown or repeated ID"},
		"half an answer":   {func(f *fake) { f.handler = rewrittenResponse(f, func(b []byte) []byte { return b[:len(b)/2] }) }, "answer is not JSON-RPC"},
		"an empty answer":  {func(f *fake) { f.handler = fixedResponse(200, "") }, "answer is not JSON-RPC"},
		"other types":      {func(f *fake) { f.answers["getblockchaininfo"] = result([]string{"regtest"}) }, "getblockchaininfo: unexpected result"},
		"a height as text": {func(f *fake) { f.answers["getblockchaininfo"] = changedInfo(f, "blocks", "many") }, "unexpected result"},
		"a height below 0": {func(f *fake) { f.answers["getblockchaininfo"] = changedInfo(f, "blocks", -5) }, "node reports block -5 of 112"},
		"null":             {func(f *fake) { f.answers["getblockchaininfo"] = result(nil) }, "getblockchaininfo: empty result"},
		"no hash":          {func(f *fake) { f.answers["getblockchaininfo"] = changedInfo(f, "bestblockhash", "zz") }, `"zz" is not a hash`},
		"no best block":    {func(f *fake) { f.answers["getblockheader"] = refuses(-5, "Block not found") }, "node does not have its own best block "},
		"a short header":   {func(f *fake) { f.answers["getblockheader"] = result("0001") }, `malformed header "0001"`},
		"another header":   {func(f *fake) { f.answers["getblockheader"] = result(encode(&f.best[5].Header)) }, "asked for the header of block "},
		"another block":    {func(f *fake) { f.answers["getblock"] = result(encode(f.best[5])) }, "asked for block "},
		"other transactions": {func(f *fake) {
			f.answers["getblock"] = changedTip(f, func(b *wire.MsgBlock) { b.Transactions = b.Transactions[:1] })
		}, "transactions do not match the Merkle root"},
		"a block without transactions": {func(f *fake) {
			f.answers["getblock"] = changedTip(f, func(b *wire.MsgBlock) { b.Transactions = nil })
		}, "transactions do not match the Merkle root"},
		"a negative amount in a block": {func(f *fake) { f.useNegativeAmount() },
			"units in output 0"},
		"no block": {func(f *fake) { f.answers["getblock"] = result("") }, "getblock: unexpected result"},
		"mempool is not a list": {func(f *fake) { f.answers["getrawmempool"] = result(map[string]any{}) },
			"getrawmempool: unexpected result"},
		"mempool without hashes": {func(f *fake) { f.answers["getrawmempool"] = result([]string{"ZZ"}) }, `"ZZ" is not a hash`},
		"another transaction": {func(f *fake) { f.answers["getrawtransaction"] = result(encode(f.best[3].Transactions[0])) },
			"asked for transaction "},
		"no transaction": {func(f *fake) { f.answers["getrawtransaction"] = result(12) }, "unexpected result"},
		"a negative amount in the mempool": {func(f *fake) {
			f.mempool[0].TxOut[0].Value = -1
		}, "pays -1 units in output 0"},
		"no answer": {func(f *fake) {
			f.handler = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}, "no complete answer within 2s"},
		"a very slow answer": {func(f *fake) {
			f.handler = func(w http.ResponseWriter, r *http.Request) {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for r.Context().Err() == nil {
					_, _ = w.Write([]byte(" "))
					_ = http.NewResponseController(w).Flush()
					<-tick.C
				}
			}
		}, "no complete answer within 2s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 110)
			source := f.source(func(c *node.Config) {
				if strings.HasSuffix(test.want, "within 2s") {
					c.Timeout = 2 * time.Second
				}
			})
			scanner, watch := scannerOf(source, f.clock.Now), chaintest.Watch{destination(1): true}
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
				test.fault(f)
			})

			snapshot, err := scanner.Scan(t.Context(), cursor, watch)
			if err == nil || !strings.Contains(err.Error(), test.want) || snapshot.Transfers != nil || !snapshot.Started.IsZero() {
				t.Fatalf("Scan() = %+v, %v\nwant no transfers and %q", snapshot.Transfers, err, test.want)
			}
			if fault := source.Health().Fault; !strings.Contains(fault, test.want) {
				t.Errorf("Health().Fault = %q, want %q", fault, test.want)
			}

			f.set(func() {
				f.handler, f.pass, f.best = nil, pass, best
				clear(f.answers)
				f.mempool[0].TxOut[0].Value = 3000
				best[len(best)-1] = &last
			})
			mustScan(t, scanner, cursor, watch, "0.00001", "0.00002", "0.00003")
			if fault := source.Health().Fault; fault != "" {
				t.Errorf("Health().Fault = %q, want none after the fault", fault)
			}
		})
	}
}

// useNegativeAmount replaces the newest block with a block that has a negative amount and a matching
// header.
func (f *fake) useNegativeAmount() {
	b := f.best[len(f.best)-1]
	tx := b.Transactions[1].Copy()
	tx.TxOut[0].Value = -1
	invalid := &wire.MsgBlock{Header: b.Header, Transactions: []*wire.MsgTx{b.Transactions[0], tx}}
	invalid.Header.MerkleRoot = blockchain.CalcMerkleRoot([]*btcutil.Tx{btcutil.NewTx(b.Transactions[0]), btcutil.NewTx(tx)}, false)
	f.heights[invalid.BlockHash().String()] = len(f.best) - 1
	f.best[len(f.best)-1] = invalid
}

// mustScan scans and compares the amounts of the transfers.
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

func TestNode_reports_a_failed_connection(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source()
	f.server.Close()
	_, err := n.Best(t.Context())
	if err == nil || !strings.Contains(err.Error(), "find the best block: getblockchaininfo: connection failed: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Best() = %v, want an error for a failed connection", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("error contains the password: %v", err)
	}
}

func TestNode_refuses_an_endless_answer(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.handler = func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}
	if _, err := f.source().Best(t.Context()); err == nil || !strings.Contains(err.Error(), "answer is larger than 67108864 bytes") {
		t.Errorf("Best() = %v, want an error for a too long answer", err)
	}
}

func TestNode_has_no_fault_after_a_canceled_scan(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	n := f.source()
	errEnded := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	f.handler = func(_ http.ResponseWriter, r *http.Request) {
		cancel(errEnded)
		<-r.Context().Done()
	}
	if _, err := n.Best(ctx); err == nil || n.Health().Fault != "" {
		t.Errorf("Best() = %v with the fault %q, want an error and no fault", err, n.Health().Fault)
	}
}

func TestNode_without_initialblockdownload_is_checked_by_its_newest_block(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	withoutField := func([]json.RawMessage) (any, int, string) {
		info := f.info()
		info["chain"] = "signet"
		delete(info, "initialblockdownload")
		return info, 0, ""
	}
	f.answers["getblockchaininfo"] = withoutField
	n := f.source(func(c *node.Config) { c.Chain = "signet" })
	if _, err := n.Best(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(4 * time.Hour)
	if _, err := n.Best(t.Context()); err == nil || !strings.Contains(err.Error(), "catching up: the newest block is of 2027-01-15T12:00:00Z") {
		t.Errorf("Best() = %v, want an error for an old block", err)
	}
	f.answers["getblockchaininfo"] = changedInfo(f, "chain", "signet") // with initialblockdownload false
	if _, err := n.Best(t.Context()); err != nil {
		t.Errorf("Best() = %v, want no error for a node that has caught up", err)
	}
	if h := n.Health(); h.Fault != "" || !strings.Contains(h.Progress, "the newest block is of") {
		t.Errorf("Health() = %+v, want a hint", h)
	}
}

func TestNode_accepts_btcds_names_of_networks(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.answers["getblockchaininfo"] = changedInfo(f, "chain", "mainnet")
	if _, err := f.source(func(c *node.Config) { c.Chain = "main" }).Best(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNode_of_a_split_coin_fails_at_the_checkpoint(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	n := f.source(func(c *node.Config) { c.Checkpoint = bitcoin.Checkpoint{Height: 3, Hash: destination(3)} })
	if _, err := n.Best(t.Context()); err != nil {
		t.Errorf("Best() = %v, want no error below the checkpoint", err)
	}
	f.mine()
	hash := f.best[3].BlockHash().String()
	want := "block 3 is " + hash + ", want " + destination(3) + ": the node is of another coin, see CHEQUER_BITCOIN_NODE"
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
		t.Errorf("getblockhash was called %d times, want 3 calls for the first block and 1 for the checkpoint", got)
	}
}

func TestNode_returns_ErrNoBlock(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	n := f.source()
	if _, err := n.AtHeight(t.Context(), 4); !errors.Is(err, utxo.ErrNoBlock) {
		t.Errorf("AtHeight(4) = %v, want %v", err, utxo.ErrNoBlock)
	}
	f.answers["getblockhash"] = refuses(-1, "Block number out of range") // btcd
	if _, err := n.AtHeight(t.Context(), 4); !errors.Is(err, utxo.ErrNoBlock) {
		t.Errorf("AtHeight(4) = %v, want %v", err, utxo.ErrNoBlock)
	}
	if _, err := n.Block(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, utxo.ErrNoBlock) {
		t.Errorf("Block() = %v, want %v", err, utxo.ErrNoBlock)
	}
	if fault := n.Health().Fault; fault != "" {
		t.Errorf("Health().Fault = %q, want none", fault)
	}
}

func TestNew_refuses_invalid_URLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:8332", "ftp://127.0.0.1", "http://", "http://%zz"} {
		if n, err := node.New(node.Config{URL: url, Setting: "CHEQUER_BITCOIN_NODE"}); err == nil || n != nil {
			t.Errorf("New(%q) = %v, %v, want an error", url, n, err)
		}
	}
}
