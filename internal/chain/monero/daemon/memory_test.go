package daemon_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/edwards25519"

	"chequer/internal/chain"
	"chequer/internal/chain/chaintest"
	network "chequer/internal/chain/monero"
	"chequer/internal/chain/monero/daemon"
	"chequer/internal/monero"
)

// memory is a chain of Monero in memory with the RPC of a daemon. It implements chaintest.UTXOHarness.
type memory struct {
	t       testing.TB
	server  *httptest.Server
	wallets []*monero.Wallet
	scanner *network.Scanner
	next    uint32                    // index of the next subaddress
	known   map[string]monero.Address // destinations by script

	mu         sync.Mutex
	blocks     []memoryBlock // by height
	txs        map[string]memoryTx
	pool       []string // hashes
	restricted bool
	contested  map[string]bool
	hidden     map[string]bool // left out of answers with transactions
	private    map[string]bool // in the pool, but not sent to peers
	rewards    map[int]string  // transactions of miners in JSON, by height
	isDown     bool
	onBlock    func()   // called before the first answer with a block
	broken     string   // hash of a transaction; calls for it fail
	asked      []string // hashes of transactions that were asked for
}

type memoryBlock struct {
	hash string
	time time.Time
	txs  []string
}

// memoryTx is a transaction with its key images.
type memoryTx struct {
	json     string
	images   []string
	received time.Time
}

var _ chaintest.UTXOHarness = (*memory)(nil)

// newMemory returns a chain of 80 blocks, and a wallet.
func newMemory(t testing.TB) *memory {
	t.Helper()
	m := &memory{t: t, known: map[string]monero.Address{}, txs: map[string]memoryTx{}, contested: map[string]bool{}, hidden: map[string]bool{}, private: map[string]bool{}, rewards: map[int]string{}}
	m.server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.server.Close)
	m.wallets = []*monero.Wallet{newWallet(t)}
	for range 80 {
		m.addBlock()
	}
	m.restart()
	return m
}

// restart returns the scanner of a new process.
func (m *memory) restart() {
	m.t.Helper()
	address, err := daemon.ParseAddress(m.server.URL)
	if err != nil {
		m.t.Fatal(err)
	}
	client, err := daemon.New(daemon.Config{Address: address, Network: daemon.Fakechain, Setting: "CHEQUER_MONERO_DAEMON", Now: time.Now})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(client.Close)
	source := daemon.NewSource(client, func(context.Context) ([]*monero.Wallet, error) { return m.wallets, nil }, time.Now)
	m.scanner = network.Watch(network.New(network.Networks[3]), source, time.Now)
}

// options are the unusual parts of a transaction.
type options struct {
	images     []string // key images of the inputs; one random image if there are none
	unlock     uint64
	commitment string               // of each output instead of the right one
	secret     *edwards25519.Scalar // of the key of the transaction; random if nil
	keys       [][]byte             // more keys of the transaction, before the right one
	reward     int                  // height of the block whose reward the transaction is, with plain amounts and without view tags; 0 for another one
}

// build returns a transaction that pays destinations. See Zero to Monero 2.0, sections 4.2 to 4.4 and 5.3.
func (m *memory) build(outputs []chaintest.Output, o options) (hash string, tx memoryTx) {
	m.t.Helper()
	var vout, amounts, commitments []any
	var additional [][]byte
	for i, out := range outputs {
		to, known := m.known[out.Script]
		if !known {
			m.t.Fatalf("%s is no destination", out.Script)
		}
		r := o.secret
		if r == nil {
			r = randomScalar()
		}
		additional = append(additional, new(edwards25519.Point).ScalarMult(r, point(to.SpendKey)).Bytes())
		shared := new(edwards25519.Point).ScalarMult(r, point(to.ViewKey))
		derivation := append(shared.MultByCofactor(shared).Bytes(), byte(i)) // the varint of a number below 128
		secret := scalarOf(keccak(derivation))
		key := new(edwards25519.Point).ScalarBaseMult(secret)
		key.Add(key, point(to.SpendKey))
		units := out.Amount.Minor().Uint64()
		var masked, plain [8]byte
		binary.LittleEndian.PutUint64(plain[:], units)
		for j, b := range keccak([]byte("amount"), secret.Bytes())[:8] {
			masked[j] = plain[j] ^ b
		}
		commitment := o.commitment
		if commitment == "" {
			commitment = commit(units, scalarOf(keccak([]byte("commitment_mask"), secret.Bytes())))
		}
		if o.reward > 0 {
			vout = append(vout, map[string]any{"amount": units, "target": map[string]any{"key": hex.EncodeToString(key.Bytes())}})
			continue
		}
		vout = append(vout, map[string]any{"amount": 0, "target": map[string]any{"tagged_key": map[string]any{
			"key": hex.EncodeToString(key.Bytes()), "view_tag": hex.EncodeToString(keccak([]byte("view_tag"), derivation)[:1]),
		}}})
		amounts = append(amounts, map[string]any{"amount": hex.EncodeToString(masked[:])})
		commitments = append(commitments, commitment)
	}
	if o.images == nil {
		o.images = []string{hex.EncodeToString(randomBytes())}
	}
	var vin []any
	for _, image := range o.images {
		vin = append(vin, map[string]any{"key": map[string]any{"amount": 0, "key_offsets": []int{1}, "k_image": image}})
	}
	signatures := map[string]any{"type": 6, "txnFee": 1, "ecdhInfo": amounts, "outPk": commitments}
	if o.reward > 0 {
		vin, signatures = []any{map[string]any{"gen": map[string]any{"height": o.reward}}}, map[string]any{"type": 0}
	}
	encoded, err := json.Marshal(map[string]any{
		"version": 2, "unlock_time": o.unlock, "vin": vin, "vout": vout, "extra": extra(o.keys, additional), "rct_signatures": signatures,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), memoryTx{json: string(encoded), images: o.images, received: time.Now()}
}

// add puts a transaction into the pool, or keeps it for Mine.
func (m *memory) add(toPool bool, outputs []chaintest.Output, o options) (hash string) {
	m.t.Helper()
	hash, tx := m.build(outputs, o)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.txs[hash] = tx
	if toPool {
		m.pool = append(m.pool, hash)
	}
	return hash
}

func (m *memory) Network() chain.Scanner { return m.scanner }
func (m *memory) Asset() chain.Asset     { return m.scanner.Assets()[0] }

func (m *memory) NewScript(t testing.TB) string {
	t.Helper()
	m.next++
	stored := "xmr:" + m.wallets[0].Address().String() + ":" + fmt.Sprintf("%x", m.wallets[0].Key().Reveal())
	d, err := m.scanner.NewDestination(chain.Request{Asset: m.Asset(), Key: stored, Index: m.next})
	if err != nil {
		t.Fatal(err)
	}
	m.known[d.Script] = m.wallets[0].Subaddress(m.next)
	return d.Script
}

func (m *memory) Send(t testing.TB, outputs ...chaintest.Output) string {
	t.Helper()
	return m.add(true, outputs, options{})
}

func (m *memory) Replace(t testing.TB, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	replacement := m.Conflict(t, tx, outputs...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pool = append(slices.DeleteFunc(m.pool, func(h string) bool { return h == tx }), replacement)
	return replacement
}

func (m *memory) Conflict(t testing.TB, tx string, outputs ...chaintest.Output) string {
	t.Helper()
	return m.add(false, outputs, options{images: m.txs[tx].images})
}

func (m *memory) Spend(t testing.TB, outpoint string, outputs ...chaintest.Output) string {
	t.Helper()
	return m.add(true, outputs, options{images: []string{hex.EncodeToString(keccak([]byte(outpoint)))}})
}

func (m *memory) Mine(t testing.TB, txs ...string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addBlock(txs...)
}

// addBlock adds a block. Transactions that conflict with its transactions leave the pool.
func (m *memory) addBlock(txs ...string) {
	m.blocks = append(m.blocks, memoryBlock{hex.EncodeToString(randomBytes()), time.Now(), txs})
	mined := map[string]bool{}
	for _, tx := range txs {
		for _, image := range m.txs[tx].images {
			mined[image] = true
		}
	}
	m.pool = slices.DeleteFunc(m.pool, func(tx string) bool {
		return slices.ContainsFunc(m.txs[tx].images, func(image string) bool { return mined[image] })
	})
}

func (m *memory) Reorganise(t testing.TB, txs ...string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	lowest := len(m.blocks)
	for height, b := range m.blocks {
		if slices.ContainsFunc(txs, func(tx string) bool { return slices.Contains(b.txs, tx) }) {
			lowest = min(lowest, height)
		}
	}
	removed := slices.Clone(m.blocks[lowest:])
	m.blocks = m.blocks[:lowest]
	for range len(removed) + 1 {
		m.addBlock()
	}
	for _, b := range removed {
		m.pool = append(m.pool, b.txs...)
	}
}

// header returns the header of a block as monerod writes it.
func (m *memory) header(height int) map[string]any {
	previous := strings.Repeat("0", 64)
	if height > 0 {
		previous = m.blocks[height-1].hash
	}
	b := m.blocks[height]
	return map[string]any{
		"hash": b.hash, "prev_hash": previous, "height": height, "timestamp": b.time.Unix(), "major_version": 16, "orphan_status": false,
		"miner_tx_hash": minerHash(height),
	}
}

func minerHash(height int) string {
	return hex.EncodeToString(keccak(fmt.Append(nil, "miner", height)))
}

// serve answers the calls of a Client.
func (m *memory) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var call struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Hash     string
			Height   int
			From, To int
			Start    int `json:"start_height"`
			End      int `json:"end_height"`
		}
		Hashes []string `json:"txs_hashes"`
	}
	if err := json.Unmarshal(body, &call); err != nil || m.isDown {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var result map[string]any
	var failure any
	switch name := call.Method + strings.TrimPrefix(r.URL.Path, "/json_rpc"); name {
	case "get_info":
		result = map[string]any{
			"height": len(m.blocks), "nettype": "fakechain", "top_block_hash": m.blocks[len(m.blocks)-1].hash, "tx_pool_size": len(m.pool),
			"synchronized": true, "restricted": m.restricted,
		}
	case "get_block_header_by_hash":
		if i := slices.IndexFunc(m.blocks, func(b memoryBlock) bool { return b.hash == call.Params.Hash }); i >= 0 {
			result = map[string]any{"block_header": m.header(i)}
		} else {
			failure = map[string]any{"code": -5, "message": "Internal error: can't get block by hash."}
		}
	case "get_block_headers_range":
		var list []any
		if call.Params.End >= len(m.blocks) {
			failure = map[string]any{"code": -2, "message": "Invalid start/end heights."}
			break
		}
		for h := call.Params.Start; h <= call.Params.End; h++ {
			list = append(list, m.header(h))
		}
		result = map[string]any{"headers": list}
	case "get_block":
		if call.Params.Height >= len(m.blocks) {
			failure = map[string]any{"code": -2, "message": "Requested block height is too big."}
			break
		}
		if before := m.onBlock; before != nil {
			m.onBlock = nil
			before()
		}
		result = m.block(call.Params.Height)
	case "/get_transactions":
		if slices.Contains(call.Hashes, m.broken) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		result = m.transactions(call.Hashes)
	case "/get_transaction_pool_hashes":
		result = map[string]any{"tx_hashes": m.pool}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": failure}
	if failure == nil {
		result["status"], result["untrusted"] = "OK", false
		answer = map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result}
	}
	if call.Method == "" {
		answer = result
	}
	var text bytes.Buffer
	_ = json.NewEncoder(&text).Encode(answer)
	_, _ = w.Write(text.Bytes())
}

// block returns the answer with a block.
func (m *memory) block(height int) map[string]any {
	header := m.header(height)
	miner := fmt.Sprintf(`{"version":2,"unlock_time":%d,"vin":[{"gen":{"height":%d}}],"vout":[],"extra":[],"rct_signatures":{"type":0}}`, height+60, height)
	if reward, isPaid := m.rewards[height]; isPaid {
		miner = reward
	}
	answer := map[string]any{
		"block_header": header, "miner_tx_hash": minerHash(height),
		"json": fmt.Sprintf(`{"major_version":16,"prev_id":%q,"miner_tx":%s}`, header["prev_hash"], miner),
	}
	if txs := m.blocks[height].txs; len(txs) > 0 {
		answer["tx_hashes"] = txs
	}
	return answer
}

// transactions returns the answer with transactions.
func (m *memory) transactions(hashes []string) map[string]any {
	m.asked = append(m.asked, hashes...)
	var found []any
	var missed []string
	for _, hash := range hashes {
		tx, known := m.txs[hash]
		answer := map[string]any{"tx_hash": hash, "as_json": tx.json, "in_pool": false}
		height := slices.IndexFunc(m.blocks, func(b memoryBlock) bool { return slices.Contains(b.txs, hash) })
		switch {
		case !known || m.hidden[hash]:
			missed = append(missed, hash)
			continue
		case height >= 0:
			answer["block_height"] = height
		case slices.Contains(m.pool, hash):
			answer["in_pool"], answer["double_spend_seen"], answer["received_timestamp"], answer["relayed"] = true, m.contested[hash], 0, !m.private[hash]
			if !m.restricted {
				answer["received_timestamp"] = tx.received.Unix()
			}
		default:
			missed = append(missed, hash)
			continue
		}
		found = append(found, answer)
	}
	return map[string]any{"txs": found, "missed_tx": missed}
}

// scan scans the destinations that are known from the newest block on.
func (m *memory) scan(t *testing.T) chain.Snapshot {
	t.Helper()
	watch := chaintest.Watch{}
	for script := range maps.Keys(m.known) {
		watch[script] = true
	}
	s, err := m.scanner.Scan(t.Context(), chain.Cursor{}, watch)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
