package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/ethereum"
	"chequer/internal/money"
)

// badNode is an endpoint that has one fault at a time; without a fault it answers correctly.
type badNode struct {
	real string // the address of a correct node

	mu      sync.Mutex
	fault   string
	targets []string // addresses for which it invents payments
}

// nodeFaults are the faults of a badNode. Invented payments are listed twice, to be chosen twice as often.
var nodeFaults = []string{"fails", "nonsense", "busy", "slow", "cut", "hides logs", "hides receipts", "other chain", "null", "half", "makes up", "makes up"}

// withLock calls a function that reads or changes the node.
func (b *badNode) withLock(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// ServeHTTP implements http.Handler.
func (b *badNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var fault string
	b.withLock(func() { fault = b.fault })
	body, _ := io.ReadAll(r.Body)
	switch fault {
	case "fails":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "nonsense":
		fmt.Fprint(w, `<html>{"jsonrpc"`)
		return
	case "busy":
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case "slow":
		time.Sleep(3 * time.Second)
	case "cut":
		panic(http.ErrAbortHandler)
	}
	response, err := http.Post(b.real, "application/json", bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	_, _ = w.Write(b.falsify(fault, body, text))
}

// falsify changes the answers to calls. It treats a single call as a batch of one.
func (b *badNode) falsify(fault string, body, text []byte) []byte {
	var calls []struct {
		ID     json.RawMessage
		Method string
	}
	var answers []map[string]json.RawMessage
	batch := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if !batch {
		body, text = arrayOf(body), arrayOf(text)
	}
	if json.Unmarshal(body, &calls) != nil || json.Unmarshal(text, &answers) != nil {
		return text
	}
	methods := map[string]string{}
	for _, c := range calls {
		methods[string(c.ID)] = c.Method
	}
	for _, a := range answers {
		if result, changed := b.falseResult(fault, methods[string(a["id"])], a["result"]); changed {
			a["result"] = result
		}
	}
	if !batch {
		text, _ = json.Marshal(answers[0])
		return text
	}
	text, _ = json.Marshal(answers)
	return text
}

// arrayOf returns a JSON array of one element.
func arrayOf(element []byte) []byte { return fmt.Appendf(nil, "[%s]", element) }

// falseResult returns the result that the node returns in place of the correct one.
func (b *badNode) falseResult(fault, method string, result json.RawMessage) (falseResult json.RawMessage, changed bool) {
	logs := method == "eth_getLogs"
	switch {
	case fault == "null", fault == "hides receipts" && method == "eth_getTransactionReceipt":
		return json.RawMessage("null"), true
	case fault == "hides logs" && logs:
		return json.RawMessage("[]"), true
	case fault == "other chain" && method == "eth_chainId":
		return json.RawMessage(`"0x1"`), true
	case fault == "half" && logs:
		list := []json.RawMessage{}
		_ = json.Unmarshal(result, &list)
		falseResult, _ = json.Marshal(list[:len(list)/2])
		return falseResult, true
	case fault == "makes up" && logs:
		return b.inventPayments(result), true
	}
	return nil, false
}

// inventPayments adds invented payments to correct logs: with the index of a correct log, or with another.
func (b *badNode) inventPayments(result json.RawMessage) (falseResult json.RawMessage) {
	var targets []string
	b.withLock(func() { targets = b.targets })
	list := []map[string]any{}
	_ = json.Unmarshal(result, &list)
	for i, log := range list {
		topics, _ := log["topics"].([]any)
		if len(topics) != 3 || len(targets) == 0 {
			continue
		}
		invented := map[string]any{}
		for word, value := range log {
			invented[word] = value
		}
		invented["topics"] = []any{topics[0], topics[1], "0x" + strings.Repeat("0", 24) + strings.TrimPrefix(targets[i%len(targets)], "0x")}
		invented["data"] = fmt.Sprintf("0x%064x", 50_000_000)
		if i%2 == 0 {
			invented["logIndex"] = "0x63"
		}
		list = append(list, invented)
	}
	falseResult, _ = json.Marshal(list)
	return falseResult
}

// tokenChaos is a program that is killed at random times, in front of three endpoints of which one
// misbehaves.
type tokenChaos struct {
	*tokenShop
	t        *testing.T
	random   *rand.Rand
	nodes    [3]*badNode
	running  bool
	invoices []string          // identifiers of invoices
	owners   map[string]string // invoices by address
	pending  []string          // transactions that are in no block
	sent     int
	actions  []string
}

// TestChaos_of_tokens pays, mines, reorganises, kills and misbehaves at random. At the end each
// invoice must have exactly the payments of the best chain.
func TestChaos_of_tokens(t *testing.T) {
	t.Parallel()
	chaos := &tokenChaos{t: t, random: newRandom(t), running: true, owners: map[string]string{}}
	chaos.tokenShop = openTokenShop(t,
		func(*tokenShop) string { return "CHEQUER_RATE_LIMIT=off" },
		func(s *tokenShop) string {
			for i := range chaos.nodes {
				chaos.nodes[i] = &badNode{real: s.base.RPC}
			}
			return fmt.Sprintf("CHEQUER_BASE_RPC=one=%s,two=%s,three=%s", serveHandler(t, chaos.nodes[0]), serveHandler(t, chaos.nodes[1]), serveHandler(t, chaos.nodes[2]))
		})
	defer func() {
		if t.Failed() {
			t.Logf("actions: %v", chaos.actions)
		}
	}()
	for range 4 {
		chaos.createInvoice()
	}
	for end := time.Now().Add(chaosDuration); time.Now().Before(end) && chaos.sent < 170; {
		chaos.actRandomly()
	}
	if !chaos.running {
		chaos.serve()
	}
	chaos.base.Mine(t, chaos.pending...)
	mine(t, chaos.base, 40) // more than the 30 confirmations that Base requires
	tip := chaos.base.Height(t)
	until(t, 2*waitTimeout, "all is scanned", func() bool { return chaos.scannedHeight("base") == tip })
	price, transfers := big.NewInt(12_500_000), 0 // 12.50 euros, in units of EURC
	for id, want := range chaos.onChain() {
		sum := new(big.Int)
		for _, units := range want {
			sum.Add(sum, units)
		}
		checkInvoice(t, chaos.shop, id, want, sum.Cmp(price) >= 0)
		transfers += len(want)
	}
	t.Logf("%d actions, %d transfers to %d invoices", len(chaos.actions), transfers, len(chaos.invoices))
}

// serveHandler serves a handler until the test ends, and returns its address.
func serveHandler(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func (c *tokenChaos) createInvoice() {
	id, due := c.createEuroInvoice()
	c.invoices = append(c.invoices, id)
	c.owners[due.Script] = id
	for _, b := range c.nodes {
		b.withLock(func() { b.targets = append(b.targets[:len(b.targets):len(b.targets)], due.Script) })
	}
}

// payment returns an output that pays a random invoice an amount.
func (c *tokenChaos) payment(amount string) chaintest.Output {
	id := c.invoices[c.random.IntN(len(c.invoices))]
	for script, owner := range c.owners {
		if owner == id {
			return chaintest.Output{Script: script, Amount: money.MustParse(amount, money.Currency{Code: "EURC", Decimals: 6})}
		}
	}
	panic("an invoice without an address")
}

// actRandomly performs one random action.
func (c *tokenChaos) actRandomly() {
	t, n, random := c.t, c.base, c.random
	action := random.IntN(15)
	c.actions = append(c.actions, fmt.Sprint(action))
	switch action {
	case 0, 1:
		c.pending = append(c.pending, n.Send(t, c.payment([]string{"12.5", "5", "7.5", "0.000001"}[random.IntN(4)])))
		c.sent++
	case 2:
		c.pending = append(c.pending, n.Send(t, c.payment("5"), c.payment("7.5"), c.payment("5"), c.payment("0")))
		c.sent++
	case 3, 4, 5, 6:
		n.Mine(t, c.pending...)
		c.pending = nil
	case 7:
		mine(t, n, 1+random.IntN(8))
	case 8:
		c.reorganise([]int{1, 3, 6, 20}[random.IntN(4)])
	case 9, 10:
		for _, b := range c.nodes {
			b.withLock(func() { b.fault = "" })
		}
		b, fault := c.nodes[random.IntN(len(c.nodes))], nodeFaults[random.IntN(len(nodeFaults))]
		b.withLock(func() { b.fault = fault })
		c.actions = append(c.actions, fault)
	case 11:
		if c.running && random.IntN(2) == 0 {
			c.kill()
			c.running = false
		}
	case 12:
		if !c.running {
			c.serve()
			c.running = true
		} else if h, _ := c.health(); h.Reached && random.IntN(4) == 0 {
			c.createInvoice()
		}
	case 13, 14: // the program gets time to scan
		time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
	}
}

// reorganise removes blocks from the chain. Their transactions become pending again, or are dropped.
func (c *tokenChaos) reorganise(depth int) {
	if c.base.Height(c.t) <= int64(depth)+40 {
		return
	}
	c.base.Call(c.t, nil, "anvil_reorg", depth, []any{})
	if c.random.IntN(2) == 0 {
		c.base.Call(c.t, nil, "anvil_dropAllTransactions")
	}
	c.base.Mine(c.t)
}

// onChain returns the payments of the best chain to each invoice, by log.
func (c *tokenChaos) onChain() map[string]map[string]*big.Int {
	var logs []struct {
		Topics                          []string
		Data, TransactionHash, LogIndex string
	}
	c.base.Call(c.t, &logs, "eth_getLogs", map[string]any{
		"fromBlock": "0x0", "toBlock": "latest", "address": contractOf(ethereum.Base, "EURC-BASE"),
	})
	found := map[string]map[string]*big.Int{}
	for _, id := range c.invoices {
		found[id] = map[string]*big.Int{}
	}
	for _, l := range logs {
		if len(l.Topics) != 3 {
			continue
		}
		id, known := c.owners["0x"+l.Topics[2][26:]]
		units, _ := new(big.Int).SetString(l.Data[2:], 16)
		if !known || units.Sign() == 0 {
			continue
		}
		var index int64
		if _, err := fmt.Sscanf(l.LogIndex, "0x%x", &index); err != nil {
			c.t.Fatal(err)
		}
		found[id][fmt.Sprintf("%s:%d", l.TransactionHash, index)] = units
	}
	return found
}
