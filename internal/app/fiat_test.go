package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/money"
	"chequer/internal/rates"
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
		resp, text := p.ask("/api/v2/invoice/new", `{"amount":90000,"fiat_currency":"`+code+`"}`)
		if resp.StatusCode != http.StatusOK || !strings.Contains(text, `"client_currency":"`+code+`"`) {
			t.Errorf("%s: %s %s", code, resp.Status, text)
		}
	}
	p = demo(t, "CHEQUER_FIAT=CHF,PLN")
	resp, text := p.ask("/api/v2/invoice/new", `{"amount":1,"fiat_currency":"GBP"}`)
	if want := "fiat_currency must be EUR, USD, CHF or PLN"; resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
		t.Errorf("GBP: %s %s, want %q", resp.Status, text, want)
	}
}

func TestExamineFiats(t *testing.T) {
	t.Parallel()
	report := rates.Report{Pairs: []rates.PairReport{
		{Pair: "EUR-CHF", Price: "0.95"}, {Pair: "EUR-GBP", Fault: "no usable quotation"}, {Pair: "EUR-SEK", Price: "11"},
	}}
	var got []string
	app.ExamineFiats(config.Config{Fiat: "CHF,GBP,JPY,USD"}, report, func(level app.Level, about, format string, args ...any) {
		got = append(got, string(level)+" "+about+": "+fmt.Sprintf(format, args...))
	})
	want := []string{
		"ok currency CHF: a euro is 0.95 CHF",
		"fail currency GBP: no invoice can be made in it: the European Central Bank's table has no price of the last 5 days",
		"fail currency JPY: no invoice can be made in it: the European Central Bank's table has no price of the last 5 days",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
