package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/monero/daemon"
)

func wantHeader(height int64) daemon.Header {
	return daemon.Header{
		Hash: hashOf("block", height), PrevHash: hashOf("block", height-1), Height: height,
		Time: noon.Add(time.Duration(height-20) * 2 * time.Minute), MajorVersion: 16,
	}
}

func TestTip_returns_the_newest_block(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.pool = []string{hashOf("pool", 1)}
	info, tip, err := f.client().Tip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := daemon.Info{Network: daemon.Mainnet, Height: 20, TopHash: hashOf("block", 20), Synchronized: true, PoolSize: 1, Version: "0.18.5.1-release"}
	if diff := cmp.Diff(info, want); diff != "" {
		t.Errorf("Info differs (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(tip, wantHeader(20)); diff != "" {
		t.Errorf("Header differs (-got +want):\n%s", diff)
	}
}

// change returns a true answer with some fields changed.
func (f *fake) change(name string, params map[string]any, fields map[string]any) any {
	text, err := json.Marshal(params)
	if err != nil {
		f.t.Fatal(err)
	}
	answer := f.trueAnswer(name, text, nil).(map[string]any)
	for key, value := range fields {
		part := answer
		if inner, isInner := strings.CutPrefix(key, "block_header."); isInner {
			part, key = answer["block_header"].(map[string]any), inner
		}
		part[key] = value
	}
	return answer
}

func TestTip_refuses_a_daemon_that_cannot_be_used(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		info, header map[string]any
		want         string
		equals       error
	}{
		"another network": {
			info: map[string]any{"nettype": "stagenet"}, want: "the daemon is on stagenet, want mainnet as in CHEQUER_MONERO_NODE",
			equals: &daemon.NetworkError{Got: "stagenet", Want: "mainnet", Setting: "CHEQUER_MONERO_NODE"},
		},
		"behind its peers": {
			info: map[string]any{"target_height": 1226}, want: "synchronizing: 1,205 blocks to go", equals: &daemon.BehindError{Height: 20, Target: 1225},
		},
		"not synchronized":    {info: map[string]any{"synchronized": false}, want: "synchronizing at block 20", equals: &daemon.BehindError{Height: 20}},
		"busy":                {info: map[string]any{"busy_syncing": true, "target_height": 21}, want: "synchronizing at block 20", equals: &daemon.BehindError{Height: 20, Target: 20}},
		"an old block":        {header: map[string]any{"block_header.timestamp": noon.Add(-3*time.Hour - time.Minute).Unix()}, want: "newest block 20 of the daemon is 3 h old", equals: &daemon.OldTipError{Height: 20, Age: 3*time.Hour + time.Minute}},
		"a block of days ago": {header: map[string]any{"block_header.timestamp": noon.Add(-75 * time.Hour).Unix()}, want: "is 3 days old", equals: &daemon.OldTipError{Height: 20, Age: 75 * time.Hour}},
		"a new hard fork":     {header: map[string]any{"block_header.major_version": 17}, want: "block 20 is of hard fork 17, and this version of Chequer reads blocks up to hard fork 16: update Chequer", equals: &daemon.ForkError{Height: 20, Version: 17}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.answers["get_info"] = f.change("get_info", nil, test.info)
			f.answers["get_block_header_by_hash"] = f.change("get_block_header_by_hash", map[string]any{"hash": hashOf("block", 20)}, test.header)
			info, _, err := f.client().Tip(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Tip() = %v, want %q", err, test.want)
			}
			var got error
			for e := err; e != nil; e = errors.Unwrap(e) {
				got = e
			}
			if diff := cmp.Diff(got, test.equals); diff != "" {
				t.Errorf("error differs (-got +want):\n%s", diff)
			}
			if info.Height != 20 {
				t.Errorf("Tip() returns height %d with the error, want 20", info.Height)
			}
		})
	}
}

func TestTip_accepts_old_blocks_on_a_regression_test_network(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answers["get_info"] = f.change("get_info", nil, map[string]any{"nettype": "fakechain"})
	f.clock.Advance(1000 * time.Hour)
	if _, _, err := f.client(func(c *daemon.Config) { c.Network = daemon.Fakechain }).Tip(t.Context()); err != nil {
		t.Errorf("Tip() = %v", err)
	}
}

func TestHeaders_asks_for_a_thousand_at_a_time(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.height = 2100
	headers, err := f.client().Headers(t.Context(), 50, 2100)
	if err != nil {
		t.Fatal(err)
	}
	var want []daemon.Header
	for h := range int64(2051) {
		want = append(want, wantHeader(50+h))
	}
	if diff := cmp.Diff(headers, want); diff != "" {
		t.Errorf("Headers() differs (-got +want):\n%s", diff)
	}
	if len(f.calls) != 3 {
		t.Errorf("%d calls, want 3", len(f.calls))
	}
	if _, err := f.client().Headers(t.Context(), 2100, 2101); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("Headers() above the chain = %v, want ErrNoBlock", err)
	}
}

func TestHeaderOf_returns_ErrNoBlock(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if _, err := f.client().HeaderOf(t.Context(), hashOf("block", 21)); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("HeaderOf() of an unknown block = %v, want ErrNoBlock", err)
	}
	f.answers["get_block_header_by_hash"] = f.change("get_block_header_by_hash", map[string]any{"hash": hashOf("block", 20)}, map[string]any{"block_header.orphan_status": true})
	if _, err := f.client().HeaderOf(t.Context(), hashOf("block", 20)); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("HeaderOf() of a replaced block = %v, want ErrNoBlock", err)
	}
}

func TestBlock_returns_the_block_at_a_height(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	block, err := f.client().Block(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	want := daemon.Block{
		Header: wantHeader(5), MinerTx: json.RawMessage(`{"version": 2, "vin": [{"gen": {"height": 5}}]}`),
		MinerTxHash: hashOf("miner", 5), TxHashes: transactionsOf(5),
	}
	if diff := cmp.Diff(block, want); diff != "" {
		t.Errorf("Block(5) differs (-got +want):\n%s", diff)
	}
	if block, err := f.client().Block(t.Context(), 0); err != nil || len(block.TxHashes) != 0 {
		t.Errorf("Block(0) = %v, %v, want a block without transactions", block, err)
	}
	if _, err := f.client().Block(t.Context(), 21); !errors.Is(err, daemon.ErrNoBlock) {
		t.Errorf("Block() above the chain = %v, want ErrNoBlock", err)
	}
}

func TestBlock_refuses_answers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields map[string]any
		want   string
	}{
		"another height":             {map[string]any{"block_header.height": 6}, "asked for height 5, got 6"},
		"an impossible height":       {map[string]any{"block_header.height": uint64(1<<64 - 1)}, "height 18446744073709551615"},
		"an impossible time":         {map[string]any{"block_header.timestamp": uint64(1<<64 - 1)}, "time 18446744073709551615"},
		"no hash":                    {map[string]any{"block_header.hash": ""}, `"" is not a hash`},
		"a malformed previous hash":  {map[string]any{"block_header.prev_hash": "xyz\n"}, `"xyz" is not a hash`},
		"a malformed transaction":    {map[string]any{"tx_hashes": []string{hashOf("", 1), strings.ToUpper(hashOf("", 2))}}, "is not a hash"},
		"no version":                 {map[string]any{"block_header.major_version": 0}, "header without a version"},
		"no JSON":                    {map[string]any{"json": ""}, "JSON of the block"},
		"JSON of another block":      {map[string]any{"json": `{"prev_id": "` + hashOf("block", 5) + `", "miner_tx": {}}`}, "the JSON is of another block"},
		"no transaction of a miner":  {map[string]any{"json": `{"prev_id": "` + hashOf("block", 4) + `"}`}, "transaction of the miner"},
		"a field of another type":    {map[string]any{"tx_hashes": 1}, "cannot unmarshal number"},
		"a negative height":          {map[string]any{"block_header.height": -1}, "cannot unmarshal number -1"},
		"a new hard fork":            {map[string]any{"block_header.major_version": 17}, "update Chequer"},
		"another status":             {map[string]any{"status": "Failed"}, "the daemon answers: Failed"},
		"no status":                  {map[string]any{"status": ""}, "no status"},
		"data of a bootstrap daemon": {map[string]any{"untrusted": true}, "bootstrap daemon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.answers["get_block"] = f.change("get_block", map[string]any{"height": 5}, test.fields)
			_, err := f.client().Block(t.Context(), 5)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "daemon at 127.0.0.1:") {
				t.Errorf("Block(5) = %v, want %q after the name of the daemon", err, test.want)
			}
		})
	}
}

func TestCalls_return_the_errors_of_the_daemon(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer any
		want   string
		is     error
	}{
		"an error":           {refusal{-1, "Invalid\nparameter"}, "get_info: the daemon answers: Invalid parameter (-1)", nil},
		"a busy daemon":      {refusal{-9, "Core is busy"}, "Core is busy (-9)", daemon.ErrBusy},
		"a busy status":      {map[string]any{"status": "BUSY"}, "busy synchronizing", daemon.ErrBusy},
		"a restricted RPC":   {refusal{-19, "Too many block headers requested."}, "Too many block headers", daemon.ErrRestricted},
		"bootstrap":          {map[string]any{"status": "OK", "untrusted": true}, "bootstrap", daemon.ErrBootstrap},
		"an unknown call":    {nil, "HTTP status 404", nil},
		"a page":             {raw("<html>\n<p>Hello"), `not JSON of monerod: "<html> <p>Hello"`, daemon.ErrAnswer},
		"nothing":            {raw(""), `not JSON of monerod: ""`, daemon.ErrAnswer},
		"null":               {raw("null"), "to another call", daemon.ErrAnswer},
		"another call":       {raw(`{"id":"0","result":{"status":"OK"}}`), "to another call", daemon.ErrAnswer},
		"no result":          {raw(`{"id":"chequer"}`), "not JSON of monerod", daemon.ErrAnswer},
		"an empty result":    {map[string]any{"status": "OK"}, "no height or no network", daemon.ErrAnswer},
		"half an answer":     {raw(`{"id":"chequer","result":{"sta`), "not JSON of monerod", daemon.ErrAnswer},
		"too large":          {raw(strings.Repeat(" ", 1<<20+1)), "more than 1,048,576 bytes", daemon.ErrTooLarge},
		"a text of megabyte": {raw(strings.Repeat("x", 1<<20)), "not JSON of monerod", daemon.ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.answers["get_info"] = test.answer
			_, err := f.client().Info(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Info() = %v, want %q and %v", err, test.want, test.is)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

func TestCalls_return_the_HTTP_status(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for status, want := range map[int]string{
		http.StatusMovedPermanently:    "HTTP status 301: a redirect, which is not followed",
		http.StatusTemporaryRedirect:   "HTTP status 307: a redirect, which is not followed",
		http.StatusForbidden:           "HTTP status 403: no entry",
		http.StatusInternalServerError: "HTTP status 500: no entry",
		http.StatusBadGateway:          "HTTP status 502: no entry",
	} {
		f.set(func() {
			f.handler = func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/json_rpc" {
					t.Errorf("a call to %s", r.URL.Path)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				fmt.Fprint(w, "no\nentry")
			}
		})
		if _, err := f.client().Info(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("status %d: Info() = %v, want %q", status, err, want)
		}
	}
}

func TestTransactions_asks_for_a_hundred_at_a_time(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.restricted, f.height = true, 250
	hashes := transactionsOf(250)
	slices.Reverse(hashes)
	txs, err := f.client().Transactions(t.Context(), hashes)
	if err != nil {
		t.Fatal(err)
	}
	var want []daemon.Tx
	for _, hash := range hashes {
		want = append(want, daemon.Tx{Hash: hash, JSON: json.RawMessage(txJSON(hash)), Height: 250})
	}
	if diff := cmp.Diff(txs, want); diff != "" {
		t.Errorf("Transactions() differs (-got +want):\n%s", diff)
	}
	if want := []int{100, 100, 50}; !slices.Equal(f.batches, want) {
		t.Errorf("batches of %d, want %d", f.batches, want)
	}
}

func TestTransactions_returns_the_others_with_a_MissedError(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	pool := hashOf("pool", 1)
	f.pool = []string{pool}
	missing := []string{hashOf("missing", 1), hashOf("missing", 2)}
	mined := transactionsOf(3)[2]
	txs, err := f.client().Transactions(t.Context(), []string{missing[0], pool, missing[1], mined})
	var missed *daemon.MissedError
	if !errors.As(err, &missed) || !slices.Equal(missed.Hashes, missing) {
		t.Errorf("Transactions() = %v, want a MissedError with %v", err, missing)
	}
	want := []daemon.Tx{
		{Hash: pool, JSON: json.RawMessage(txJSON(pool)), InPool: true, ReceivedAt: noon, DoubleSpendSeen: true, Relayed: true},
		{Hash: mined, JSON: json.RawMessage(txJSON(mined)), Height: 3},
	}
	if diff := cmp.Diff(txs, want); diff != "" {
		t.Errorf("Transactions() differs (-got +want):\n%s", diff)
	}
}

func TestMissedError_lists_a_few_hashes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "the daemon does not have the transaction a", 3: "the daemon does not have the transactions a, a, a",
		1203: "the daemon does not have the transactions a, a, a and 1,200 more",
	} {
		if got := (&daemon.MissedError{Hashes: slices.Repeat([]string{"a"}, n)}).Error(); got != want {
			t.Errorf("%d hashes: %q, want %q", n, got, want)
		}
	}
}

func TestTransactions_refuses_answers(t *testing.T) {
	t.Parallel()
	hash := hashOf("pool", 1)
	for name, test := range map[string]struct {
		answer any
		want   string
		is     error
	}{
		"restricted":           {map[string]any{"status": "Too many transactions requested in restricted mode"}, "Too many transactions", daemon.ErrRestricted},
		"another transaction":  {map[string]any{"status": "OK", "txs": []any{map[string]any{"tx_hash": hashOf("pool", 2), "as_json": "{}"}}}, "not asked for", daemon.ErrAnswer},
		"nothing":              {map[string]any{"status": "OK"}, "nothing about transaction " + hash, daemon.ErrAnswer},
		"another missed one":   {map[string]any{"status": "OK", "missed_tx": []string{hashOf("pool", 2)}}, "nothing about transaction " + hash, daemon.ErrAnswer},
		"no JSON":              {map[string]any{"status": "OK", "txs": []any{map[string]any{"tx_hash": hash}}}, "not an object of JSON", daemon.ErrAnswer},
		"an array":             {map[string]any{"status": "OK", "txs": []any{map[string]any{"tx_hash": hash, "as_json": "[1]"}}}, "not an object of JSON", daemon.ErrAnswer},
		"half of its JSON":     {map[string]any{"status": "OK", "txs": []any{map[string]any{"tx_hash": hash, "as_json": `{"a":`}}}, "not an object of JSON", daemon.ErrAnswer},
		"an impossible height": {map[string]any{"status": "OK", "txs": []any{map[string]any{"tx_hash": hash, "as_json": "{}", "block_height": uint64(1<<64 - 1)}}}, "height 18446744073709551615", daemon.ErrAnswer},
		"an impossible time":   {map[string]any{"status": "OK", "txs": []any{map[string]any{"tx_hash": hash, "as_json": "{}", "in_pool": true, "received_timestamp": uint64(1<<64 - 1)}}}, "time 18446744073709551615", daemon.ErrAnswer},
		"a parse error":        {map[string]any{"status": "Failed to parse hex representation of transaction hash"}, "Failed to parse hex", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.answers["/get_transactions"] = test.answer
			_, err := f.client().Transactions(t.Context(), []string{hash})
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Transactions() = %v, want %q and %v", err, test.want, test.is)
			}
		})
	}
}

func TestPool_returns_the_transactions_and_their_times(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.client()
	if txs, err := c.Pool(t.Context()); err != nil || len(txs) != 0 {
		t.Errorf("Pool() of an empty pool = %v, %v", txs, err)
	}
	if hashes, err := c.PoolHashes(t.Context()); err != nil || len(hashes) != 0 {
		t.Errorf("PoolHashes() of an empty pool = %v, %v", hashes, err)
	}
	hash := hashOf("pool", 1)
	f.set(func() { f.pool = []string{hash} })
	txs, err := c.Pool(t.Context())
	want := []daemon.Tx{{Hash: hash, JSON: json.RawMessage(txJSON(hash)), InPool: true, ReceivedAt: noon, DoubleSpendSeen: true, Relayed: true}}
	if diff := cmp.Diff(txs, want); diff != "" || err != nil {
		t.Errorf("Pool() = %v; differs (-got +want):\n%s", err, diff)
	}
	if hashes, err := c.PoolHashes(t.Context()); err != nil || !slices.Equal(hashes, []string{hash}) {
		t.Errorf("PoolHashes() = %v, %v", hashes, err)
	}
}

func TestPool_of_a_restricted_daemon_is_read_by_its_hashes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.restricted, f.pool = true, []string{hashOf("pool", 1)}
	c := f.client()
	if _, err := c.Pool(t.Context()); !errors.Is(err, daemon.ErrRestricted) {
		t.Errorf("Pool() = %v, want ErrRestricted", err)
	}
	hashes, err := c.PoolHashes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	txs, err := c.Transactions(t.Context(), hashes)
	if err != nil || len(txs) != 1 || !txs[0].InPool || !txs[0].ReceivedAt.IsZero() {
		t.Errorf("Transactions() = %+v, %v, want a transaction in the pool without a time", txs, err)
	}
}

func TestPool_refuses_answers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tx   map[string]any
		want string
	}{
		"a malformed hash":   {map[string]any{"id_hash": "1", "tx_json": "{}"}, "is not a hash"},
		"no JSON":            {map[string]any{"id_hash": hashOf("", 1)}, "not an object"},
		"an impossible time": {map[string]any{"id_hash": hashOf("", 1), "tx_json": "{}", "receive_time": uint64(1<<64 - 1)}, "time 18446744073709551615"},
	} {
		f := newFake(t)
		f.answers["/get_transaction_pool"] = map[string]any{"status": "OK", "transactions": []any{test.tx}}
		if _, err := f.client().Pool(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Pool() = %v, want %q", name, err, test.want)
		}
	}
	f := newFake(t)
	f.answers["/get_transaction_pool_hashes"] = map[string]any{"status": "OK", "tx_hashes": []string{"x"}}
	if _, err := f.client().PoolHashes(t.Context()); !errors.Is(err, daemon.ErrAnswer) {
		t.Errorf("PoolHashes() = %v, want ErrAnswer", err)
	}
}

func TestPool_is_limited_in_size(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.handler = func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range 65 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	if _, err := f.client().Pool(t.Context()); !errors.Is(err, daemon.ErrTooLarge) {
		t.Errorf("Pool() = %v, want ErrTooLarge", err)
	}
}
