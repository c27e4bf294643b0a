package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"chequer/web"
	"chequer/web/present"
	"chequer/web/present/presenttest"
)

// BenchmarkPaymentPage measures one request for the payment page, and the bytes sent. The fake
// service costs almost nothing, so the result is the cost of rendering the page.
func BenchmarkPaymentPage(b *testing.B) {
	h := web.New(web.Config{
		Client: newService(presenttest.Invoice("abc")), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now: func() time.Time { return noon }, Site: present.Site{Storefront: true, ShopName: "Shop"}, PostsPerMinute: -1,
	})
	b.Cleanup(h.Close)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/invoice/abc", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		size = w.Body.Len()
	}
	b.ReportMetric(float64(size), "sent_bytes")
}
