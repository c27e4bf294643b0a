package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/programtest"
)

// BenchmarkProcesses measures one, two and four processes on one PostgreSQL database behind a proxy that
// takes them in turn: creations, pages, and deliveries, each with its ratio to one process, and the time
// until a page at the last process shows a payment that was simulated at the first.
func BenchmarkProcesses(b *testing.B) {
	if settings.postgres == "" {
		b.Skip("BENCH_POSTGRES names no database")
	}
	single := map[string]float64{}
	for _, count := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("%d", count), func(b *testing.B) {
			endpoints := newReceivers(b)
			program := serve(b, newPostgres)
			for n := range healthy {
				program.run(b, "endpoint", "add", fmt.Sprint(endpoints.base+"/healthy/", n), "--test", "--events", "invoice.paid")
			}
			program.useKey(b, "--test")
			servers := append([]string{program.url}, program.startOthers(b, count-1)...)
			measure(b, "update", func(b *testing.B) {
				inProcess, acrossProcesses := program.timeUpdates(b, servers[0]), program.timeUpdates(b, servers[count-1])
				b.ReportMetric(acrossProcesses.percentile(.5), "p50-ms")
				b.ReportMetric(acrossProcesses.percentile(.95), "p95-ms")
				reportRatio(b, "-p50-ms", acrossProcesses.percentile(.5), inProcess.percentile(.5))
			})
			program.url = roundRobin(b, servers)
			report := func(b *testing.B, name string, figure float64) {
				b.Helper()
				if count == 1 {
					single[name] = figure
				}
				reportRatio(b, "/s", figure, single[name])
			}
			measure(b, "creations", func(b *testing.B) {
				result := repeat(b, 32, program.create)
				result.report(b, "invoices")
				report(b, "creations", result.perSecond())
			})
			inv, err := program.createWith(b.Context(), body)
			if err != nil {
				b.Fatal(err)
			}
			page := program.url + "/invoice/" + inv.ForeignID
			measure(b, "pages", func(b *testing.B) {
				result := repeat(b, 32, func(ctx context.Context) error { return view(ctx, page) })
				result.report(b, "pages")
				report(b, "pages", result.perSecond())
			})
			measure(b, "callbacks", func(b *testing.B) {
				first := program.payAtOnce(b)
				select {
				case <-endpoints.complete:
				case <-time.After(deliveryTimeout):
					b.Fatalf("%d of %d deliveries arrived", len(endpoints.arrived()), paidAtOnce*healthy)
				}
				times := newLatencies(endpoints.arrived()[:paidAtOnce*healthy])
				times.span = endpoints.last.Sub(first)
				times.report(b, "callbacks")
				report(b, "callbacks", times.perSecond())
			})
		})
	}
}

// timeUpdates times how long after a simulated payment at the first server a page at another one shows it.
func (p *program) timeUpdates(b *testing.B, server string) latencies {
	b.Helper()
	var times []time.Duration
	for range 20 {
		inv, err := p.createWith(b.Context(), body)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		updates, err := followStream(ctx, server+"/invoice/"+inv.ForeignID+"/live", "")
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := p.simulate(ctx, inv.ForeignID, api.SimulateExact); err != nil {
			b.Fatal(err)
		}
		shown, err := nextUpdate(ctx, updates)
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, shown.Sub(start))
		cancel()
	}
	return newLatencies(times)
}

// startOthers starts more servers on the program's database, and returns their addresses.
func (p *program) startOthers(b *testing.B, count int) (urls []string) {
	b.Helper()
	for range count {
		listen := programtest.FreeAddress(b, "127.0.0.1")
		c := exec.Command(p.binary, "serve")
		c.Env = slices.Clone(p.environ)
		for i, setting := range c.Env {
			if strings.HasPrefix(setting, "CHEQUER_LISTEN=") {
				c.Env[i] = "CHEQUER_LISTEN=" + listen
			}
		}
		other := &program{binary: p.binary, environ: c.Env}
		other.start(b)
		b.Cleanup(func() { other.process.Kill() })
		urls = append(urls, "http://"+listen)
	}
	return urls
}

// roundRobin starts a proxy that takes servers in turn, and returns its address.
func roundRobin(b *testing.B, servers []string) string {
	b.Helper()
	var proxies []*httputil.ReverseProxy
	for _, server := range servers {
		target, err := url.Parse(server)
		if err != nil {
			b.Fatal(err)
		}
		proxies = append(proxies, &httputil.ReverseProxy{
			Transport: &http.Transport{MaxIdleConnsPerHost: 256},
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host // the host and the signed target stay
			},
		})
	}
	var next atomic.Uint32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxies[int(next.Add(1))%len(proxies)].ServeHTTP(w, r)
	}))
	b.Cleanup(s.Close)
	return s.URL
}
