package daemon_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"chequer/internal/chain/monero/daemon"
)

// FuzzAnswer answers each call with the same text, as the answer or as the result of JSON-RPC. A result without an error
// has hashes, heights and JSON of the right form.
func FuzzAnswer(f *testing.F) {
	fake := newFake(f)
	for _, name := range []string{"get_info", "get_block", "/get_transactions", "/get_transaction_pool", "/get_transaction_pool_hashes"} {
		fake.pool = []string{hashOf("pool", 1)}
		text, err := json.Marshal(fake.trueAnswer(name, json.RawMessage(`{"height": 3}`), []string{hashOf("pool", 1), hashOf("pool", 2)}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), true)
		f.Add(string(text), false)
	}
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"status":"OK"}`, `{"status":"OK","txs":[{}]}`, `{"status":"OK","transactions":[{}],"tx_hashes":[""],"headers":[{},{}]}`,
		`{"id":"chequer","error":{"code":-2}}`, `{"id":"chequer","error":null,"result":null}`, `{"status":"OK","height":18446744073709551616}`,
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	var answer string
	var inside bool
	fake.handler = func(w http.ResponseWriter, r *http.Request) {
		text := answer
		if inside && r.URL.Path == "/json_rpc" {
			text = `{"id":"chequer","result":` + text + `}`
		}
		_, _ = io.WriteString(w, text)
	}
	client := fake.client()
	f.Fuzz(func(t *testing.T, text string, isResult bool) {
		fake.set(func() { answer, inside = text, isResult })
		checkHash := func(hash string) {
			if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 {
				t.Errorf("hash %q", hash)
			}
		}
		checkHeader := func(h daemon.Header, height int64) {
			checkHash(h.Hash)
			checkHash(h.PrevHash)
			if h.Height != height || h.MajorVersion < 1 || h.MajorVersion > 255 || h.Time.Year() > 2300 {
				t.Errorf("header %+v, want height %d", h, height)
			}
		}
		checkTx := func(tx daemon.Tx) {
			checkHash(tx.Hash)
			if !json.Valid(tx.JSON) || tx.JSON[0] != '{' || tx.Height < 0 || tx.ReceivedAt.Year() > 2300 {
				t.Errorf("transaction %+v", tx)
			}
		}
		if info, err := client.Info(t.Context()); err == nil {
			checkHash(info.TopHash)
			if info.Height < 0 || info.Target < 0 || info.PoolSize < 0 || info.Network == "" {
				t.Errorf("info %+v", info)
			}
		}
		if headers, err := client.Headers(t.Context(), 3, 4); err == nil {
			if len(headers) != 2 {
				t.Fatalf("%d headers", len(headers))
			}
			checkHeader(headers[0], 3)
			checkHeader(headers[1], 4)
		}
		if h, err := client.HeaderOf(t.Context(), hashOf("block", 3)); err == nil && h.Hash != hashOf("block", 3) {
			t.Errorf("header of block %s", h.Hash)
		}
		if block, err := client.Block(t.Context(), 3); err == nil {
			checkHeader(block.Header, 3)
			checkHash(block.MinerTxHash)
			for _, hash := range block.TxHashes {
				checkHash(hash)
			}
			if !json.Valid(block.MinerTx) || block.MinerTx[0] != '{' {
				t.Errorf("transaction of the miner %q", block.MinerTx)
			}
		}
		txs, err := client.Transactions(t.Context(), []string{hashOf("pool", 1), hashOf("pool", 2)})
		missed, _ := errors.AsType[*daemon.MissedError](err)
		if err == nil && len(txs) != 2 || missed != nil && len(txs)+len(missed.Hashes) != 2 || err != nil && missed == nil && txs != nil {
			t.Errorf("Transactions() = %+v, %v", txs, err)
		}
		for _, tx := range txs {
			checkTx(tx)
		}
		if txs, err := client.Pool(t.Context()); err == nil {
			for _, tx := range txs {
				checkTx(tx)
			}
		}
		if hashes, err := client.PoolHashes(t.Context()); err == nil {
			for _, hash := range hashes {
				checkHash(hash)
			}
		}
	})
}
