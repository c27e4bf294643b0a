package node_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/clocktest"
)

// fake is a fake node, whose answers can be changed.
type fake struct {
	t      *testing.T
	server *httptest.Server
	clock  *clocktest.Clock

	mu      sync.Mutex
	best    []*wire.MsgBlock
	heights map[string]int // by hash
	mempool []*wire.MsgTx
	entered map[string]time.Time // time at which a transaction entered the mempool
	started time.Time
	// clockLead is the time by which its clock is ahead of the test's clock.
	clockLead time.Duration
	calls     map[string]int
	// answers replace the true answers, by method.
	answers map[string]answer
	// handler replaces all answers.
	handler http.HandlerFunc
	user    string
	pass    string
}

// answer returns a result, or an error with its code and message.
type answer func(params []json.RawMessage) (result any, code int, message string)

func result(result any) answer {
	return func([]json.RawMessage) (any, int, string) { return result, 0, "" }
}

func refuses(code int, message string) answer {
	return func([]json.RawMessage) (any, int, string) { return nil, code, message }
}

var noon = time.Date(2027, 1, 15, 12, 0, 0, 500_000_000, time.UTC)

func newFake(t *testing.T, height int) *fake {
	f := &fake{
		t: t, clock: clocktest.New(noon), started: noon.Add(-48 * time.Hour), user: "test", pass: "secret",
		best:    []*wire.MsgBlock{chaincfg.RegressionNetParams.GenesisBlock},
		heights: map[string]int{chaincfg.RegressionNetParams.GenesisHash.String(): 0},
		entered: map[string]time.Time{}, calls: map[string]int{}, answers: map[string]answer{},
	}
	for len(f.best) <= height {
		f.mine()
	}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.server.Close)
	return f
}

// source returns a Node that reads the fake, with settings that a test changes.
func (f *fake) source(change ...func(*node.Config)) *node.Node {
	f.t.Helper()
	c := node.Config{
		URL: f.server.URL, User: f.user, Password: f.pass, Setting: "CHEQUER_BITCOIN_NODE",
		Chain: "regtest", Genesis: chaincfg.RegressionNetParams.GenesisHash.String(),
		Now: f.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	for _, change := range change {
		change(&c)
	}
	n, err := node.New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// set changes the fake under its lock.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// newPayment returns a transaction with a new input.
func (f *fake) newPayment(script string, units int64) *wire.MsgTx {
	raw, err := hex.DecodeString(script)
	if err != nil {
		f.t.Fatal(err)
	}
	tx := wire.NewMsgTx(2)
	previous := chaincfg.RegressionNetParams.GenesisHash
	tx.AddTxIn(wire.NewTxIn(wire.NewOutPoint(previous, uint32(len(f.entered)+len(f.best)*1000)), []byte{1}, nil))
	tx.AddTxOut(wire.NewTxOut(units, raw))
	return tx
}

// send puts a payment into the mempool.
func (f *fake) send(script string, units int64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	tx := f.newPayment(script, units)
	f.mempool = append(f.mempool, tx)
	f.entered[tx.TxHash().String()] = f.clock.Now()
	return tx.TxHash().String()
}

// mine puts all transactions of the mempool into a block.
func (f *fake) mine() {
	f.mu.Lock()
	defer f.mu.Unlock()
	height := len(f.best)
	coinbase := wire.NewMsgTx(1)
	coinbase.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&chainhash.Hash{}, wire.MaxPrevOutIndex), []byte{byte(height), byte(height >> 8)}, nil))
	coinbase.AddTxOut(wire.NewTxOut(50e8, []byte{0x51}))
	txs := append([]*wire.MsgTx{coinbase}, f.mempool...)
	f.mempool = nil
	var list []*btcutil.Tx
	for _, tx := range txs {
		list = append(list, btcutil.NewTx(tx))
	}
	block := &wire.MsgBlock{Transactions: txs, Header: wire.BlockHeader{
		PrevBlock: f.best[height-1].BlockHash(), MerkleRoot: blockchain.CalcMerkleRoot(list, false),
		Timestamp: f.clock.Now().Truncate(time.Second), Bits: 0x207fffff,
	}}
	f.best = append(f.best, block)
	f.heights[block.BlockHash().String()] = height
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // all of it, so that the server notices when the client disconnects
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	handler := f.handler
	user, pass, _ := r.BasicAuth()
	allowed := user == f.user && pass == f.pass
	w.Header().Set("Date", f.clock.Now().Add(f.clockLead).UTC().Format(http.TimeFormat))
	f.mu.Unlock()
	if handler != nil {
		handler(w, r)
		return
	}
	if !allowed {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	f.rpc(w, r)
}

func (f *fake) rpc(w io.Writer, r *http.Request) {
	var calls []struct {
		ID     int
		Method string
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&calls); err != nil {
		f.t.Errorf("request: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []map[string]any
	for _, c := range calls {
		f.calls[c.Method]++
		respond := f.answers[c.Method]
		if respond == nil {
			respond = func(params []json.RawMessage) (any, int, string) { return f.trueAnswer(c.Method, params) }
		}
		answer := map[string]any{"id": c.ID}
		result, code, message := respond(c.Params)
		if code != 0 {
			answer["error"] = map[string]any{"code": code, "message": message}
		} else {
			answer["result"] = result
		}
		out = append(out, answer)
	}
	slices.Reverse(out) // a batch may be answered in any order
	if err := json.NewEncoder(w).Encode(out); err != nil {
		f.t.Logf("answer: %v", err)
	}
}

func (f *fake) trueAnswer(method string, params []json.RawMessage) (any, int, string) {
	text := func(i int) (s string) {
		if i < len(params) {
			_ = json.Unmarshal(params[i], &s)
		}
		return s
	}
	switch method {
	case "getblockchaininfo":
		return f.info(), 0, ""
	case "getblockhash":
		var height int
		_ = json.Unmarshal(params[0], &height)
		if height >= len(f.best) {
			return nil, -8, "Block height out of range"
		}
		return f.best[height].BlockHash().String(), 0, ""
	case "getblockheader", "getblock":
		height, known := f.heights[text(0)]
		switch {
		case !known:
			return nil, -5, "Block not found"
		case method == "getblock":
			return encode(f.best[height]), 0, ""
		case string(params[1]) == "false":
			return encode(&f.best[height].Header), 0, ""
		}
		return map[string]any{"height": height}, 0, ""
	case "getrawmempool":
		ids := []string{}
		for _, tx := range f.mempool {
			ids = append(ids, tx.TxHash().String())
		}
		return ids, 0, ""
	case "getmempoolinfo":
		return map[string]any{"loaded": true}, 0, ""
	case "getnetworkinfo":
		return map[string]any{"localrelay": true}, 0, ""
	case "getconnectioncount":
		return 8, 0, ""
	case "uptime":
		return int64(f.clock.Now().Sub(f.started) / time.Second), 0, ""
	case "getrawtransaction", "getmempoolentry":
		for _, tx := range f.mempool {
			if tx.TxHash().String() != text(0) {
				continue
			}
			if method == "getmempoolentry" {
				return map[string]any{"time": f.entered[text(0)].Unix()}, 0, ""
			}
			return encode(tx), 0, ""
		}
		return nil, -5, "No such mempool transaction"
	}
	return nil, -32601, "Method not found"
}

// info returns the true answer to getblockchaininfo.
func (f *fake) info() map[string]any {
	tip := f.best[len(f.best)-1].BlockHash().String()
	return map[string]any{
		"chain": "regtest", "blocks": len(f.best) - 1, "headers": len(f.best) - 1,
		"bestblockhash": tip, "initialblockdownload": false,
	}
}

func encode(message interface{ Serialize(io.Writer) error }) string {
	var b bytes.Buffer
	_ = message.Serialize(&b) // a bytes.Buffer never fails
	return hex.EncodeToString(b.Bytes())
}

// destination returns the script with a number.
func destination(i int) string { return fmt.Sprintf("0014%040x", i) }

func scannerOf(n *node.Node, now func() time.Time) chain.Scanner {
	return bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), n, now)
}
