package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/signature"
)

// program is a running demo.
type program struct {
	t      *testing.T
	app    *app.App
	config config.Config
	url    string
	stop   func() error
}

// demo starts a demo on a free port.
func demo(t *testing.T, settings ...string) *program {
	t.Helper()
	return demoWithClock(t, nil, settings...)
}

// demoWithClock starts a demo whose clock is now, or the machine's clock if now is nil.
func demoWithClock(t *testing.T, now func() time.Time, settings ...string) *program {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	l.Close()
	c, err := config.Load(append([]string{"CHEQUER_LISTEN=" + listen, "CHEQUER_DATA_DIR=" + t.TempDir()}, settings...))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), c, app.Options{Demo: true, Now: now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	p := &program{t: t, app: a, config: c, url: "http://" + listen}
	p.stop = sync.OnceValue(func() error {
		cancel()
		err := <-done
		if closeErr := a.Close(); closeErr != nil {
			t.Errorf("close: %v", closeErr)
		}
		return err
	})
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return p
}

// create creates an invoice with a request to a path.
func (p *program) create(path string) (*http.Response, string) {
	p.t.Helper()
	return p.post(path, `{"amount":12.50,"fiat_currency":"EUR"}`)
}

// post posts a body signed with the demo's key to a path.
func (p *program) post(path, text string) (*http.Response, string) {
	p.t.Helper()
	body := []byte(text)
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(api.HeaderKey, p.app.DemoKey().Key)
	r.Header.Set(api.HeaderSignature, signature.Sign(p.app.DemoKey().Secret, body))
	return p.do(r)
}

// do sends a request and returns the response with its body.
func (p *program) do(r *http.Request) (*http.Response, string) {
	p.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp, string(text)
}

func TestApp_routes_repeated_slashes_to_the_API(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, path string }{
		{"", "/api/v2/invoice/new"}, {"", "//api//v2/invoice///new"}, {"", "/v2/invoice/new"},
		{"/pay", "/pay/api/v2/invoice/new"}, {"/pay", "//pay//api/v2//invoice/new"},
	} {
		p := demo(t)
		if tt.base != "" {
			p = demo(t, "CHEQUER_BASE_URL=https://example.org"+tt.base)
		}
		if resp, text := p.create(tt.path); resp.StatusCode != http.StatusOK {
			t.Errorf("POST %s: %s %s", tt.path, resp.Status, text)
		}
	}
}

func TestApp_stop_ends_long_polls(t *testing.T) {
	t.Parallel()
	p := demo(t)
	_, text := p.create("/api/v2/invoice/new")
	var inv api.Invoice
	if err := json.Unmarshal([]byte(text), &inv); err != nil {
		t.Fatal(err)
	}
	target := api.PathInvoices + "/" + inv.ForeignID
	key := p.app.DemoKey()
	stamp := fmt.Sprint(time.Now().Unix())
	signed := signature.Request{Timestamp: stamp, Nonce: strings.Repeat("n", 20), Method: http.MethodGet, Target: target}
	sent := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		api.HeaderKey: key.Key, api.HeaderTimestamp: stamp, api.HeaderNonce: signed.Nonce,
		api.HeaderSignature: signature.Sign(key.Secret, signed.Message()), "If-None-Match": `"1"`, "Prefer": "wait=30",
	} {
		r.Header.Set(name, value)
	}
	status := make(chan int, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-sent
	for range 50 { // when these have been answered, the long poll waits in the server
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+api.PathInvoiceStatus+"?id="+inv.ForeignID, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.do(request)
	}
	if err := p.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if got := <-status; got != http.StatusNotModified {
		t.Errorf("long poll: answer %d, want 304", got)
	}
}
