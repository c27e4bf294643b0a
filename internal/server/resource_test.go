package server_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
)

// Every answer of the invoice resource to a decision.
func TestGolden_decision_responses_are_unchanged(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	f.rates.evidence = `{"source":"test","pairs":[]}`
	f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR","payment_methods":["BTC","EURC-BASE"],"order_id":"1042"}`)
	var answers []string
	record := func(name string, m message) { answers = append(answers, goldenText(t, name, f.send(m))) }
	simulate := func(action string) {
		f.send(message{method: "POST", target: testTarget + "/simulate", key: "page", signRequest: true, body: `{"action":"` + action + `"}`})
	}
	record("requote by the page", invoiceAction("requote", "page", `{"quote":1}`))
	record("the same again", invoiceAction("requote", "page", `{"quote":1}`))
	simulate("under")
	now = noon.Add(time.Hour)
	f.expire(t)
	record("requote of an expired invoice by the page", invoiceAction("requote", "page", `{}`))
	record("by the merchant", invoiceAction("requote", "admin", `{}`))
	record("refund address", invoiceAction("refund-address", "page", `{"currency":"BTC","address":"TB1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KXPJZSX"}`))
	record("a merchant may not change it", invoiceAction("refund-address", "admin", `{"currency":"BTC","address":"mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"}`))
	record("read by the merchant", message{method: "GET", target: invoiceTarget, key: "read", signRequest: true})
	record("accepted", invoiceAction("accept", "admin", `{}`))
	second := f.create(t, "all", `{"amount":1,"fiat_currency":"EUR","payment_methods":["BTC"]}`)
	record("cancelled", message{method: "POST", target: "/api/v2/invoices/" + second + "/cancel", key: "admin", signRequest: true, body: `{}`})
	record("list", message{method: "GET", target: "/api/v2/invoices?limit=1", key: "read", signRequest: true})
	record("export", message{method: "GET", target: "/api/v2/invoices/export?format=json&status=declined", key: "read", signRequest: true})
	golden(t, "decisions.json", "["+strings.Join(answers, ",")+"]")
}

// Scopes of decisions. See CONTRACT, "The invoice resource".
func TestDecisions_enforce_scopes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		action, body string
		status       map[string]int // by key
	}{
		{"requote", `{}`, map[string]int{"page": 200, "create": 200, "admin": 200, "read": 403, "other": 404, "liveread": 404}},
		{"refund-address", `{"currency":"BTC","address":"tb1q"}`, map[string]int{"page": 409, "all": 409, "admin": 403, "create": 403, "read": 403, "liveread": 403}},
		{"cancel", `{}`, map[string]int{"admin": 200, "page": 403, "create": 403, "read": 403, "other": 404, "liveread": 404}},
		{"accept", `{}`, map[string]int{"admin": 409, "page": 403, "create": 403, "read": 403, "other": 404, "liveread": 404}},
	} {
		for key, want := range tt.status {
			f := newFixture(t, nil)
			f.create(t, "all", minimalBody)
			response := f.send(invoiceAction(tt.action, key, tt.body))
			if response.StatusCode != want {
				t.Errorf("%s by %s: %d, want %d: %s", tt.action, key, response.StatusCode, want, read(t, response))
			}
		}
	}
}

// The key of this server's pages, which belongs to another merchant, decides about an invoice as its shopper,
// and cannot cancel it.
func TestDecisions_of_the_servers_pages_are_the_shoppers(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	k := f.merchants.keys[publicKey("all")]
	k.ID, k.MerchantID, k.Key = "elsewhere", "other", publicKey("elsewhere")
	k.Secret, k.Builtin = "secret of elsewhere", true
	f.merchants.keys[k.Key] = k
	f.create(t, "all", minimalBody)
	checkRefused(t, f.send(invoiceAction("cancel", "elsewhere", `{}`)), 404, "invoice_not_found")
	now = noon.Add(time.Hour)
	f.expire(t)
	checkRefused(t, f.send(invoiceAction("requote", "elsewhere", `{}`)), 409, "wrong_state")
	if got := f.send(invoiceAction("requote", "all", `{}`)); got.StatusCode != 200 {
		t.Errorf("requote with the merchant's own key: answer %d, want 200", got.StatusCode)
	}
}

func TestDecisions_use_up_their_nonce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.create(t, "all", minimalBody)
	m := invoiceAction("requote", "page", `{}`)
	m.nonce = "0123456789abcdef"
	if got := f.send(m); got.StatusCode != 200 {
		t.Fatalf("answer %d", got.StatusCode)
	}
	checkRefused(t, f.send(m), 403, "bad_nonce_header")
}

// Each request has a given fault and all later faults.
func TestDecisions_order_of_checks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.create(t, "all", minimalBody)
	m := message{method: "POST", target: "/api/v2/invoices/nobody/requote", body: `{"quote":0`, header: headerWith("Content-Type", "text/plain")}
	for _, step := range []struct {
		repair func()
		status int
		code   string
	}{
		{func() {}, 403, "no_key_header"},
		{func() { m.key = "read" }, 403, "no_timestamp_header"},
		{func() { m.signRequest = true }, 403, "key_may_not"},
		{func() { m.key = "page" }, 415, "unsupported_media_type"},
		{func() { m.header = headerWith("Content-Type", "application/json") }, 400, "invalid_json"},
		{func() { m.body = `{"quote":0}` }, 400, "invalid_quote"},
		{func() { m.body = `{"quote":1,"Quote":1}` }, 400, "unknown_field"},
		{func() { m.body = `{"quote":1}` }, 404, "invoice_not_found"},
	} {
		step.repair()
		checkRefused(t, f.send(m), step.status, step.code)
	}
}

// CASES C77 over HTTP: 57 invoices with the same millisecond, pages of ten, while more invoices are
// created.
func TestList_has_each_invoice_once(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var want []string
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 57 {
		group.Go(func() {
			id := f.create(t, "all", minimalBody)
			mu.Lock()
			defer mu.Unlock()
			want = append(want, id)
		})
	}
	group.Wait()
	var got []string
	query := "?limit=10"
	for pages := 1; ; pages++ {
		response := f.send(message{method: "GET", target: "/api/v2/invoices" + query, key: "read", signRequest: true})
		var list api.InvoiceList
		decode(t, read(t, response), &list)
		for _, r := range list.Invoices {
			got = append(got, r.ForeignID)
		}
		if list.NextCursor == "" {
			if pages != 6 {
				t.Errorf("%d pages, want 6", pages)
			}
			break
		}
		query = "?limit=10&cursor=" + list.NextCursor
		f.create(t, "all", minimalBody)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("listed (-got +want):\n%s", diff)
	}
}

func TestList_finds_invoices_of_the_mode_by_query(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	a := f.create(t, "all", `{"amount":1,"fiat_currency":"EUR","order_id":"a&b"}`)
	b := f.create(t, "all", minimalBody)
	f.create(t, "live", `{"amount":1,"fiat_currency":"EUR","order_id":"a&b"}`)
	for query, want := range map[string][]string{
		"":                            {b, a},
		"?order_id=a%26b":             {a},
		"?status=created&limit=100":   {b, a},
		"?status=paid":                {},
		"?from=2026-11-27":            {b, a},
		"?from=2026-11-28":            {},
		"?to=2026-11-27T12:00:32.782": nil,
		"?to=2026-11-27T12:00:32Z":    {},
		"?to=2026-11-27T13:00:33%2B01:00&from=2026-11-27T12:00:32Z": {b, a},
		"?address=xpub-address-1":                                   {b},
		"?address=eth-address-0&order_id=a%26b":                     {a},
		"?address=eth-address-0&status=paid":                        {},
		"?address=0x5aAeb6053F3E94C9b9A09f33669":                    {},
	} {
		response := f.send(message{method: "GET", target: "/api/v2/invoices" + query, key: "read", signRequest: true})
		if want == nil {
			checkRefused(t, response, 400, "invalid_to")
			continue
		}
		var list api.InvoiceList
		decode(t, read(t, response), &list)
		got := []string{}
		for _, r := range list.Invoices {
			got = append(got, r.ForeignID)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", query, diff)
		}
	}
	for key, want := range map[string]int{"page": 403, "create": 403, "admin": 403, "read": 200} {
		if got := f.send(message{method: "GET", target: "/api/v2/invoices", key: key, signRequest: true}).StatusCode; got != want {
			t.Errorf("list by %s: %d, want %d", key, got, want)
		}
	}
}

// A cell never begins a formula, money is in plain decimals, and the export contains the requested
// invoices.
func TestExport_CSV_has_no_formulas(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	formulas := []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a,\"b\"\nc", "plain", "'=1"}
	for _, formula := range formulas {
		body, err := json.Marshal(api.InvoiceRequest{Amount: "0.30", FiatCurrency: "EUR", OrderID: formula, Description: formula, PaymentMethods: []string{"EURC-BASE"}})
		if err != nil {
			t.Fatal(err)
		}
		f.create(t, "all", string(body))
	}
	response := f.send(message{method: "GET", target: "/api/v2/invoices/export?format=csv", key: "read", signRequest: true})
	text := read(t, response)
	if got := response.Header.Get("Content-Type"); got != "text/csv; charset=utf-8; header=present" {
		t.Errorf("Content-Type %s", got)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(formulas)+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var got []string
	for _, row := range rows[1:] {
		got = append(got, row[3])
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("a cell begins a formula: %q", cell)
			}
		}
		if row[2] != "test" || row[7] != "0.3" || row[9] != "0" {
			t.Errorf("mode %q, money %q %q", row[2], row[7], row[9])
		}
	}
	slices.Reverse(got)
	want := []string{"'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t'=1", "''=1", "a,\"b\"\nc", "plain", "'=1"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("order numbers (-got +want):\n%s", diff)
	}
	path := filepath.Join("testdata", "export.csv")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil || string(file) != text {
		t.Errorf("export differs from %s: %v\n%s", path, err, text)
	}
}

// An export is written page by page.
func TestExport_is_complete_and_streamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for i := range 250 {
		f.create(t, "all", fmt.Sprintf(`{"amount":1,"fiat_currency":"EUR","order_id":"%d","payment_methods":["BTC"]}`, i))
	}
	w := &writeRecorder{header: http.Header{}}
	f.handler.ServeHTTP(w, f.request(message{method: "GET", target: "/api/v2/invoices/export?format=json", key: "read", signRequest: true}))
	var resources []api.Resource
	if err := json.Unmarshal([]byte(w.text.String()), &resources); err != nil || len(resources) != 250 {
		t.Errorf("%d invoices, %v", len(resources), err)
	}
	orders := map[string]bool{}
	for _, r := range resources {
		orders[r.OrderID] = true
	}
	if len(orders) != 250 {
		t.Errorf("%d distinct orders, want 250", len(orders))
	}
	if w.largest > 8<<10 {
		t.Errorf("largest write = %d bytes, want at most 8 KiB", w.largest)
	}
	if got := f.storage.PageLimits(); !slices.Equal(got, []int{100, 100, 100}) {
		t.Errorf("page sizes = %v, want three of 100", got)
	}
}

// A CSV export is read in pages of 200 lines and written in small pieces, whatever its length. Invoices
// that are created meanwhile are not in it.
func TestExport_CSV_is_complete_and_streamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const body = `{"amount":1,"fiat_currency":"EUR","payment_methods":["BTC"]}`
	for range 410 {
		f.create(t, "all", body)
	}
	w := &writeRecorder{header: http.Header{}}
	w.wrote = sync.OnceFunc(func() { f.create(t, "all", body) })
	f.handler.ServeHTTP(w, f.request(message{method: "GET", target: "/api/v2/invoices/export?format=csv", key: "read", signRequest: true}))
	if lines := strings.Count(w.text.String(), "\r\n"); lines != 411 {
		t.Errorf("%d lines, want 411", lines)
	}
	if w.largest > 8<<10 {
		t.Errorf("largest write = %d bytes, want at most 8 KiB", w.largest)
	}
	if got := f.storage.PageLimits(); !slices.Equal(got, []int{200, 200, 200}) {
		t.Errorf("page sizes = %v, want three of 200", got)
	}
}

// If a page of an export cannot be read, the connection is aborted. A fault of the first page is an answer.
func TestExport_is_aborted(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"csv", "json"} {
		f := newFixture(t, nil)
		for range 210 {
			f.create(t, "all", `{"amount":1,"fiat_currency":"EUR","payment_methods":["BTC"]}`)
		}
		m := message{method: "GET", target: "/api/v2/invoices/export?format=" + format, key: "read", signRequest: true}
		f.storage.FailPage(1)
		checkRefused(t, f.send(m), 503, "unavailable")
		f.storage.FailPage(3) // the second one of the next export
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("%s: recovered %v, want %v", format, err, http.ErrAbortHandler)
				}
			}()
			f.handler.ServeHTTP(&writeRecorder{header: http.Header{}}, f.request(m))
		}()
	}
}

// writeRecorder is a response writer that keeps the text, and the size of the largest write.
type writeRecorder struct {
	header  http.Header
	text    strings.Builder
	largest int
	wrote   func() // called at each write; nil: none
}

func (p *writeRecorder) Header() http.Header { return p.header }
func (p *writeRecorder) WriteHeader(int)     {}
func (p *writeRecorder) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	if p.wrote != nil {
		p.wrote()
	}
	return p.text.Write(b)
}
