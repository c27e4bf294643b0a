package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
)

// listCall is the call that lists invoices.
func listCall(query string) message {
	return message{method: "GET", target: "/api/v2/invoices" + query, key: "read", signRequest: true}
}

// summaries returns the summaries that a query lists.
func (f *fixture) summaries(t *testing.T, query string) []api.Summary {
	t.Helper()
	response := f.send(listCall("?view=summary&" + query))
	text := read(t, response)
	var list api.SummaryList
	decode(t, text, &list)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: answer %d: %s", query, response.StatusCode, text)
	}
	return list.Summaries
}

func TestList_summaries_have_the_facts_of_their_invoices(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	id := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR","order_id":"1042","description":"Chair","metadata":{"order_reference":"table 7"}}`)
	f.simulateAction(t, id, `{"action":"over"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	now = noon.Add(time.Second)
	second := f.create(t, "all", minimalBody)
	response := f.send(listCall("?view=summary&limit=1"))
	var first api.SummaryList
	decode(t, read(t, response), &first)
	if len(first.Summaries) != 1 || first.Summaries[0].ForeignID != second || first.NextCursor == "" {
		t.Fatalf("first page: %+v", first)
	}
	got := f.summaries(t, "limit=1&cursor="+first.NextCursor)
	r := f.resource(t, id)
	want := []api.Summary{{
		ForeignID: id, OrderID: "1042", Mode: "test", Version: r.Version, Status: "paid", Exceptions: []string{"overpaid"}, NeedsDecision: true,
		CreatedAt: r.CreatedAt, ExpiredAt: r.ExpiredAt, PaidAt: r.PaidAt, ClientAmount: "56.5", ClientCurrency: "EUR",
		PaidAmount: r.PaidAmount, DueAmount: "0", OverpaidAmount: r.OverpaidAmount, PaidCurrency: "BTC",
		Received:    []api.ReceivedAmount{{CryptoCurrency: "BTC", Amount: r.Payments[0].Amount, State: "confirmed"}},
		Description: "Chair", Reference: "table 7", Origin: api.Origin{Kind: "api", ID: "key_all"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
}

// A page of 100 summaries has at most 60 kB.
func TestList_summaries_are_short(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for i := range 100 {
		id := f.create(t, "all", fmt.Sprintf(`{"amount":1056.50,"fiat_currency":"EUR","order_id":"order-%07d","description":"3 × Chair of oak, oiled"}`, i))
		if i%4 != 0 {
			f.simulateAction(t, id, `{"action":"over"}`)
			f.simulateAction(t, id, `{"action":"confirm"}`)
		}
	}
	text := read(t, f.send(listCall("?view=summary&limit=100")))
	if n := strings.Count(text, `"foreign_id"`); n != 100 || len(text) > 60_000 {
		t.Errorf("%d summaries have %d bytes, want 100 with at most 60,000", n, len(text))
	}
}

func TestList_filters_are_the_same_for_every_view(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	a := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR","order_id":"1042","metadata":{"order_reference":"table 7"}}`)
	b := f.create(t, "all", `{"amount":56.50,"fiat_currency":"USD"}`)
	f.simulateAction(t, a, `{"action":"over"}`)
	f.simulateAction(t, a, `{"action":"confirm"}`)
	tx := f.resource(t, a).PaidTx
	for query, want := range map[string]string{
		"":                               b + a,
		"amount=56.5&fiat_currency=EUR":  a,
		"amount=56.50&fiat_currency=USD": b,
		"amount=56.51&fiat_currency=EUR": "",
		"reference=table%207":            a,
		"exception=overpaid":             a,
		"exception=late":                 "",
		"needs_decision=true":            a,
		"origin=api":                     b + a,
		"origin=api&origin_id=key_all":   b + a,
		"origin=api&origin_id=other":     "",
		"origin=link&origin_id=key_all":  "",
		"origin=storefront":              "",
		"paid_currency=BTC":              a,
		"paid_currency=ETH":              "",
		"tx=" + tx:                       a,
		"tx=none":                        "",
		"tx=" + tx + "&status=created":   "",
		"address=xpub-address-1":         b,
		"address=xpub-address-1&amount=56.50&fiat_currency=USD": b,
		"address=nonsense": "",
	} {
		got := ""
		for _, s := range f.summaries(t, query) {
			got += s.ForeignID
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		var fullList string
		var list api.InvoiceList
		decode(t, read(t, f.send(listCall("?"+query))), &list)
		for _, r := range list.Invoices {
			fullList += r.ForeignID
		}
		if fullList != want {
			t.Errorf("%s in full: %s, want %s", query, fullList, want)
		}
		const idLength = 32
		if lines := strings.Count(read(t, f.send(listCall("/export?format=csv&"+query))), "\r\n") - 1; lines != len(want)/idLength {
			t.Errorf("%s exported: %d lines, want %d", query, lines, len(want)/idLength)
		}
	}
}

// A bad parameter is named by the error's code and its message.
func TestList_refuses_invalid_parameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	long := strings.Repeat("x", 129)
	for query, name := range map[string]string{
		"view=short":                             "view",
		"exception=Late":                         "exception",
		"needs_decision=false":                   "needs_decision",
		"origin=shop":                            "origin",
		"origin_id=tips":                         "origin",
		"origin=storefront&origin_id=tips":       "origin_id",
		"origin=link&origin_id=" + long:          "origin_id",
		"reference=":                             "reference",
		"reference=" + long:                      "reference",
		"paid_currency=" + long:                  "paid_currency",
		"tx=" + long:                             "tx",
		"address=" + strings.Repeat(long, 32):    "address",
		"amount=5":                               "fiat_currency",
		"fiat_currency=EUR":                      "amount",
		"amount=-5&fiat_currency=EUR":            "amount",
		"amount=1e3&fiat_currency=EUR":           "amount",
		"amount=5.005&fiat_currency=EUR":         "amount",
		"amount=0&fiat_currency=EUR":             "amount",
		"amount=5&fiat_currency=XXX":             "fiat_currency",
		"amount=5&amount=6&fiat_currency=EUR":    "amount",
		"amount=1000000000000&fiat_currency=EUR": "amount",
	} {
		for _, path := range []string{"?", "/export?format=csv&"} {
			if strings.HasPrefix(query, "view") && path != "?" {
				continue
			}
			message := checkRefused(t, f.send(listCall(path+query)), 400, "invalid_"+name)
			if !strings.HasPrefix(message, name) {
				t.Errorf("%s: message %q, want it to begin with %s", query, message, name)
			}
		}
	}
}
