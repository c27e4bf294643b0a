package quorum_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// node is a JSON-RPC server that shows the fake chain, with faults.
type node struct {
	*httptest.Server
	fakeChain *fakeChain

	mu       sync.Mutex
	requests []request // in the order of their arrival
	posts    int
	bytes    int // of requests and answers

	// Faults; all may be changed at any time under mu.
	isDown         bool
	lagBlocks      int    // number of blocks behind
	chain          uint64 // chain ID in answers
	status         int    // HTTP status of every answer
	retryAfter     string // Retry-After
	garbage        string // text that replaces every answer
	hidesLogs      bool   // shows no logs
	deniesReceipts bool   // returns no receipts for its fake or hidden logs
	nullReceipts   bool   // answers null for each receipt, though its blocks list the transactions
	fakeTransfers  []transfer
	fakeAt         int64 // block in which it shows fake transfers
	forge          bool  // blocks from fakeAt on have other hashes
	maxLogs        int   // maximum number of logs in an answer; the rest is omitted
	maxRange       int64 // limit of blocks in a range
	maxCalls       int   // limit of calls in a request
	noTags         bool
	failingMethod  string // method that is answered with an error
	redirectTo     string // address of every redirect
	hangs          bool
	capitals       bool              // writes the hex digits of logs as capital letters
	repeats        bool              // returns every log twice, and twice as removed
	keptStates     int               // blocks whose state is kept; 0 = all
	addedBalance   uint64            // added to every balance
	decimals       map[string]string // the decimals that contracts return, by address in lower case
}

// request is a call that a node received.
type request struct {
	Method string
	Params []any
}

func newNode(t testing.TB, fake *fakeChain, change ...func(*node)) *node {
	t.Helper()
	n := &node{fakeChain: fake, chain: chainID}
	for _, c := range change {
		c(n)
	}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// change changes the node's faults.
func (n *node) change(change func(*node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// received returns the calls of a method that the node received.
func (n *node) received(method string) []request {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []request
	for _, r := range n.requests {
		if r.Method == method {
			found = append(found, r)
		}
	}
	return found
}

type rpcCall struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Params []any  `json:"params"`
}

// ServeHTTP implements http.Handler.
func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w = &counter{w, n}
	n.posts, n.bytes = n.posts+1, n.bytes+int(r.ContentLength)
	if n.hangs {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not see that the client disconnects
		<-r.Context().Done()
		return
	}
	switch {
	case n.isDown:
		panic(http.ErrAbortHandler)
	case n.redirectTo != "":
		http.Redirect(w, r, n.redirectTo, http.StatusTemporaryRedirect)
		return
	}
	if n.retryAfter != "" {
		w.Header().Set("Retry-After", n.retryAfter)
	}
	if n.status != 0 {
		w.WriteHeader(n.status)
	}
	if n.garbage != "" {
		fmt.Fprint(w, n.garbage)
		return
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		return
	}
	var calls []rpcCall
	if err := json.Unmarshal(raw, &calls); err != nil {
		var single rpcCall
		if json.Unmarshal(raw, &single) == nil {
			_ = json.NewEncoder(w).Encode(n.answer(single))
		}
		return
	}
	if n.maxCalls > 0 && len(calls) > n.maxCalls {
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}`)
		return
	}
	var answers []any
	for _, c := range calls {
		answers = append(answers, n.answer(c))
	}
	_ = json.NewEncoder(w).Encode(answers)
}

// counter counts the bytes of a node's answers.
type counter struct {
	http.ResponseWriter
	node *node
}

func (c *counter) Write(text []byte) (int, error) {
	c.node.bytes += len(text)
	return c.ResponseWriter.Write(text)
}

func (n *node) answer(c rpcCall) any {
	n.requests = append(n.requests, request{c.Method, c.Params})
	result, fault := n.result(c)
	if c.Method == n.failingMethod {
		fault = "method not available"
	}
	if fault != "" {
		return map[string]any{"jsonrpc": "2.0", "id": c.ID, "error": map[string]any{"code": -32000, "message": fault}}
	}
	return map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": result}
}

func (n *node) result(c rpcCall) (result any, fault string) {
	n.fakeChain.mu.Lock()
	defer n.fakeChain.mu.Unlock()
	blocks := n.fakeChain.blocks[:max(len(n.fakeChain.blocks)-n.lagBlocks, 1)]
	switch c.Method {
	case "eth_chainId":
		return fmt.Sprintf("0x%x", n.chain), ""
	case "eth_getBlockByNumber":
		return n.block(blocks, c.Params[0].(string))
	case "eth_getLogs":
		return n.logs(blocks, c.Params[0].(map[string]any))
	case "eth_getTransactionReceipt":
		return n.receipt(blocks, c.Params[0].(string)), ""
	case "eth_getBlockByHash":
		return n.blockWithTransactions(blocks, c.Params[0].(string)), ""
	case "eth_getBalance", "eth_getTransactionCount":
		return n.state(blocks, c.Method, c.Params[0].(string), c.Params[1].(map[string]any)["blockHash"].(string))
	}
	callObject, ok := c.Params[0].(map[string]any)
	if ok && c.Method == "eth_call" && strings.HasPrefix(callObject["data"].(string), balanceOf) {
		account := "0x" + strings.TrimPrefix(callObject["data"].(string), balanceOf)
		return n.tokenBalance(blocks, callObject["to"].(string), account, c.Params[1].(map[string]any)["blockHash"].(string))
	}
	if ok && c.Method == "eth_call" && callObject["data"] == "0x313ce567" { // decimals()
		text, exists := n.decimals[strings.ToLower(callObject["to"].(string))]
		switch {
		case !exists:
			return "0x", ""
		case text == "reverts":
			return nil, "execution reverted"
		}
		return text, ""
	}
	return nil, "method not found"
}

func (n *node) block(blocks []block, name string) (any, string) {
	height := int64(len(blocks) - 1)
	switch name {
	case "latest":
	case "finalized":
		if n.noTags {
			return nil, "unknown block tag"
		}
		height = min(n.fakeChain.final, height)
	default:
		if _, err := fmt.Sscanf(name, "0x%x", &height); err != nil || height >= int64(len(blocks)) {
			return nil, ""
		}
	}
	b := blocks[height]
	transactions := []string{}
	for _, t := range n.shownTransfers(b) {
		if !n.deniesReceipts {
			transactions = append(transactions, t.tx)
		}
	}
	return map[string]any{
		"number": fmt.Sprintf("0x%x", b.height), "hash": n.hash(b), "parentHash": b.parent,
		"timestamp": fmt.Sprintf("0x%x", b.at.Unix()), "transactions": transactions,
	}, ""
}

// hash returns the block's hash in the node's answers.
func (n *node) hash(b block) string {
	if n.forge && b.height >= n.fakeAt {
		return hashOf("forged", b.hash)
	}
	return b.hash
}

// shownTransfers returns the transfers of a block in the node's answers.
func (n *node) shownTransfers(b block) []transfer {
	list := slices.Clone(b.transfers)
	if b.height == n.fakeAt {
		for i, f := range n.fakeTransfers {
			f.index = len(b.transfers) + i
			list = append(list, f)
		}
	}
	return list
}

// state returns an account's balance or nonce after a block.
func (n *node) state(blocks []block, method, account, hash string) (any, string) {
	at := slices.IndexFunc(blocks, func(b block) bool { return n.hash(b) == hash })
	switch {
	case at < 0:
		return nil, "header not found"
	case n.keptStates > 0 && at < len(blocks)-n.keptStates:
		return nil, "missing trie node 0123 (path )"
	}
	var balance, nonce uint64
	for _, b := range blocks[:at+1] {
		for _, t := range b.transfers {
			switch {
			case t.contract != "" || t.failed || !strings.EqualFold(t.to, account):
			case t.spent:
				balance, nonce = balance-t.units, nonce+1
			default:
				balance += t.units
			}
		}
	}
	if method == "eth_getTransactionCount" {
		return fmt.Sprintf("0x%x", nonce), ""
	}
	return fmt.Sprintf("0x%x", balance+n.addedBalance), ""
}

// balanceOf is the prefix of the data of a call for the balance of an account.
const balanceOf = "0x70a08231" + "000000000000000000000000"

// tokenBalance returns an account's balance of a token after a block.
func (n *node) tokenBalance(blocks []block, contract, account, hash string) (any, string) {
	at := slices.IndexFunc(blocks, func(b block) bool { return n.hash(b) == hash })
	switch {
	case at < 0:
		return nil, "header not found"
	case n.keptStates > 0 && at < len(blocks)-n.keptStates:
		return nil, "missing trie node 0123 (path )"
	}
	balance := n.addedBalance
	for _, b := range blocks[:at+1] {
		for _, t := range b.transfers {
			if strings.EqualFold(t.contract, contract) && strings.EqualFold(t.to, account) {
				balance += uint64(int64(t.units) - t.fee)
			}
		}
	}
	return fmt.Sprintf("0x%064x", balance), ""
}

// blockWithTransactions returns a block with its transactions.
func (n *node) blockWithTransactions(blocks []block, hash string) any {
	for _, b := range blocks {
		if n.hash(b) != hash {
			continue
		}
		list := []any{map[string]any{"hash": hashOf("creation"), "to": nil, "value": "0x1"}}
		for _, t := range b.transfers {
			if t.contract == "" && t.plain {
				list = append(list, map[string]any{"hash": t.tx, "to": t.to, "value": fmt.Sprintf("0x%x", t.units)})
			}
		}
		return map[string]any{"hash": hash, "transactions": list}
	}
	return nil
}

func (n *node) logs(blocks []block, filter map[string]any) (any, string) {
	from, to := int64(0), int64(0)
	if hash, ok := filter["blockHash"].(string); ok {
		i := slices.IndexFunc(blocks, func(b block) bool { return n.hash(b) == hash })
		if i < 0 {
			return nil, "unknown block"
		}
		from, to = int64(i), int64(i)
	} else {
		fmt.Sscanf(filter["fromBlock"].(string), "0x%x", &from)
		fmt.Sscanf(filter["toBlock"].(string), "0x%x", &to)
	}
	if n.maxRange > 0 && to-from+1 > n.maxRange {
		return nil, "query returned more than 10000 results"
	}
	topics := filter["topics"].([]any)
	found := []any{}
	for _, b := range blocks[from:min(to+1, int64(len(blocks)))] {
		for _, t := range n.shownTransfers(b) {
			wanted := slices.ContainsFunc(filter["address"].([]any), func(a any) bool { return strings.EqualFold(a.(string), t.contract) })
			if wanted && len(topics) == 3 {
				wanted = slices.Contains(topics[2].([]any), any(word(t.to)))
			}
			if !wanted || n.hidesLogs {
				continue
			}
			found = append(found, n.log(b, t))
			if n.repeats {
				removed := n.log(b, t)
				removed["removed"] = true
				found = append(found, n.log(b, t), removed, removed)
			}
		}
	}
	if n.maxLogs > 0 && len(found) > n.maxLogs {
		found = found[:n.maxLogs]
	}
	return found, ""
}

func (n *node) receipt(blocks []block, tx string) any {
	if n.deniesReceipts || n.nullReceipts {
		return nil
	}
	for _, b := range blocks {
		var logs []any
		status := "0x1"
		for _, t := range n.shownTransfers(b) {
			if t.tx == tx {
				logs = append(logs, n.log(b, t))
				if t.failed {
					status = "0x0"
				}
			}
		}
		if logs != nil {
			return map[string]any{"status": status, "blockHash": n.hash(b), "logs": logs}
		}
	}
	return nil
}

func (n *node) log(b block, t transfer) map[string]any {
	var amount [32]byte
	binary.BigEndian.PutUint64(amount[24:], t.units)
	format := func(hex string) string { return hex }
	if n.capitals {
		format = func(hex string) string { return "0x" + strings.ToUpper(strings.TrimPrefix(hex, "0x")) }
	}
	return map[string]any{
		"address": format(strings.ToLower(t.contract)), "topics": []string{format(transferTopic), word("0x" + strings.Repeat("9", 40)), format(word(t.to))},
		"data": "0x" + hex.EncodeToString(amount[:]), "blockNumber": fmt.Sprintf("0x%x", b.height), "blockHash": format(n.hash(b)),
		"transactionHash": format(t.tx), "logIndex": fmt.Sprintf("0x%x", t.index), "removed": false,
	}
}

const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

func word(address string) string {
	return "0x" + strings.Repeat("0", 24) + strings.ToLower(strings.TrimPrefix(address, "0x"))
}
