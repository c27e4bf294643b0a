package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/clocktest"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/logtest"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/webhook"
	"chequer/internal/wire"
)

// onBoth runs a test on both engines, with a clock that the test moves.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for name, newDatabase := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, newDatabase(t), clocktest.New(noon)))
		})
	}
}

// fixture is a merchant with a worker on real storage.
type fixture struct {
	t         testing.TB
	url       string
	storage   *storage.Storage
	clock     timer
	endpoints *merchant.Endpoints
	worker    *webhook.Worker
	dialer    *counter
	log       *logtest.Journal
	tokens    atomic.Int64 // number of tokens so far
}

// counter counts the calls of Dial.
type counter struct {
	guard.Connector
	dials atomic.Int64
}

func (c *counter) Dial(ctx context.Context, target guard.Target, hostport string) (net.Conn, error) {
	c.dials.Add(1)
	return c.Connector.Dial(ctx, target, hostport)
}

// allowLoopback allows the networks of the receivers in these tests.
var allowLoopback = guard.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func newFixture(t testing.TB, url string, c timer) *fixture {
	t.Helper()
	f := &fixture{t: t, url: url, clock: c, log: &logtest.Journal{}}
	box, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	if f.storage, err = storage.Open(context.Background(), url, box, storage.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.storage.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	err = f.storage.CreateShop(context.Background(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: noon}})
	if err != nil && !errors.Is(err, merchant.ErrExists) {
		t.Fatal(err)
	}
	f.endpoints = merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: f.storage, Check: allowLoopback.Check, EncodeTest: wire.TestEvent, Now: c.Now, Token: f.token,
	})
	f.connect(&guard.Dialer{Policy: allowLoopback, Resolver: net.DefaultResolver}, nil)
	return f
}

// connect creates the worker with a dialer.
func (f *fixture) connect(d guard.Connector, certificates *tls.Config) {
	f.dialer = &counter{Connector: d}
	f.worker = webhook.New(webhook.Config{
		Storage: f.storage, Dialer: f.dialer, TLS: certificates, Now: f.clock.Now, Log: slog.New(slog.NewTextHandler(f.log, nil)),
	})
}

// token returns a unique text of the given length.
func (f *fixture) token(length int) string { return fmt.Sprintf("%0*d", length, f.tokens.Add(1)) }

// endpoint creates a live endpoint for events of some types.
func (f *fixture) endpoint(url string, events ...string) merchant.Endpoint {
	f.t.Helper()
	e, err := f.endpoints.Create(context.Background(), "m", merchant.Live, url, events)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

// createInvoice creates an invoice with its event.
func (f *fixture) createInvoice(id string) {
	f.t.Helper()
	price, now := money.FromCents(1250, money.EUR), f.clock.Now()
	_, _, err := f.storage.CreateInvoice(context.Background(), invoice.Creation{MerchantID: "m", At: now, Build: func(invoice.NextIndex) (*invoice.Invoice, error) {
		return &invoice.Invoice{
			ID: id, MerchantID: "m", Mode: invoice.Live, Version: 1, CreatedAt: now,
			Terms: invoice.Terms{Price: price, Merchant: "Shop", Rules: invoice.DefaultRules(money.EUR)},
			State: invoice.State{
				Status: invoice.Created, Paid: money.Zero(money.EUR), Due: price, Overpaid: money.Zero(money.EUR),
			},
			Quotes: []invoice.Quote{{Number: 1, From: now, Until: now.Add(15 * time.Minute), Due: price}},
			Events: []invoice.Event{f.event(id, invoice.EventCreated, 1)},
		}, nil
	}})
	if err != nil {
		f.t.Fatal(err)
	}
}

// addEvents adds events to an invoice.
func (f *fixture) addEvents(id string, types ...invoice.EventType) {
	f.t.Helper()
	for _, e := range types {
		_, err := f.storage.UpdateInvoice(context.Background(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Version++
			inv.Events = append(inv.Events, f.event(id, e, inv.Version))
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fixture) event(invoiceID string, e invoice.EventType, version int64) invoice.Event {
	id := fmt.Sprintf("evt_%s_%d", invoiceID, version)
	return invoice.Event{
		ID: id, Type: e, Version: version, CreatedAt: f.clock.Now(),
		Body: fmt.Appendf(nil, `{"id":"%s","type":"%s","version":%d,"foreign_id":"%s"}`, id, e, version, invoiceID),
	}
}

// send sends all deliveries that are due now.
func (f *fixture) send() {
	f.t.Helper()
	for before := int64(-1); before < f.dialer.dials.Load(); {
		before = f.dialer.dials.Load()
		if err := f.worker.Step(context.Background()); err != nil {
			f.t.Fatal(err)
		}
		f.worker.Wait()
	}
}

// run advances the clock minute by minute and sends due deliveries.
func (f *fixture) run(minutes int) {
	f.t.Helper()
	for range minutes {
		f.clock.Advance(time.Minute)
		f.send()
	}
}

// delivery returns the delivery of an event and its attempts.
func (f *fixture) delivery(e merchant.Endpoint, eventID string) (merchant.Delivery, []merchant.Attempt) {
	f.t.Helper()
	d, attempts, err := f.endpoints.Delivery(context.Background(), e, eventID)
	if err != nil {
		f.t.Fatal(err)
	}
	return d, attempts
}

// timer is a clock that tests can advance.
type timer interface {
	Now() time.Time
	Advance(duration time.Duration)
}

// bubble is the clock of a synctest bubble.
type bubble struct{}

func (bubble) Now() time.Time                 { return time.Now().Truncate(time.Millisecond) }
func (bubble) Advance(duration time.Duration) { time.Sleep(duration) }

// received is a request that a receiver got.
type received struct {
	id     string
	header http.Header
	body   []byte
}

// receiver is a shop's server. It answers 200 unless a test sets another answer.
type receiver struct {
	t   testing.TB
	url string

	mu    sync.Mutex
	got   []received
	reply func(w http.ResponseWriter, r received)
	wake  chan struct{} // signals a received request
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{t: t, wake: make(chan struct{}, 1)}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL + "/hook?token=hush"
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	checkDocumented(r.t, request.Header)
	got := received{id: request.Header.Get("X-Processing-Event-Id"), header: request.Header, body: body}
	r.mu.Lock()
	r.got = append(r.got, got)
	reply := r.reply
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	if reply != nil {
		reply(w, got)
	}
}

// answer sets the status with which the receiver answers.
func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = func(w http.ResponseWriter, _ received) { w.WriteHeader(status) }
}

// await waits until n requests were received or the context ends.
func (r *receiver) await(ctx context.Context, n int) {
	for len(r.requests()) < n {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// ids returns the identifiers of the received events, in order.
func (r *receiver) ids() (list []string) {
	for _, g := range r.requests() {
		list = append(list, g.id)
	}
	return list
}

func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received{}, r.got...)
}
