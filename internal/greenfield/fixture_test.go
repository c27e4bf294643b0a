package greenfield_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/clocktest"
	"chequer/internal/greenfield"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/logtest"
	"chequer/internal/merchant"
	"chequer/internal/rates"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/token"
	"chequer/internal/watcher"
	"chequer/internal/webhook"
	"chequer/internal/wire"
)

// noon is the time at which the tests begin.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// loopback allows the networks of the receivers in these tests.
var loopback = guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// fixture is the API with real services, storage and watcher, and a simulated network. Its callers are on this machine.
type fixture struct {
	t         testing.TB
	handler   http.Handler
	config    greenfield.Config
	clock     *clocktest.Clock
	storage   *storage.Storage
	merchants *merchant.Service
	invoices  *invoice.Service
	simnet    *simnet.Network
	watcher   *watcher.Watcher
	endpoints *merchant.Endpoints
	worker    *webhook.Worker
	shop      merchant.Merchant
	token     string // of a key for test invoices, with every scope but that to settle
	log       *logtest.Journal

	newInvoices func(invoice.Storage) *invoice.Service
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for name, newDatabase := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, newDatabase(t)))
		})
	}
}

func newFixture(t testing.TB, url string) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.New(noon), log: &logtest.Journal{}}
	log := slog.New(slog.NewTextHandler(f.log, nil))
	f.storage = storagetest.OpenWithClock(t, url, f.clock.Now)
	f.merchants = merchant.NewService(f.storage, f.clock.Now, token.New)
	f.simnet = simnet.New(f.storage, f.clock.Now)
	fixed, err := rates.ParseFixed("BTC-EUR=86420.00,LTC-EUR=80.00,ETH-EUR=2650.10,EUR-USD=1.08", "fixed")
	if err != nil {
		t.Fatal(err)
	}
	f.newInvoices = func(s invoice.Storage) *invoice.Service {
		return invoice.NewService(invoice.Config{
			Storage: s, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {f.simnet}}, Rates: func() invoice.Rates { return fixed },
			Now: f.clock.Now, NewID: func() string { return token.New(32) }, Encode: wire.Event, Messages: greenfield.Messages, Log: log,
		})
	}
	f.invoices = f.newInvoices(f.storage)
	f.endpoints = merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: f.storage, Check: loopback.Check, EncodeTest: wire.TestEvent, Now: f.clock.Now, Token: token.New,
	})
	f.worker = webhook.New(webhook.Config{
		Storage: f.storage, Dialer: &guard.Dialer{Policy: loopback, Resolver: net.DefaultResolver},
		Complete: greenfield.NewCompleter(f.storage, f.clock.Now).Complete, Now: f.clock.Now, Log: log,
	})
	f.watcher = watcher.New(watcher.Config{
		Network: f.simnet, Storage: f.storage, Observer: f.invoices, Holder: "test", Every: time.Second, Now: f.clock.Now, Log: log,
	})
	f.watch()
	f.config = greenfield.Config{
		Invoices: f.invoices, Creator: invoicing.New(invoicing.Config{Invoices: f.invoices, Merchants: f.merchants}), Merchants: f.merchants, Data: f.storage, Endpoints: f.endpoints, Prices: merchant.NewPrices(nil, "1000000"), BaseURL: "https://pay.example/shop", BasePath: "/shop",
		Protected: func(*http.Request) bool { return true }, Now: f.clock.Now, Log: log,
	}
	f.handler = greenfield.New(f.config)
	f.shop = f.createShop("Atelier Nord")
	f.token = f.newToken(f.shop, merchant.Test, "other")
	return f
}

// createShop creates a shop with test wallets.
func (f *fixture) createShop(name string) merchant.Merchant {
	f.t.Helper()
	m, err := f.merchants.CreateShop(f.t.Context(), name, "")
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// newToken returns the token of a new key of a plug-in, with the plug-in's scopes and more.
func (f *fixture) newToken(shop merchant.Merchant, mode merchant.Mode, plugin string, more ...merchant.Scope) string {
	f.t.Helper()
	p, err := merchant.FindPlugin(plugin)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.newTokenFor(shop, mode, plugin, append(append([]merchant.Scope{}, p.Scopes...), more...)...)
}

// newTokenFor is newToken with exactly the given scopes.
func (f *fixture) newTokenFor(shop merchant.Merchant, mode merchant.Mode, plugin string, scopes ...merchant.Scope) string {
	f.t.Helper()
	_, token, err := f.merchants.CreatePluginKey(f.t.Context(), shop.ID, merchant.PluginKey{Plugin: plugin, Mode: mode, Scopes: scopes})
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

// watch scans the network once.
func (f *fixture) watch() {
	f.t.Helper()
	if _, err := f.watcher.Step(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// store returns the path of a resource of the test store.
func (f *fixture) store(path string) string { return "/stores/test-" + f.shop.ID + path }

// answer is the answer of a call.
type answer struct {
	status int
	body   string
	header http.Header
}

// send makes a call below /api/v1 with a token, or without one if it is "".
func (f *fixture) send(method, path, token, body string) answer {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), method, "/shop/api/v1"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	if token != "" {
		r.Header.Set("Authorization", "token "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return f.serve(r)
}

// serve makes a call.
func (f *fixture) serve(r *http.Request) answer {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{w.Code, string(body), w.Result().Header}
}

// call makes a call with the fixture's token that must be answered with 200, and returns the decoded body.
func call[T any](f *fixture, method, path, body string) (decoded T) {
	f.t.Helper()
	a := f.send(method, path, f.token, body)
	if a.status != http.StatusOK {
		f.t.Fatalf("%s %s: answer %d: %s", method, path, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &decoded); err != nil {
		f.t.Fatalf("%s %s: %v: %s", method, path, err, a.body)
	}
	return decoded
}
