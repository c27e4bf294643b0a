package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/ethereum"
	"chequer/internal/money"
	"chequer/internal/signature"
)

// arrivals is the number of payments of each kind that are timed.
const arrivals = 20

// pollInterval is the interval at which the program and the baseline loop ask a network with a block every
// two seconds.
const pollInterval = time.Second

// arriving prints how long after its block the page shows a payment, and how long after the last
// needed block the page shows it as paid, with a node on this machine.
func arriving(ctx context.Context, binary, folder string) error {
	anvil := filepath.Join(cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache")), "chequer", "bin", "anvil")
	code, err := os.ReadFile("internal/chain/ethereum/ethereumtest/token.hex")
	if _, missing := exec.LookPath(anvil); missing != nil || err != nil {
		fmt.Println("From block to page: not measured, because anvil is not installed (make setup) or this is not the repository's folder.")
		return nil
	}
	n, err := startNode(ctx, anvil)
	if err != nil {
		return fmt.Errorf("anvil: %w", err)
	}
	defer n.stop()
	if err := n.placeToken(ctx, "0x"+strings.ReplaceAll(string(code), "\n", "")); err != nil {
		return fmt.Errorf("anvil: %w", err)
	}
	p, err := serve(ctx, binary, folder, "",
		"CHEQUER_UNWATCHED=off", "CHEQUER_LITECOIN_NODE=off", "CHEQUER_BASE_RPC=trusted:"+n.url)
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Printf("### From block to page\n\n| what | figure | baseline of this run | ratio |\n|---|---|---|---|\n")
	trip, err := load(ctx, 1, time.Second, func(ctx context.Context) error {
		_, err := n.transfers(ctx, "latest")
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("| request to the node for the newest block and its transfers | p50 %.1f ms | | |\n", trip.at(.5))
	for _, asset := range []string{"EURC-BASE", "ETH-BASE"} {
		var seen, bare, paid []time.Duration
		for range arrivals {
			a, err := p.arrive(ctx, n, asset)
			if err != nil {
				return fmt.Errorf("%s: %w", asset, err)
			}
			seen, bare, paid = append(seen, a.seen), append(bare, a.bare), append(paid, a.paid)
		}
		of, base := sorted(seen), sorted(bare)
		fmt.Printf("| %s: block to page | p50 %.0f, p95 %.0f ms | bare loop with the same interval p50 %.0f, p95 %.0f ms | %.2f |\n",
			asset, of.at(.5), of.at(.95), base.at(.5), base.at(.95), of.at(.5)/base.at(.5))
		of = sorted(paid)
		fmt.Printf("| &nbsp; from the last needed block to paid on the page | p50 %.0f, p95 %.0f ms | | |\n", of.at(.5), of.at(.95))
	}
	fmt.Println()
	return nil
}

func sorted(list []time.Duration) latencies {
	slices.Sort(list)
	return latencies{each: list}
}

// arrival holds the times from a block to the page, from a block to the baseline loop, and from the
// last needed block to the page.
type arrival struct{ seen, bare, paid time.Duration }

// arrive pays an invoice and times its page, and a baseline loop that asks the node for the newest
// block and its transfers.
func (p *program) arrive(ctx context.Context, n *node, asset string) (a arrival, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	id, to, due, err := p.invoiceIn(ctx, asset)
	if err != nil {
		return a, err
	}
	updates, err := follow(ctx, p.url+"/invoice/"+id+"/live")
	if err != nil {
		return a, err
	}
	before, err := n.height(ctx)
	if err != nil {
		return a, err
	}
	// A block arrives at a random time between two requests.
	time.Sleep(time.Duration(rand.Int64N(int64(pollInterval))))
	bare := make(chan error, 1)
	var found time.Time
	go func() {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			height, err := n.transfers(ctx, "latest")
			if err != nil || height > before {
				found = time.Now()
				bare <- err
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	time.Sleep(time.Duration(rand.Int64N(int64(pollInterval))))
	if err := n.pay(ctx, asset, to, due); err != nil {
		return a, err
	}
	mined := time.Now()
	at, err := next(ctx, updates)
	if err != nil {
		return a, fmt.Errorf("no update with the payment: %w", err)
	}
	a.seen = at.Sub(mined)
	if err := <-bare; err != nil {
		return a, err
	}
	a.bare = found.Sub(mined)
	if err := n.mine(ctx, ethereum.Base.Assets[0].Policy.Confirmations(0)-1); err != nil {
		return a, err
	}
	mined = time.Now()
	for paid := false; !paid; { // the page may be updated while blocks are mined
		if at, err = next(ctx, updates); err != nil {
			return a, fmt.Errorf("no update with the confirmation: %w", err)
		}
		if paid, err = p.isPaid(ctx, id); err != nil {
			return a, err
		}
	}
	a.paid = at.Sub(mined)
	return a, nil
}

// invoiceIn creates an invoice with one payment method.
func (p *program) invoiceIn(ctx context.Context, asset string) (id, to string, due money.Amount, err error) {
	content := []byte(`{"amount":12.50,"fiat_currency":"EUR","payment_methods":["` + asset + `"]}`)
	headers := map[string]string{api.HeaderKey: p.headers[api.HeaderKey], api.HeaderSignature: signature.Sign(p.secret, content)}
	var inv struct {
		ForeignID string `json:"foreign_id"`
		Addresses []struct {
			Address  string      `json:"address"`
			Expected json.Number `json:"expected_amount"`
		} `json:"addresses"`
	}
	if err := post(ctx, p.url+api.PathInvoiceNew, content, headers, &inv); err != nil {
		return "", "", money.Amount{}, err
	}
	if len(inv.Addresses) != 1 {
		return "", "", money.Amount{}, fmt.Errorf("%d addresses", len(inv.Addresses))
	}
	currency := money.ETH
	if strings.HasPrefix(asset, "EURC") {
		currency = money.Currency{Code: "EURC", Decimals: 6}
	}
	due, err = money.Parse(inv.Addresses[0].Expected.String(), currency)
	return inv.ForeignID, inv.Addresses[0].Address, due, err
}

func (p *program) isPaid(ctx context.Context, id string) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+api.PathInvoiceStatus+"?id="+id, nil)
	if err != nil {
		return false, err
	}
	answer, err := fetch(r)
	return strings.Contains(string(answer), `"status":"paid"`), err
}

// follow opens a page's stream, and returns a channel with the times of its updates.
func follow(ctx context.Context, url string) (<-chan time.Time, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, errors.New(resp.Status)
	}
	updates := make(chan time.Time, 10)
	go func() {
		defer resp.Body.Close()
		defer close(updates)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event: page") {
				updates <- time.Now()
			}
		}
	}()
	_, err = next(ctx, updates) // the first update is the current invoice
	return updates, err
}

// next returns the time of the next update.
func next(ctx context.Context, updates <-chan time.Time) (time.Time, error) {
	select {
	case at, open := <-updates:
		if !open {
			return at, errors.New("the stream has ended")
		}
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// node is an anvil that mines a block only on request.
type node struct {
	url     string
	sender  string
	command *exec.Cmd
}

func startNode(ctx context.Context, anvil string) (*node, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	l.Close()
	if err != nil {
		return nil, err
	}
	n := &node{url: "http://" + net.JoinHostPort(host, port)}
	n.command = exec.CommandContext(ctx, anvil, "--host", host, "--port", port, "--silent", "--no-mining", "--base-fee", "0",
		"--chain-id", strconv.FormatUint(ethereum.Base.ChainID, 10))
	if err := n.command.Start(); err != nil {
		return nil, err
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var accounts []string
		if err = n.ask(ctx, &accounts, "eth_accounts"); err == nil {
			n.sender = accounts[0]
			return n, nil
		}
		if time.Since(begin) > 30*time.Second {
			n.stop()
			return nil, err
		}
	}
}

func (n *node) stop() {
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
}

// ask calls a method and decodes its result into result, unless that is nil.
func (n *node) ask(ctx context.Context, result any, method string, params ...any) error {
	content, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, params...)})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := browser.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// euro is the address of EURC on Base.
var euro = ethereum.Base.Assets[0].Contract

// placeToken places a test token at the address of EURC.
func (n *node) placeToken(ctx context.Context, code string) error {
	var tx, runtime string
	var receipt struct{ ContractAddress string }
	return errors.Join(
		n.ask(ctx, &tx, "eth_sendTransaction", map[string]any{"from": n.sender, "data": code + strings.Repeat("0", 64), "gas": "0x2dc6c0"}),
		n.mine(ctx, 1),
		n.ask(ctx, &receipt, "eth_getTransactionReceipt", tx),
		n.ask(ctx, &runtime, "eth_getCode", receipt.ContractAddress, "latest"),
		n.ask(ctx, nil, "anvil_setCode", euro, runtime),
		n.ask(ctx, nil, "anvil_setStorageAt", euro, "0x1", fmt.Sprintf("0x%064x", 6)), // the token's decimals
		n.mine(ctx, 1),
	)
}

// mine mines the given number of blocks.
func (n *node) mine(ctx context.Context, blocks int) error {
	for range blocks {
		if err := n.ask(ctx, nil, "evm_mine"); err != nil {
			return err
		}
	}
	return nil
}

// pay mines a block with a payment.
func (n *node) pay(ctx context.Context, asset, to string, due money.Amount) error {
	tx := map[string]any{"from": n.sender, "to": to, "value": fmt.Sprintf("0x%x", due.Minor())}
	if asset != "ETH-BASE" {
		const transfer = "0xa9059cbb" // transfer(address,uint256)
		data := fmt.Sprintf("%s%024d%s%064x", transfer, 0, strings.TrimPrefix(to, "0x"), new(big.Int).Set(due.Minor()))
		tx = map[string]any{"from": n.sender, "to": euro, "data": data, "gas": "0x30d40"}
	}
	if err := n.ask(ctx, nil, "eth_sendTransaction", tx); err != nil {
		return err
	}
	return n.mine(ctx, 1)
}

func (n *node) height(ctx context.Context) (int64, error) { return n.transfers(ctx, "latest") }

// transfers requests a block and its transfers, and returns its height.
func (n *node) transfers(ctx context.Context, block string) (height int64, err error) {
	var head struct{ Number, Hash string }
	if err := n.ask(ctx, &head, "eth_getBlockByNumber", block, false); err != nil {
		return 0, err
	}
	if err := n.ask(ctx, nil, "eth_getLogs", map[string]any{"blockHash": head.Hash, "address": []string{euro}}); err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimPrefix(head.Number, "0x"), 16, 64)
}
