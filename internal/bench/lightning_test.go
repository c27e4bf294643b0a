package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/chain/lightning/lndtest"
	"chequer/internal/money"
)

// provider is a node of Lightning that makes payment requests after a delay.
type provider struct {
	*lightningtest.LND
	server *httptest.Server
}

// newProvider starts a provider that answers at once.
func newProvider(b *testing.B) *provider {
	b.Helper()
	node := lightningtest.NewLND(b, time.Now, lightningtest.InvoiceMacaroon)
	node.Wallet.Network = "bc"
	p := &provider{node, httptest.NewTLSServer(node)}
	b.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// setDelay delays the making of each request.
func (p *provider) setDelay(delay time.Duration) {
	p.Set(func() {
		p.Replace = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && r.URL.Path == "/v1/invoices" {
				content, _ := io.ReadAll(r.Body) // the server notices that the client is gone only after the body
				r.Body = io.NopCloser(bytes.NewReader(content))
				wait(r.Context(), delay)
			}
			return r.Context().Err() != nil
		}
	})
}

// connect connects the shop to a wallet or node.
func (p *program) connect(b *testing.B, connection string) {
	b.Helper()
	c := exec.CommandContext(b.Context(), p.binary, "lightning", "add")
	c.Env, c.Stdin = p.environ, strings.NewReader(connection+"\n")
	if output, err := c.CombinedOutput(); err != nil {
		b.Fatalf("chequer lightning add: %v: %s", err, output)
	}
}

// waitRequest returns when an invoice has a payment request.
func (p *program) waitRequest(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var inv api.Invoice
		err := post(b.Context(), p.url+api.PathInvoiceNew, []byte(body), p.headers, &inv)
		isLightning := func(a api.Address) bool { return a.CryptoCurrency == api.MethodLightning }
		if slices.ContainsFunc(inv.Addresses, isLightning) {
			return
		}
		if time.Now().After(deadline) {
			text, _ := json.Marshal(inv)
			b.Fatalf("no payment request within 30 s: %s, error %v", text, err)
		}
	}
}

// BenchmarkCreate_with_Lightning measures the invoices that are created per second while a provider makes a payment request for each
// of them, after 1 ms, after 300 ms, and not at all. The baseline is the same program before it is connected.
func BenchmarkCreate_with_Lightning(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		p, node := serve(b, e), newProvider(b)
		baseline := map[int]float64{}
		for _, clients := range []int{1, 32} {
			baseline[clients] = repeat(b, clients, p.create).perSecond()
		}
		p.connect(b, node.Connection(node.server))
		p.waitRequest(b)
		for _, c := range []struct {
			name  string
			delay time.Duration
		}{{"1ms", time.Millisecond}, {"300ms", 300 * time.Millisecond}, {"never", time.Hour}} {
			node.setDelay(c.delay)
			for _, clients := range []int{1, 32} {
				measure(b, fmt.Sprintf("answer=%s/clients=%d", c.name, clients), func(b *testing.B) {
					got := repeat(b, clients, p.create)
					got.report(b, "creations")
					reportRatio(b, "/s", got.perSecond(), baseline[clients])
				})
			}
		}
	})
}

// BenchmarkArrival_by_Lightning measures the time from the moment at which a wallet begins to pay until the page shows the
// invoice as paid. The baseline is the time until the node of the shop notifies a client of its own.
func BenchmarkArrival_by_Lightning(b *testing.B) {
	pair := lndtest.Start(b)
	p := prepare(b, newSQLite, "CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_LITECOIN_NODE=off")
	p.connect(b, pair.Shop.Connection(b, pair.Shop.Macaroon(b, "invoice")))
	p.useKey(b)
	p.start(b)
	settlements := pair.Shop.Settlements(b)
	p.waitRequest(b)
	measure(b, api.MethodLightning, func(b *testing.B) {
		var notified, paid []time.Duration
		for range arrivals {
			id, request, _ := p.createInvoiceIn(b, api.MethodLightning, money.BTC)
			n, shown := p.timeRequest(b, pair, settlements, id, request)
			notified, paid = append(notified, n), append(paid, shown)
		}
		untilPaid, untilNotified := newLatencies(paid), newLatencies(notified)
		b.ReportMetric(untilPaid.percentile(.5), "p50-ms")
		b.ReportMetric(untilPaid.percentile(.95), "p95-ms")
		reportRatio(b, "-p50-ms", untilPaid.percentile(.5), untilNotified.percentile(.5))
		b.ReportMetric(untilNotified.percentile(.95), "baseline-p95-ms")
	})
}

// timeRequest pays the request of an invoice, and returns the times until the node notifies its own client and until the page
// shows the invoice as paid.
func (p *program) timeRequest(b *testing.B, pair *lndtest.Pair, settlements <-chan time.Time, id, request string) (notified, paid time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	updates, err := followStream(ctx, p.url+"/invoice/"+id+"/live", "")
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	pair.Payer.Pay(b, request)
	select {
	case at, ok := <-settlements:
		if !ok {
			b.Fatal("the subscription has ended")
		}
		notified = at.Sub(began)
	case <-ctx.Done():
		b.Fatal("the node notifies no settlement")
	}
	for isPaid := false; !isPaid; {
		at, err := nextUpdate(ctx, updates)
		if err != nil {
			b.Fatalf("no update with the payment: %v", err)
		}
		if isPaid, err = p.isPaid(ctx, id); err != nil {
			b.Fatal(err)
		}
		paid = at.Sub(began)
	}
	return notified, paid
}
