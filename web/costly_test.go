package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"chequer/web/present/presenttest"
)

// Invoices with more payments than their API resource contains cost more to read. Each network of callers has a rate
// limit for reading them.
func TestCostly_invoices_have_a_rate_limit(t *testing.T) {
	t.Parallel()
	huge, small := presenttest.Invoice("huge"), presenttest.Invoice("small")
	huge.MorePayments = 900
	h := pages(t, newService(huge, small), nil)
	read := func(id, address string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/invoice/"+id, nil)
		r.RemoteAddr = address + ":1234"
		return do(h, r).StatusCode
	}
	refused := 0
	for range 100 {
		if read("huge", "203.0.113.7") == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 50 {
		t.Errorf("%d of 100 requests of one network were refused, want at least 50", refused)
	}
	if status := read("huge", "198.51.100.9"); status != http.StatusOK {
		t.Errorf("a request of another network: status %d, want 200", status)
	}
	for range 100 {
		if status := read("small", "203.0.113.7"); status != http.StatusOK {
			t.Fatalf("a request for an invoice that is not costly: status %d, want 200", status)
		}
	}
}
