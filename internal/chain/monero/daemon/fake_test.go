package daemon_test

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain/monero/daemon"
	"chequer/internal/clocktest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// fake is a fake monerod, whose answers can be changed. It asks for a login as epee does: each connection has a nonce,
// which is replaced after each refusal, and counts its requests.
type fake struct {
	t      testing.TB
	server *httptest.Server
	clock  *clocktest.Clock

	mu          sync.Mutex
	height      int64 // of the newest block
	pool        []string
	user, pass  string // no login if user is empty
	algorithms  []string
	restricted  bool
	answers     map[string]any // replace the true results, by method or path
	handler     http.HandlerFunc
	calls       []string
	batches     []int            // numbers of transactions asked for
	heights     map[string]int64 // of the blocks of transactions below height indexed
	indexed     int64
	challenges  int
	nonces      int
	connections int
}

type sessionKey struct{}

// session is the state of the login of a connection. See http_server_auth of epee.
type session struct {
	nonce string
	count int
}

func newFake(t testing.TB) *fake {
	f := &fake{heights: map[string]int64{}, t: t, clock: clocktest.New(noon), height: 20, algorithms: []string{"MD5", "MD5-sess"}, answers: map[string]any{}}
	f.server = f.start(func(s *httptest.Server) { s.Start() })
	return f
}

func (f *fake) start(start func(*httptest.Server)) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		f.set(func() { f.connections++ })
		return context.WithValue(ctx, sessionKey{}, &session{})
	}
	server.Config.ErrorLog = nil
	start(server)
	f.t.Cleanup(server.Close)
	return server
}

// set changes the fake under its lock.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// client returns a client of the fake, with settings that a test changes.
func (f *fake) client(change ...func(*daemon.Config)) *daemon.Client {
	f.t.Helper()
	c := daemon.Config{Network: daemon.Mainnet, Setting: "CHEQUER_MONERO_NODE", Now: f.clock.Now}
	c.Address = f.address("")
	for _, change := range change {
		change(&c)
	}
	client, err := daemon.New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(client.Close)
	return client
}

// address returns the address of the fake with a login, such as "user:password".
func (f *fake) address(login string) daemon.Address {
	f.t.Helper()
	text := f.server.URL
	if login != "" {
		text = strings.Replace(text, "://", "://"+login+"@", 1)
	}
	return parse(f.t, text)
}

func parse(t testing.TB, text string) daemon.Address {
	t.Helper()
	a, err := daemon.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handler != nil {
		handler := f.handler
		f.mu.Unlock()
		defer f.mu.Lock()
		handler(w, r)
		return
	}
	if f.user != "" && !f.loggedIn(w, r) {
		return
	}
	var request struct {
		ID     string
		Method string
		Params json.RawMessage
		Hashes []string `json:"txs_hashes"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		f.t.Errorf("request: %v", err)
	}
	name := r.URL.Path
	if name == "/json_rpc" {
		name = request.Method
	}
	f.calls = append(f.calls, name)
	result, replaced := f.answers[name]
	if !replaced {
		result = f.trueAnswer(name, request.Params, request.Hashes)
	}
	w.Header().Set("Content-Type", "application/json")
	switch result := result.(type) {
	case nil:
		http.NotFound(w, r)
	case raw:
		_, _ = io.WriteString(w, string(result))
	case refusal:
		write(w, map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{"code": result.code, "message": result.message}})
	default:
		if r.URL.Path == "/json_rpc" {
			result = map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result}
		}
		write(w, result)
	}
}

// raw is an answer that is sent as it is; refusal is an error of JSON-RPC.
type (
	raw     string
	refusal struct {
		code    int
		message string
	}
)

func write(w io.Writer, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

var field = regexp.MustCompile(`(\w+)="?([^",]*)"?`)

// loggedIn reports whether a request has a valid login, and sends a challenge otherwise.
func (f *fake) loggedIn(w http.ResponseWriter, r *http.Request) bool {
	s := r.Context().Value(sessionKey{}).(*session)
	isStale := false
	if authorization := r.Header.Get("Authorization"); authorization != "" {
		s.count++
		fields := map[string]string{}
		for _, m := range field.FindAllStringSubmatch(strings.TrimPrefix(authorization, "Digest "), -1) {
			fields[m[1]] = m[2]
		}
		if f.isValid(fields, r.URL.Path) {
			if fields["nonce"] == s.nonce && fields["nc"] == fmt.Sprintf("%08x", s.count) {
				return true
			}
			isStale = true
		}
	}
	s.count = 0
	f.nonces++
	f.challenges++
	s.nonce = fmt.Sprintf("nonce%d==", f.nonces)
	for _, a := range f.algorithms {
		w.Header().Add("WWW-authenticate", fmt.Sprintf(`Digest qop="auth",algorithm=%s,realm="monero-rpc",nonce="%s",stale=%t`, a, s.nonce, isStale))
	}
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, "<html><body><h1>401 Unauthorized</h1></body></html>")
	return false
}

func (f *fake) isValid(fields map[string]string, path string) bool {
	h := map[string]func() hash.Hash{"MD5": md5.New, "SHA-256": sha256.New}[fields["algorithm"]]
	if h == nil || !slices.Contains(f.algorithms, fields["algorithm"]) || fields["uri"] != path || fields["username"] != f.user {
		return false
	}
	sum := func(text string) string {
		hash := h()
		hash.Write([]byte(text))
		return hex.EncodeToString(hash.Sum(nil))
	}
	want := sum(sum(f.user+":monero-rpc:"+f.pass) + ":" + fields["nonce"] + ":" + fields["nc"] + ":" + fields["cnonce"] + ":" + fields["qop"] + ":" + sum("POST:"+path))
	return fields["response"] == want
}

// hashOf returns a hash with a number.
func hashOf(kind string, n int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return hex.EncodeToString(sum[:])
}

func (f *fake) header(height int64) map[string]any {
	return map[string]any{
		"hash": hashOf("block", height), "prev_hash": hashOf("block", height-1), "height": height, "major_version": 16, "minor_version": 16,
		"timestamp": noon.Add(time.Duration(height-20) * 2 * time.Minute).Unix(), "orphan_status": false, "miner_tx_hash": hashOf("miner", height),
	}
}

// transactionsOf returns the hashes of the transactions in a block.
func transactionsOf(height int64) []string {
	hashes := make([]string, height)
	for i := range hashes {
		hashes[i] = hashOf("transaction", height<<16|int64(i))
	}
	return hashes
}

// trueAnswer returns the result of a call, nil for an unknown one.
func (f *fake) trueAnswer(name string, params json.RawMessage, hashes []string) any {
	var p struct {
		Hash   string
		Height int64
		From   int64 `json:"start_height"`
		To     int64 `json:"end_height"`
	}
	_ = json.Unmarshal(params, &p)
	ok := func(fields map[string]any) map[string]any {
		fields["status"], fields["untrusted"] = "OK", false
		return fields
	}
	switch name {
	case "get_info":
		return ok(map[string]any{
			"height": f.height + 1, "target_height": 0, "nettype": "mainnet", "top_block_hash": hashOf("block", f.height), "tx_pool_size": len(f.pool),
			"synchronized": true, "busy_syncing": false, "restricted": f.restricted, "offline": false, "version": "0.18.5.1-release", "free_space": uint64(1<<64 - 1),
		})
	case "get_block_header_by_hash":
		for h := range f.height + 1 {
			if hashOf("block", h) == p.Hash {
				return ok(map[string]any{"block_header": f.header(h)})
			}
		}
		return refusal{-5, "Internal error: can't get block by hash. Hash = " + p.Hash + "."}
	case "get_block_headers_range":
		if p.To > f.height || p.From > p.To {
			return refusal{-2, "Invalid start/end heights."}
		}
		var list []any
		for h := p.From; h <= p.To; h++ {
			list = append(list, f.header(h))
		}
		return ok(map[string]any{"headers": list})
	case "get_block":
		if p.Height > f.height {
			return refusal{-2, fmt.Sprintf("Requested block height: %d greater than current top block height: %d", p.Height, f.height)}
		}
		answer := map[string]any{
			"block_header": f.header(p.Height), "miner_tx_hash": hashOf("miner", p.Height), "blob": "00",
			"json": fmt.Sprintf(`{"major_version": 16, "prev_id": %q, "miner_tx": {"version": 2, "vin": [{"gen": {"height": %d}}]}, "tx_hashes": []}`, hashOf("block", p.Height-1), p.Height),
		}
		if p.Height > 0 {
			answer["tx_hashes"] = transactionsOf(p.Height)
		}
		return ok(answer)
	case "/get_transactions":
		f.batches = append(f.batches, len(hashes))
		return f.transactions(ok, hashes)
	case "/get_transaction_pool_hashes":
		if len(f.pool) == 0 {
			return ok(map[string]any{})
		}
		return ok(map[string]any{"tx_hashes": f.pool})
	case "/get_transaction_pool":
		if f.restricted {
			return nil
		}
		var list []any
		for _, hash := range f.pool {
			list = append(list, map[string]any{
				"id_hash": hash, "tx_json": txJSON(hash), "receive_time": noon.Unix(), "double_spend_seen": true, "relayed": true, "do_not_relay": false,
			})
		}
		return ok(map[string]any{"transactions": list})
	}
	return nil
}

// txJSON returns a transaction in JSON, as monerod writes it.
func txJSON(hash string) string {
	return "{\n  \"version\": 2, \n  \"extra\": [ 1, 2],\n  \"of\": \"" + hash + "\"\n}"
}

func (f *fake) transactions(ok func(map[string]any) map[string]any, hashes []string) any {
	if f.restricted && len(hashes) > 100 {
		return map[string]any{"status": "Too many transactions requested in restricted mode", "untrusted": false}
	}
	answer := map[string]any{}
	var txs []any
	var missed []string
	for _, hash := range hashes {
		tx := map[string]any{"tx_hash": hash, "as_json": txJSON(hash), "in_pool": false, "double_spend_seen": false}
		switch height := f.heightOf(hash); {
		case height > 0:
			tx["block_height"] = height
		case slices.Contains(f.pool, hash):
			tx["in_pool"], tx["double_spend_seen"], tx["relayed"] = true, true, true
			if tx["received_timestamp"] = noon.Unix(); f.restricted {
				tx["received_timestamp"] = 0
			}
		default:
			missed = append(missed, hash)
			continue
		}
		txs = append(txs, tx)
	}
	if txs != nil { // monerod leaves out empty arrays
		answer["txs"] = txs
	}
	if missed != nil {
		answer["missed_tx"] = missed
	}
	return ok(answer)
}

// heightOf returns the height of the block of a transaction, 0 if there is none.
func (f *fake) heightOf(hash string) int64 {
	for ; f.indexed <= f.height; f.indexed++ {
		for _, tx := range transactionsOf(f.indexed) {
			f.heights[tx] = f.indexed
		}
	}
	return f.heights[hash]
}
