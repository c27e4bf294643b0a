package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/api"
	"chequer/internal/client"
)

// The number of invoices that are paid at once, and the endpoints that receive the events.
const (
	paidAtOnce  = 200
	healthy     = 40 // endpoints that answer at once
	unreachable = 4  // endpoints on a port without a listener
	slow        = 3  // endpoints that answer after slowDelay
	silent      = 3  // endpoints that accept the request and do not answer
	slowDelay   = 3 * time.Second
	// payers is the number of concurrent callers of the API.
	payers = 64
	// maxCallbacks is the program's limit of concurrent callbacks.
	maxCallbacks = 128
	// callbackTimeout is the longest time until all healthy endpoints have all events.
	callbackTimeout = 3 * time.Minute
)

// hooks are the endpoints that receive callbacks.
type hooks struct {
	base string // address of the listening endpoints
	stop context.CancelFunc

	mu   sync.Mutex
	took []time.Duration // times from the event to its arrival at healthy endpoints
	full chan struct{}   // closed when all have arrived; then body and last are fixed
	body []byte          // body of the last event
	last time.Time       // time of its arrival
}

func newHooks(ctx context.Context) (*hooks, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &hooks{base: "http://" + l.Addr().String(), full: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthy/", h.take)
	mux.HandleFunc("/plain", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/slow/", func(http.ResponseWriter, *http.Request) { wait(ctx, slowDelay) })
	mux.HandleFunc("/silent/", func(http.ResponseWriter, *http.Request) { wait(ctx, callbackTimeout) })
	s := &http.Server{Handler: mux}
	go s.Serve(l)
	h.stop = func() {
		cancel()
		s.Close()
	}
	return h, nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// take records the time from an event to its arrival.
func (h *hooks) take(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	var e api.Event
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	at, parsed := time.Parse(api.TimeLayout, e.CreatedAt)
	if err != nil || parsed != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, now.Sub(at))
	if len(h.took) == paidAtOnce*healthy {
		h.body, h.last = body, now
		close(h.full)
	}
}

// arrived returns the times that are recorded so far.
func (h *hooks) arrived() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.took)
}

// tell prints how long the callbacks of many payments to many endpoints take, and then the cost of
// reading a long feed.
func (p *program) tell(ctx context.Context, binary string, plan plan) error {
	h, err := newHooks(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	if err := p.addEndpoints(ctx, binary, h.base); err != nil {
		return err
	}
	c, err := p.tester(ctx, binary)
	if err != nil {
		return err
	}
	before := p.memory()
	first, err := payAtOnce(ctx, c)
	if err != nil {
		return err
	}
	most := before
	for done := false; !done; most = max(most, p.memory()) {
		select {
		case <-h.full:
			done = true
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if time.Since(first) > callbackTimeout {
			return fmt.Errorf("%d of %d callbacks arrived within %s", len(h.arrived()), paidAtOnce*healthy, callbackTimeout)
		}
	}
	span := h.last.Sub(first)
	all := latencies{each: h.arrived()[:paidAtOnce*healthy], span: span}
	slices.Sort(all.each)
	alone, err := postAlone(ctx, h.base+"/plain", h.body)
	if err != nil {
		return err
	}
	fmt.Printf("| %d invoices paid at once, events to %d endpoints: %d healthy, %d unreachable, %d slow, %d silent | all at the healthy ones within %.1f s | | |\n",
		paidAtOnce, healthy+unreachable+slow+silent, healthy, unreachable, slow, silent, span.Seconds())
	fmt.Printf("| &nbsp; from the event to its arrival at healthy endpoints | p50 %.1f, p95 %.1f, p99 %.1f s | | |\n", all.at(.5)/1000, all.at(.95)/1000, all.at(.99)/1000)
	fmt.Printf("| &nbsp; callbacks to healthy endpoints | %.0f/s | the same requests without the program, %d at a time, %.0f/s | %.2f |\n", all.perSecond(), maxCallbacks, alone, all.perSecond()/alone)
	fmt.Printf("| &nbsp; memory before and maximum | %d and %d MiB | | |\n", before>>20, most>>20)
	return p.readFeed(ctx, c, plan)
}

// addEndpoints adds the endpoints of each kind for the event invoice.paid.
func (p *program) addEndpoints(ctx context.Context, binary, base string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	unused := "http://" + l.Addr().String()
	l.Close()
	for _, kind := range []struct {
		url   string
		count int
	}{{base + "/healthy/", healthy}, {unused + "/", unreachable}, {base + "/slow/", slow}, {base + "/silent/", silent}} {
		for n := range kind.count {
			if _, err := p.run(ctx, binary, "endpoint", "add", fmt.Sprint(kind.url, n), "--test", "--events", "invoice.paid"); err != nil {
				return err
			}
		}
	}
	return nil
}

// tester returns a client with a test key.
func (p *program) tester(ctx context.Context, binary string) (*client.Client, error) {
	out, err := p.run(ctx, binary, "key", "add", "--test", "--json")
	if err != nil {
		return nil, err
	}
	var key struct{ Key, Secret string }
	if err := json.Unmarshal(out, &key); err != nil {
		return nil, err
	}
	return client.New(client.Config{BaseURL: p.url, Key: key.Key, Secret: key.Secret, Transport: browser.Transport})
}

// payAtOnce creates invoices with payments, and then confirms all payments as fast as possible. It
// returns the time at which that begins.
func payAtOnce(ctx context.Context, c *client.Client) (first time.Time, err error) {
	var mu sync.Mutex
	var ids []string
	err = atATime(ctx, func(ctx context.Context, _ int) error {
		id, err := c.CreateInvoice(ctx, api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR"}, "")
		if err == nil {
			err = c.Simulate(ctx, id, api.SimulateRequest{Action: api.SimulateExact})
		}
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return first, err
	}
	first = time.Now()
	return first, atATime(ctx, func(ctx context.Context, n int) error {
		return c.Simulate(ctx, ids[n], api.SimulateRequest{Action: api.SimulateConfirm})
	})
}

// atATime runs do for each invoice, with as many concurrent calls as there are payers.
func atATime(ctx context.Context, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(payers)
	for n := range paidAtOnce {
		group.Go(func() error { return do(ctx, n) })
	}
	return group.Wait()
}

// postAlone posts the same number of events without the program, each on a connection of its own
// like a callback, and returns the number per second.
func postAlone(ctx context.Context, url string, body []byte) (float64, error) {
	sender := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxCallbacks)
	begin := time.Now()
	for range paidAtOnce * healthy {
		group.Go(func() error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
			if err != nil {
				return err
			}
			answer, err := sender.Do(r)
			if err != nil {
				return fmt.Errorf("post alone: %w", err)
			}
			defer answer.Body.Close()
			_, err = io.Copy(io.Discard, answer.Body)
			return err
		})
	}
	err := group.Wait()
	return float64(paidAtOnce*healthy) / time.Since(begin).Seconds(), err
}
