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

// badNode is an endpoint that misbehaves in one way at a time; "" means correctly.
type badNode struct {
	real string // the address of a correct node

	mu    sync.Mutex
	way   string
	wants []string // addresses for which it invents payments
}

// ways are the kinds of misbehaviour.
var ways = []string{"fails", "nonsense", "busy", "slow", "cut", "hides logs", "hides receipts", "other chain", "null", "half", "makes up", "makes up"}

func (b *badNode) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// ServeHTTP implements http.Handler.
func (b *badNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var way string
	b.set(func() { way = b.way })
	body, _ := io.ReadAll(r.Body)
	switch way {
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
	truth, err := http.Post(b.real, "application/json", bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer truth.Body.Close()
	text, _ := io.ReadAll(truth.Body)
	_, _ = w.Write(b.twist(way, body, text))
}

// twist changes the answers to calls. It treats a single call as a batch of one.
func (b *badNode) twist(way string, body, text []byte) []byte {
	var calls []struct {
		ID     json.RawMessage
		Method string
	}
	var answers []map[string]json.RawMessage
	batch := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if !batch {
		body, text = slicesOf(body), slicesOf(text)
	}
	if json.Unmarshal(body, &calls) != nil || json.Unmarshal(text, &answers) != nil {
		return text
	}
	methods := map[string]string{}
	for _, c := range calls {
		methods[string(c.ID)] = c.Method
	}
	for _, a := range answers {
		if result, changed := b.lie(way, methods[string(a["id"])], a["result"]); changed {
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

func slicesOf(element []byte) []byte { return fmt.Appendf(nil, "[%s]", element) }

// lie returns the result that the node returns in place of the correct one.
func (b *badNode) lie(way, method string, result json.RawMessage) (lie json.RawMessage, changed bool) {
	logs := method == "eth_getLogs"
	switch {
	case way == "null", way == "hides receipts" && method == "eth_getTransactionReceipt":
		return json.RawMessage("null"), true
	case way == "hides logs" && logs:
		return json.RawMessage("[]"), true
	case way == "other chain" && method == "eth_chainId":
		return json.RawMessage(`"0x1"`), true
	case way == "half" && logs:
		list := []json.RawMessage{}
		_ = json.Unmarshal(result, &list)
		lie, _ = json.Marshal(list[:len(list)/2])
		return lie, true
	case way == "makes up" && logs:
		return b.makeUp(result), true
	}
	return nil, false
}

// makeUp adds invented payments to correct logs: with the index of a correct log, or with another.
func (b *badNode) makeUp(result json.RawMessage) (lie json.RawMessage) {
	var wants []string
	b.set(func() { wants = b.wants })
	list := []map[string]any{}
	_ = json.Unmarshal(result, &list)
	for i, log := range list {
		topics, _ := log["topics"].([]any)
		if len(topics) != 3 || len(wants) == 0 {
			continue
		}
		made := map[string]any{}
		for word, value := range log {
			made[word] = value
		}
		made["topics"] = []any{topics[0], topics[1], "0x" + strings.Repeat("0", 24) + strings.TrimPrefix(wants[i%len(wants)], "0x")}
		made["data"] = fmt.Sprintf("0x%064x", 50_000_000)
		if i%2 == 0 {
			made["logIndex"] = "0x63"
		}
		list = append(list, made)
	}
	lie, _ = json.Marshal(list)
	return lie
}

// tokenChaos is a program that is killed at random times, in front of three endpoints of which one
// misbehaves.
type tokenChaos struct {
	*tokenShop
	t      *testing.T
	random *rand.Rand
	nodes  [3]*badNode
	up     bool
	orders []string          // identifiers of invoices
	owners map[string]string // invoices by address
	made   []string          // transactions that are in no block
	sent   int
	did    []string
}

// TestChaos_of_tokens pays, mines, reorganises, kills and misbehaves at random. At the end each
// invoice must have exactly the payments of the best chain.
func TestChaos_of_tokens(t *testing.T) {
	t.Parallel()
	x := &tokenChaos{t: t, random: newRandom(t), up: true, owners: map[string]string{}}
	x.tokenShop = openTokenShop(t,
		func(*tokenShop) string { return "CHEQUER_RATE_LIMIT=off" },
		func(s *tokenShop) string {
			for i := range x.nodes {
				x.nodes[i] = &badNode{real: s.base.RPC}
			}
			return fmt.Sprintf("CHEQUER_BASE_RPC=one=%s,two=%s,three=%s", served(t, x.nodes[0]), served(t, x.nodes[1]), served(t, x.nodes[2]))
		})
	defer func() {
		if t.Failed() {
			t.Logf("actions: %v", x.did)
		}
	}()
	for range 4 {
		x.createInvoice()
	}
	for end := time.Now().Add(chaosDuration); time.Now().Before(end) && x.sent < 170; {
		x.act()
	}
	if !x.up {
		x.serve()
	}
	x.base.Mine(t, x.made...)
	mine(t, x.base, 40)
	tip := x.base.Height(t)
	until(t, 2*waitTimeout, "all is scanned", func() bool { return x.tip("base") == tip })
	transfers := 0
	for id, want := range x.onChain() {
		sum := new(big.Int)
		for _, units := range want {
			sum.Add(sum, units)
		}
		checkInvoice(t, x.shop, id, want, sum.Cmp(big.NewInt(12_500_000)) >= 0)
		transfers += len(want)
	}
	t.Logf("%d actions, %d transfers to %d invoices", len(x.did), transfers, len(x.orders))
}

func served(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func (c *tokenChaos) createInvoice() {
	id, due := c.euros()
	c.orders = append(c.orders, id)
	c.owners[due.Script] = id
	for _, b := range c.nodes {
		b.set(func() { b.wants = append(b.wants[:len(b.wants):len(b.wants)], due.Script) })
	}
}

// part returns an output that pays a random invoice an amount.
func (c *tokenChaos) part(amount string) chaintest.Output {
	id := c.orders[c.random.IntN(len(c.orders))]
	for script, owner := range c.owners {
		if owner == id {
			return chaintest.Output{Script: script, Amount: money.MustParse(amount, money.Currency{Code: "EURC", Decimals: 6})}
		}
	}
	panic("an invoice without an address")
}

// act performs one random action.
func (c *tokenChaos) act() {
	t, n, random := c.t, c.base, c.random
	action := random.IntN(15)
	c.did = append(c.did, fmt.Sprint(action))
	switch action {
	case 0, 1:
		c.made = append(c.made, n.Send(t, c.part([]string{"12.5", "5", "7.5", "0.000001"}[random.IntN(4)])))
		c.sent++
	case 2:
		c.made = append(c.made, n.Send(t, c.part("5"), c.part("7.5"), c.part("5"), c.part("0")))
		c.sent++
	case 3, 4, 5, 6:
		n.Mine(t, c.made...)
		c.made = nil
	case 7:
		mine(t, n, 1+random.IntN(8))
	case 8:
		c.reorganise([]int{1, 3, 6, 20}[random.IntN(4)])
	case 9, 10:
		for _, b := range c.nodes {
			b.set(func() { b.way = "" })
		}
		b, way := c.nodes[random.IntN(len(c.nodes))], ways[random.IntN(len(ways))]
		b.set(func() { b.way = way })
		c.did = append(c.did, way)
	case 11:
		if c.up && random.IntN(2) == 0 {
			c.kill()
			c.up = false
		}
	case 12:
		if !c.up {
			c.serve()
			c.up = true
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
	for _, id := range c.orders {
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
