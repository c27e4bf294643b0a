package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
)

// streams is the number of pages that are held open to measure the memory of each.
const streams = 500

// BenchmarkPage measures the cost of the payment page: time, bytes, and memory per open stream.
func BenchmarkPage(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		p := serve(b, e, "CHEQUER_TRUST_PROXY=127.0.0.1")
		if err := p.create(b.Context()); err != nil {
			b.Fatal(err)
		}
		page := p.url + "/invoice/" + p.last.Load().(string)
		measure(b, "read", func(b *testing.B) {
			bytes := 0
			repeat(b, 1, func(ctx context.Context) error {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
				if err != nil {
					return err
				}
				r.Header.Set("Accept-Encoding", "gzip")
				answer, err := fetch(r)
				bytes = len(answer)
				return err
			}).report(b, "pages")
			b.ReportMetric(float64(bytes), "sent-bytes")
		})
		measure(b, fmt.Sprintf("%d streams", streams), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			before := p.memory()
			for n := range streams {
				if err := p.create(ctx); err != nil {
					b.Fatal(err)
				}
				shopper := fmt.Sprintf("198.18.%d.%d", n%250, n/250) // the streams of one address are limited
				if _, err := follow(ctx, p.url+"/invoice/"+p.last.Load().(string)+"/live", shopper); err != nil {
					b.Fatalf("stream %d: %v", n, err)
				}
			}
			b.ReportMetric(float64(p.memory()-before)/streams/1024, "KiB/stream")
		})
	})
}
