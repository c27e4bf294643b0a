package bench_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/lightning/lightningtest"
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
				wait(r.Context(), delay)
			}
			return r.Context().Err() != nil
		}
	})
}

// connect connects the shop to the provider, and returns when an invoice has a payment request.
func (p *program) connect(b *testing.B, to *provider) {
	b.Helper()
	c := exec.CommandContext(b.Context(), p.binary, "lightning", "add")
	c.Env, c.Stdin = p.environ, strings.NewReader(to.Connection(to.server)+"\n")
	if output, err := c.CombinedOutput(); err != nil {
		b.Fatalf("chequer lightning add: %v: %s", err, output)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var inv api.Invoice
		if err := post(b.Context(), p.url+api.PathInvoiceNew, []byte(body), p.headers, &inv); err != nil {
			b.Fatal(err)
		}
		isLightning := func(a api.Address) bool { return a.CryptoCurrency == api.MethodLightning }
		if slices.ContainsFunc(inv.Addresses, isLightning) {
			return
		}
		if time.Now().After(deadline) {
			text, _ := json.Marshal(inv)
			b.Fatalf("no payment request within 30 s: %s", text)
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
		p.connect(b, node)
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
