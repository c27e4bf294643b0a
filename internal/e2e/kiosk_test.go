package e2e_test

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/client"
	"chequer/internal/signature"
)

// kiosk is a shop. It creates invoices, and ships each paid order once. It learns of payments by the events of
// its endpoint and of the feed. A real shop keeps these fields in its database.
type kiosk struct {
	client *client.Client
	secret string // its endpoint's secret
	read   int64  // position up to which the feed is read

	mu      sync.Mutex
	shipped map[string]int // number of shipments by invoice
	seen    map[string]bool
}

// createInvoice creates an invoice.
func (k *kiosk) createInvoice(ctx context.Context) (id string, err error) {
	return k.client.CreateInvoice(ctx, api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR"}, "")
}

// ServeHTTP is the kiosk's endpoint.
func (k *kiosk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !hmac.Equal([]byte(r.Header.Get(api.HeaderSignature)), []byte(signature.Sign(k.secret, body))) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	k.receive(body)
}

// catchUp reads the missed events from the feed.
func (k *kiosk) catchUp(ctx context.Context) error {
	for {
		page, err := k.client.Events(ctx, k.read, 0)
		if err != nil || len(page.Events) == 0 {
			return err
		}
		for _, body := range page.Events {
			k.receive(body)
		}
		k.read = page.Next
	}
}

// receive ships the order of a payment, unless the same event came before.
func (k *kiosk) receive(body []byte) {
	var e api.Event
	k.mu.Lock()
	defer k.mu.Unlock()
	if json.Unmarshal(body, &e) == nil && e.Type == "invoice.paid" && !k.seen[e.ID] {
		k.seen[e.ID] = true
		k.shipped[e.ForeignID]++
	}
}

// closableListener is the listener of a kiosk. While it is closed, it drops every connection.
type closableListener struct {
	listener net.Listener
	handler  http.Handler
	isOpen   atomic.Bool
	dropped  atomic.Int64 // number of dropped connections
	served   atomic.Int64 // number of served requests
}

// Accept implements net.Listener.
func (d *closableListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.listener.Accept()
		if err != nil || d.isOpen.Load() {
			return conn, err
		}
		conn.Close()
		d.dropped.Add(1)
	}
}

func (d *closableListener) Close() error   { return d.listener.Close() }
func (d *closableListener) Addr() net.Addr { return d.listener.Addr() }

// ServeHTTP counts served requests.
func (d *closableListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.handler.ServeHTTP(w, r)
	d.served.Add(1)
}

// newClosableListener serves a handler through an open listener until the test ends.
func newClosableListener(t *testing.T, h http.Handler) *closableListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &closableListener{listener: l, handler: h}
	d.isOpen.Store(true)
	s := &http.Server{Handler: d}
	go s.Serve(d)
	t.Cleanup(func() { s.Close() })
	return d
}

// longestGap is the longest time between two attempts of a delivery: four hours and the largest
// jitter.
const longestGap = 4*time.Hour + 24*time.Minute

// TestKiosk_misses_a_day closes a shop's endpoint for a day while shoppers pay. The shop catches up by
// repeated deliveries or by the feed, and ships each order once.
func TestKiosk_misses_a_day(t *testing.T) {
	t.Parallel()
	for _, catchUp := range []string{"by retries", "by the feed"} {
		t.Run(catchUp, func(t *testing.T) {
			t.Parallel()
			var ahead atomic.Int64
			clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			p := start(t, settings(t, allowLoopback), app.Options{Demo: true, Now: clock})
			c, err := client.New(client.Config{BaseURL: p.url, Key: p.key.Key, Secret: p.key.Secret, Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			k := &kiosk{client: c, shipped: map[string]int{}, seen: map[string]bool{}}
			listener := newClosableListener(t, k)
			s := shop{t: t, client: c}
			var e api.Endpoint
			s.call(p.url, p.key, "POST", api.PathEndpoints, `{"url":"http://`+listener.Addr().String()+`/"}`, &e)
			k.secret = e.Secret
			createPaid := func() string {
				id, err := k.createInvoice(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s.simulate(id, api.SimulateExact, api.SimulateConfirm)
				return id
			}
			shipped := func(id string) int {
				k.mu.Lock()
				defer k.mu.Unlock()
				return k.shipped[id]
			}

			ids := []string{createPaid()}
			until(t, waitTimeout, "the shop receives the event", func() bool { return shipped(ids[0]) == 1 })
			listener.isOpen.Store(false)
			start := clock()
			for clock().Sub(start) < 24*time.Hour {
				ids = append(ids, createPaid())
				before := listener.dropped.Load()
				ahead.Add(int64(longestGap))
				until(t, waitTimeout, "the delivery is attempted again", func() bool { return listener.dropped.Load() > before })
			}
			listener.isOpen.Store(true)
			if catchUp == "by the feed" {
				if err := k.catchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					if shipped(id) != 1 {
						t.Errorf("after reading the feed, invoice %s was shipped %d times, want once", id, shipped(id))
					}
				}
			}
			// An attempt that is in progress when the listener opens may fail after the clock is
			// advanced. Its next attempt is then hours away again.
			var advanced time.Time
			until(t, waitTimeout, "every event is delivered", func() bool {
				if time.Since(advanced) > waitTimeout/5 {
					advanced = time.Now()
					ahead.Add(int64(longestGap))
				}
				return listener.served.Load() >= int64(len(paidEvents)*len(ids))
			})
			for _, id := range ids {
				if n := shipped(id); n != 1 {
					t.Errorf("invoice %s was shipped %d times, want once", id, n)
				}
			}
		})
	}
}
