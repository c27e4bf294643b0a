package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/ethereumtest"
	"chequer/internal/money"
)

// arrivals is the number of payments of each kind that are timed.
const arrivals = 20

// pollInterval is the interval at which the program and the baseline loop poll a network with a block every
// two seconds.
const pollInterval = time.Second

// BenchmarkArrival measures how long after its block the page shows a payment, and how long after
// the last needed block the page shows it as paid, with a node on this machine. The baseline is a
// loop that asks the node at the same interval.
func BenchmarkArrival(b *testing.B) {
	eurc := ethereum.Base.Assets[0]
	node := ethereumtest.Anvil(b, ethereum.Base.ChainID)
	node.MoveToken(b, eurc.Contract)
	node.MineBlock(b)
	measure(b, "request to the node", func(b *testing.B) {
		repeat(b, 1, func(ctx context.Context) error {
			_, err := readHead(ctx, node)
			return err
		}).report(b, "requests")
	})
	p := serve(b, newSQLite, "CHEQUER_UNWATCHED=off", "CHEQUER_LITECOIN_NODE=off", "CHEQUER_BASE_RPC=trusted:"+node.RPC)
	p.waitReached(b)
	for _, asset := range []struct {
		code     string
		currency money.Currency
		pay      func(b *testing.B, to string, due money.Amount) (tx string)
	}{
		{"EURC-BASE", money.Currency{Code: "EURC", Decimals: 6}, func(b *testing.B, to string, due money.Amount) string {
			return node.Transact(b, eurc.Contract, ethereumtest.Data("transfer(address,uint256)", to, due.Minor()))
		}},
		{"ETH-BASE", money.ETH, func(b *testing.B, to string, due money.Amount) string {
			return node.TransactWith(b, due.Minor(), to, "0x")
		}},
	} {
		measure(b, asset.code, func(b *testing.B) {
			var seen, baseline, paid []time.Duration
			for range arrivals {
				id, to, due := p.createInvoiceIn(b, asset.code, asset.currency)
				a := p.timeArrival(b, node, id, func() string { return asset.pay(b, to, due) })
				seen, baseline, paid = append(seen, a.seen), append(baseline, a.baseline), append(paid, a.paid)
			}
			untilSeen, untilBaseline, untilPaid := newLatencies(seen), newLatencies(baseline), newLatencies(paid)
			b.ReportMetric(untilSeen.percentile(.5), "p50-ms")
			b.ReportMetric(untilSeen.percentile(.95), "p95-ms")
			reportRatio(b, "-p50-ms", untilSeen.percentile(.5), untilBaseline.percentile(.5))
			b.ReportMetric(untilBaseline.percentile(.95), "baseline-p95-ms")
			b.ReportMetric(untilPaid.percentile(.5), "paid-p50-ms")
			b.ReportMetric(untilPaid.percentile(.95), "paid-p95-ms")
		})
	}
}

// waitReached waits until the program has reached the node, because before that it creates no invoices.
func (p *program) waitReached(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := p.createWith(b.Context(), `{"amount":12.50,"fiat_currency":"EUR","payment_methods":["EURC-BASE"]}`)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

// arrival holds the times from a block to the page, from a block to the baseline loop, and from the
// last needed block to the page.
type arrival struct{ seen, baseline, paid time.Duration }

// timeArrival pays an invoice and times its page, and a baseline loop that asks the node for the newest
// block and its transfers.
func (p *program) timeArrival(b *testing.B, node *ethereumtest.Node, id string, pay func() (tx string)) (times arrival) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	updates, err := followStream(ctx, p.url+"/invoice/"+id+"/live", "")
	if err != nil {
		b.Fatal(err)
	}
	before := node.Height(b)
	tx := pay()
	// A block arrives at a random time between two requests.
	time.Sleep(rand.N(pollInterval))
	baseline := make(chan error, 1)
	var found time.Time
	go func() {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			height, err := readHead(ctx, node)
			if err != nil || height > before {
				found = time.Now()
				baseline <- err
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	time.Sleep(rand.N(pollInterval))
	node.MineBlock(b, tx)
	mined := time.Now()
	updatedAt, err := nextUpdate(ctx, updates)
	if err != nil {
		b.Fatalf("no update with the payment: %v", err)
	}
	times.seen = updatedAt.Sub(mined)
	if err := <-baseline; err != nil {
		b.Fatal(err)
	}
	times.baseline = found.Sub(mined)
	for range ethereum.Base.Assets[0].Policy.Confirmations(0) - 1 {
		node.MineBlock(b)
	}
	mined = time.Now()
	for paid := false; !paid; { // the page may be updated while blocks are mined
		if updatedAt, err = nextUpdate(ctx, updates); err != nil {
			b.Fatalf("no update with the confirmation: %v", err)
		}
		if paid, err = p.isPaid(ctx, id); err != nil {
			b.Fatal(err)
		}
	}
	times.paid = updatedAt.Sub(mined)
	return times
}

// createInvoiceIn creates an invoice with one payment method.
func (p *program) createInvoiceIn(b *testing.B, asset string, currency money.Currency) (id, to string, due money.Amount) {
	b.Helper()
	inv, err := p.createWith(b.Context(), `{"amount":12.50,"fiat_currency":"EUR","payment_methods":["`+asset+`"]}`)
	if err != nil {
		b.Fatal(err)
	}
	if len(inv.Addresses) != 1 {
		b.Fatalf("%d addresses", len(inv.Addresses))
	}
	if due, err = money.Parse(inv.Addresses[0].ExpectedAmount.String(), currency); err != nil {
		b.Fatal(err)
	}
	return inv.ForeignID, inv.Addresses[0].Address, due
}

func (p *program) isPaid(ctx context.Context, id string) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+api.PathInvoiceStatus+"?id="+id, nil)
	if err != nil {
		return false, err
	}
	answer, err := fetch(r)
	return strings.Contains(string(answer), `"status":"paid"`), err
}

// readHead requests the newest block and its transfers, and returns its height. It is safe for
// concurrent use and keeps its connection open, unlike the methods of the node.
func readHead(ctx context.Context, n *ethereumtest.Node) (height int64, err error) {
	request := func(result any, method string, params ...any) error {
		content, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			return err
		}
		answer := struct{ Result, Error any }{Result: result}
		if err := post(ctx, n.RPC, content, nil, &answer); err != nil {
			return err
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %v", method, answer.Error)
		}
		return nil
	}
	var head struct{ Number, Hash string }
	if err := request(&head, "eth_getBlockByNumber", "latest", false); err != nil {
		return 0, err
	}
	var logs []any
	if err := request(&logs, "eth_getLogs", map[string]any{"blockHash": head.Hash, "address": []string{n.Token}}); err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimPrefix(head.Number, "0x"), 16, 64)
}
