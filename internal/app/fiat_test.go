package app_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/money"
)

// The demo prices every currency that can be enabled, and refuses other currencies.
func TestDemo_accepts_the_enabled_currencies(t *testing.T) {
	t.Parallel()
	var codes []string
	for _, c := range money.Fiats() {
		codes = append(codes, c.Code)
	}
	p := demo(t, "CHEQUER_FIAT="+strings.Join(codes, ", ")+",CHF")
	for _, code := range codes {
		resp, text := p.post("/api/v2/invoice/new", `{"amount":90000,"fiat_currency":"`+code+`"}`)
		if resp.StatusCode != http.StatusOK || !strings.Contains(text, `"client_currency":"`+code+`"`) {
			t.Errorf("%s: %s %s", code, resp.Status, text)
		}
	}
	p = demo(t, "CHEQUER_FIAT=CHF,PLN")
	resp, text := p.post("/api/v2/invoice/new", `{"amount":1,"fiat_currency":"GBP"}`)
	if want := "fiat_currency must be EUR, USD, CHF or PLN"; resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
		t.Errorf("GBP: %s %s, want %q", resp.Status, text, want)
	}
}
