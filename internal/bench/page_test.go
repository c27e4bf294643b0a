package bench_test

import (
	"context"
	"net/http"
	"testing"
)

// BenchmarkPage measures the cost of the payment page: time and bytes.
func BenchmarkPage(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		p := serve(b, e)
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
	})
}
