package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/api"
	"chequer/internal/programtest"
)

// paidAtOnce is the number of invoices that are paid at the same time. The other counts are the endpoints by
// their behaviour.
const (
	paidAtOnce  = 200
	healthy     = 40 // endpoints that answer without delay
	unreachable = 4  // endpoints on a port without a listener
	slow        = 3  // endpoints that answer after slowDelay
	silent      = 3  // endpoints that accept the request and do not answer
	slowDelay   = 3 * time.Second
	// payers is the number of concurrent callers of the API.
	payers = 64
	// maxDeliveries is the program's limit of concurrent deliveries.
	maxDeliveries = 128
	// deliveryTimeout is the time after which the benchmark fails if a healthy endpoint lacks an event.
	deliveryTimeout = 3 * time.Minute
)

// BenchmarkDeliveries measures the deliveries of many events to many endpoints until the healthy endpoints
// have all. The baseline posts the same events without the program.
func BenchmarkDeliveries(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		measure(b, fmt.Sprintf("%d paid, %d endpoints", paidAtOnce, healthy+unreachable+slow+silent), func(b *testing.B) {
			p, h := serve(b, e), newReceivers(b)
			p.addEndpoints(b, h.base)
			p.useKey(b, "--test")
			before := p.memory()
			first := p.payAtOnce(b)
			maxMemory := before
			for done := false; !done; maxMemory = max(maxMemory, p.memory()) {
				select {
				case <-h.complete:
					done = true
				case <-time.After(50 * time.Millisecond):
				}
				if time.Since(first) > deliveryTimeout {
					b.Fatalf("%d of %d deliveries arrived within %s", len(h.arrived()), paidAtOnce*healthy, deliveryTimeout)
				}
			}
			times := newLatencies(h.arrived()[:paidAtOnce*healthy])
			times.span = h.last.Sub(first)
			times.report(b, "deliveries")
			b.ReportMetric(times.span.Seconds(), "total-s")
			reportRatio(b, "/s", times.perSecond(), postAlone(b, h.base+"/plain", h.body))
			b.ReportMetric(mebibytes(before), "MiB-before")
			b.ReportMetric(mebibytes(maxMemory), "MiB-max")
		})
	})
}

// addEndpoints adds the endpoints of every kind, for the event invoice.paid.
func (p *program) addEndpoints(b *testing.B, base string) {
	b.Helper()
	unused := "http://" + programtest.FreeAddress(b, "127.0.0.1")
	for _, kind := range []struct {
		url   string
		count int
	}{{base + "/healthy/", healthy}, {unused + "/", unreachable}, {base + "/slow/", slow}, {base + "/silent/", silent}} {
		for n := range kind.count {
			p.run(b, "endpoint", "add", fmt.Sprint(kind.url, n), "--test", "--events", "invoice.paid")
		}
	}
}

// payAtOnce creates paidAtOnce invoices with a payment each, and then confirms all payments as fast as
// possible. It returns the time before the first confirmation.
func (p *program) payAtOnce(b *testing.B) (first time.Time) {
	b.Helper()
	var ids [paidAtOnce]string
	concurrently(b, payers, paidAtOnce, func(ctx context.Context, n int) error {
		inv, err := p.createWith(ctx, `{"amount":12.50,"fiat_currency":"EUR"}`)
		if err != nil {
			return err
		}
		ids[n] = inv.ForeignID
		return p.simulate(ctx, ids[n], api.SimulateExact)
	})
	first = time.Now()
	concurrently(b, payers, paidAtOnce, func(ctx context.Context, n int) error {
		return p.simulate(ctx, ids[n], api.SimulateConfirm)
	})
	return first
}

// concurrently calls do with the numbers below count, at most limit at a time, and stops the benchmark at an error.
func concurrently(b *testing.B, limit, count int, do func(context.Context, int) error) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(limit)
	for n := range count {
		group.Go(func() error { return do(ctx, n) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// postAlone posts the same number of events without the program, each on a new connection as in a
// delivery. It returns the number of events per second.
func postAlone(b *testing.B, url string, body []byte) float64 {
	b.Helper()
	sender := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	start := time.Now()
	concurrently(b, maxDeliveries, paidAtOnce*healthy, func(ctx context.Context, _ int) error {
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
	return paidAtOnce * healthy / time.Since(start).Seconds()
}
