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

// What is paid at once, and who is told of it.
const (
	paidAtOnce = 200
	well       = 40 // endpoints that answer at once
	dead       = 4  // nobody listens
	slow       = 3  // answer after slowFor
	silent     = 3  // take the call and say nothing
	slowFor    = 3 * time.Second
	// payers is how many call the API at a time.
	payers = 64
	// pool is how many callbacks the program has under way at most.
	pool = 128
	// tellPatience is how long it may take until all are told who are well.
	tellPatience = 3 * time.Minute
)

// hooks are the receivers of callbacks.
type hooks struct {
	base string // address of those that listen
	stop context.CancelFunc

	mu   sync.Mutex
	took []time.Duration // from the event to its arrival, at those that are well
	full chan struct{}   // closed when all arrived; then these stay as they are:
	body []byte          // of the last event
	last time.Time       // when it came
}

func newHooks(ctx context.Context) (*hooks, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &hooks{base: "http://" + l.Addr().String(), full: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/well/", h.take)
	mux.HandleFunc("/plain", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/slow/", func(http.ResponseWriter, *http.Request) { wait(ctx, slowFor) })
	mux.HandleFunc("/silent/", func(http.ResponseWriter, *http.Request) { wait(ctx, tellPatience) })
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

// take notes how long an event was on its way.
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
	if len(h.took) == paidAtOnce*well {
		h.body, h.last = body, now
		close(h.full)
	}
}

// arrived is how long each event was on its way so far.
func (h *hooks) arrived() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.took)
}

// tell prints how long it takes to tell many endpoints of many payments, then what
// reading a long feed costs.
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
		if time.Since(first) > tellPatience {
			return fmt.Errorf("%d of %d callbacks came within %s", len(h.arrived()), paidAtOnce*well, tellPatience)
		}
	}
	span := h.last.Sub(first)
	all := latencies{each: h.arrived()[:paidAtOnce*well], span: span}
	slices.Sort(all.each)
	alone, err := postAlone(ctx, h.base+"/plain", h.body)
	if err != nil {
		return err
	}
	fmt.Printf("| %d invoices paid at once, %d endpoints told of it: %d well, %d dead, %d slow, %d silent | all of the well ones within %.1f s | | |\n",
		paidAtOnce, well+dead+slow+silent, well, dead, slow, silent, span.Seconds())
	fmt.Printf("| &nbsp; from the event to the receiver, those that are well | p50 %.1f, p95 %.1f, p99 %.1f s | | |\n", all.at(.5)/1000, all.at(.95)/1000, all.at(.99)/1000)
	fmt.Printf("| &nbsp; callbacks to those | %.0f/s | the same posted alone, %d at a time %.0f/s | %.2f |\n", all.perSecond(), pool, alone, all.perSecond()/alone)
	fmt.Printf("| &nbsp; memory, before and at most | %d and %d MiB | | |\n", before>>20, most>>20)
	return p.readFeed(ctx, c, plan)
}

// addEndpoints makes an endpoint of each kind for the moment of payment.
func (p *program) addEndpoints(ctx context.Context, binary, base string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	nobody := "http://" + l.Addr().String()
	l.Close()
	for _, kind := range []struct {
		url   string
		count int
	}{{base + "/well/", well}, {nobody + "/", dead}, {base + "/slow/", slow}, {base + "/silent/", silent}} {
		for n := range kind.count {
			if _, err := p.run(ctx, binary, "endpoint", "add", fmt.Sprint(kind.url, n), "--test", "--events", "invoice.paid"); err != nil {
				return err
			}
		}
	}
	return nil
}

// tester is a client with a test key.
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

// payAtOnce has the network confirm as many payments as it can in a moment, and
// returns when that began.
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

// atATime does something for each invoice, so many at a time as there are payers.
func atATime(ctx context.Context, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(payers)
	for n := range paidAtOnce {
		group.Go(func() error { return do(ctx, n) })
	}
	return group.Wait()
}

// postAlone posts as many events without the program, each on a connection of its
// own as a callback is, and returns how many a second.
func postAlone(ctx context.Context, url string, body []byte) (float64, error) {
	sender := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pool)
	begin := time.Now()
	for range paidAtOnce * well {
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
	return float64(paidAtOnce*well) / time.Since(begin).Seconds(), err
}
