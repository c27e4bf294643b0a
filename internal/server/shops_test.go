package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// shopCall is a call of an operation with a key of another shop. The target and the body contain %1 for the
// object of the shop.
type shopCall struct {
	method, target, body string
	objects              []string // of the shop
	unknown              []string // objects that do not exist, in their place
	key                  string   // idempotency key
}

// Every operation of the API, called with a key of one shop about the objects of another shop, answers as for
// objects that do not exist, and no list has objects of another shop.
func TestKey_has_no_access_to_another_shop(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	inv := f.create(t, "all", `{"amount":12.5,"fiat_currency":"EUR","order_id":"order of the shop"}`)
	f.create(t, "all", minimalBody)
	_, page := f.call("all", "GET", "/api/v2/invoices?limit=1", "")
	var first struct {
		Cursor string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(page), &first); err != nil || first.Cursor == "" {
		t.Fatalf("the list has no cursor: %s, %v", page, err)
	}
	cursor := url.QueryEscape(first.Cursor)
	f.addEvents(strings.Repeat("e", 32), invoice.Test, invoice.EventCreated, invoice.EventPaid)
	create := func(key, path, body string) (answer map[string]any) {
		t.Helper()
		status, text := f.call(key, "POST", path, body)
		if status != http.StatusCreated || json.Unmarshal([]byte(text), &answer) != nil {
			t.Fatalf("%s answers %d: %s", path, status, text)
		}
		return answer
	}
	endpoint := create("all", "/api/v2/endpoints", `{"url":"https://shop.example/hook"}`)["id"].(string)
	status, text := f.call("all", "POST", "/api/v2/endpoints/"+endpoint+"/test", "{}")
	if status != http.StatusAccepted && status != http.StatusOK {
		t.Fatalf("test of the endpoint answers %d: %s", status, text)
	}
	create("all", "/api/v2/links", `{"slug":"shoplink","amount":5,"fiat_currency":"EUR"}`)
	create("all", "/api/v2/products", `{"slug":"shopsoap","name":"Soap","price":5,"fiat_currency":"EUR"}`)
	terminal, err := f.config.Terminals.Create(t.Context(), merchant.Terminal{MerchantID: "shop", Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.config.Themes.Set(t.Context(), "shop", red, nil); err != nil {
		t.Fatal(err)
	}
	own := create("other", "/api/v2/endpoints", `{"url":"https://other.example/hook"}`)["id"].(string)
	signed := url.QueryEscape(linkQuery("all", "order_id", "order of the shop"))
	unsigned := url.QueryEscape(strings.Replace(linkQuery("all", "order_id", "order of the shop"), publicKey("all"), publicKey("unknown"), 1))

	id, endpointID, slug, product := []string{inv}, []string{endpoint}, []string{"shoplink"}, []string{"shopsoap"}
	noID, noEndpoint, none := []string{strings.Repeat("z", 32)}, []string{"end_" + strings.Repeat("9", 16)}, []string{"nothing"}
	endpointCalls := func(method, path, body string) []shopCall {
		return []shopCall{{method: method, target: "/api/v2/endpoints/%1" + path, body: body, objects: endpointID, unknown: noEndpoint}}
	}
	invoiceCalls := func(method, path, body string) []shopCall {
		return []shopCall{{method: method, target: "/api/v2/invoices/%1" + path, body: body, objects: id, unknown: noID}}
	}
	checkoutCalls := func(action string) (calls []shopCall) {
		for _, c := range []struct{ body, object, unknown string }{
			{`{"slug":"%1"}`, "shoplink", "nothing"}, {`{"query":"%1"}`, signed, unsigned}, {`{"terminal":"%1","amount":"5"}`, terminal.Secret, strings.Repeat("9", len(terminal.Secret))},
		} {
			unescape := func(text string) string { plain, _ := url.QueryUnescape(text); return plain }
			calls = append(calls, shopCall{
				method: "POST", target: "/api/v2/links/" + action, body: c.body, objects: []string{unescape(c.object)}, unknown: []string{unescape(c.unknown)}, key: "form",
			})
		}
		return calls
	}
	listCalls := func(targets ...string) (calls []shopCall) {
		for _, target := range targets {
			calls = append(calls, shopCall{method: "GET", target: target})
		}
		return calls
	}
	calls := map[string][]shopCall{
		"listInvoices": listCalls("/api/v2/invoices", "/api/v2/invoices?order_id=order+of+the+shop", "/api/v2/invoices?status=created",
			"/api/v2/invoices?address="+addressOf(t, f.fixture, inv), "/api/v2/invoices?view=summary", "/api/v2/invoices?cursor="+cursor),
		"exportInvoices":   listCalls("/api/v2/invoices/export?format=csv", "/api/v2/invoices/export?format=json"),
		"readInvoice":      invoiceCalls("GET", "", ""),
		"requoteInvoice":   invoiceCalls("POST", "/requote", "{}"),
		"requestPayment":   invoiceCalls("POST", "/payment-request", "{}"),
		"setRefundAddress": invoiceCalls("POST", "/refund-address", `{"currency":"BTC","address":"tb1q"}`),
		"cancelInvoice":    invoiceCalls("POST", "/cancel", "{}"),
		"acceptInvoice":    invoiceCalls("POST", "/accept", "{}"),
		"listRefunds":      invoiceCalls("GET", "/refunds", ""),
		"createRefund":     invoiceCalls("POST", "/refunds", `{"kind":"received","currency":"BTC"}`),
		"sendRefund":       invoiceCalls("POST", "/refunds/ref_1/sent", `{"tx":"`+strings.Repeat("a", 64)+`"}`),
		"cancelRefund":     invoiceCalls("POST", "/refunds/ref_1/cancel", "{}"),
		"renewRefund":      invoiceCalls("POST", "/refunds/ref_1/renew", "{}"),
		"declineRefund":    invoiceCalls("POST", "/decline-refund", "{}"),
		"keepSurplus":      invoiceCalls("POST", "/keep-surplus", "{}"),
		"releaseSurplus":   invoiceCalls("POST", "/release-surplus", "{}"),
		"simulate":         {{method: "POST", target: "/api/v2/test/invoices/%1/simulate", body: `{"action":"exact"}`, objects: id, unknown: noID}},
		"readEvents":       listCalls("/api/v2/events?after=0", "/api/v2/events?after=1"),
		"listEndpoints":    listCalls("/api/v2/endpoints"),
		"readEndpoint":     endpointCalls("GET", "", ""),
		"changeEndpoint":   endpointCalls("PATCH", "", `{"url":"https://thief.example/hook"}`),
		"pauseEndpoint":    endpointCalls("POST", "/pause", "{}"),
		"resumeEndpoint":   endpointCalls("POST", "/resume", "{}"),
		"rotateEndpoint":   endpointCalls("POST", "/rotate", "{}"),
		"testEndpoint":     endpointCalls("POST", "/test", "{}"),
		"resendEvents": append(endpointCalls("POST", "/resend", `{"after":0}`),
			shopCall{method: "POST", target: "/api/v2/endpoints/" + own + "/resend", body: `{"event_id":"%1"}`, objects: []string{"evt_" + strings.Repeat("e", 32) + "0"}, unknown: []string{"evt_" + strings.Repeat("z", 32) + "0"}}),
		"listDeliveries": endpointCalls("GET", "/deliveries", ""),
		"readDelivery": append(endpointCalls("GET", "/deliveries/evt_"+strings.Repeat("e", 32)+"0", ""),
			shopCall{method: "GET", target: "/api/v2/endpoints/" + own + "/deliveries/%1", objects: []string{"evt_" + strings.Repeat("e", 32) + "0"}, unknown: []string{"evt_" + strings.Repeat("z", 32) + "0"}}),
		"removeEndpoint": endpointCalls("DELETE", "", ""),
		"listLinks":      listCalls("/api/v2/links"),
		"readLink":       {{method: "GET", target: "/api/v2/links/%1", objects: slug, unknown: none}},
		"changeLink":     {{method: "PATCH", target: "/api/v2/links/%1", body: `{"amount":1}`, objects: slug, unknown: none}},
		"removeLink":     {{method: "DELETE", target: "/api/v2/links/%1", objects: slug, unknown: none}},
		"readOffer":      checkoutCalls("read"),
		"payOffer":       checkoutCalls("pay"),
		"readLook":       listCalls("/api/v2/look"),
		"readLookByHash": {{method: "GET", target: "/api/v2/looks/%1", objects: []string{red.Hash()}, unknown: []string{strings.Repeat("0", 24)}}},
		"listProducts":   listCalls("/api/v2/products"),
		"readProduct":    {{method: "GET", target: "/api/v2/products/%1", objects: product, unknown: none}},
		"changeProduct":  {{method: "PATCH", target: "/api/v2/products/%1", body: `{"price":1}`, objects: product, unknown: none}},
		"removeProduct":  {{method: "DELETE", target: "/api/v2/products/%1", objects: product, unknown: none}},
		"listTerminals":  listCalls("/api/v2/terminals"),
		"readTerminal":   {{method: "GET", target: "/api/v2/terminals/%1", objects: []string{terminal.ID}, unknown: none}},
		"removeTerminal": {{method: "DELETE", target: "/api/v2/terminals/%1", objects: []string{terminal.ID}, unknown: none}},
		"readProducts":   {{method: "POST", target: "/api/v2/products/read", body: "{}"}, {method: "POST", target: "/api/v2/products/read", body: `{"slug":"%1"}`, objects: product, unknown: none}},
		"orderProduct":   {{method: "POST", target: "/api/v2/products/order", body: `{"slug":"%1","quantity":1,"amount":"5.00","fiat_currency":"EUR"}`, objects: product, unknown: none, key: "form"}},
	}
	// Operations that name no object of a shop, or an object that everyone may see: the specification reads the
	// status of an invoice by its identifier without a signature. TestIdempotency_keys_belong_to_one_shop and
	// TestTheme_belongs_to_one_shop call those that create something.
	exempt := []string{
		"createInvoice", "createInvoiceShort", "invoiceStatus", "invoiceStatusShort", "readProofKey",
		"createEndpoint", "createLink", "createProduct", "createTerminal", "setLook", "resetLook",
	}
	for _, name := range operations(t) {
		if calls[name] == nil && !slices.Contains(exempt, name) {
			t.Errorf("the operation %s is not called", name)
		}
	}
	before := f.shopState(t)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for _, c := range calls[name] {
			got := f.sendAbout(t, c, c.objects)
			if c.objects == nil {
				if got.status != http.StatusOK {
					t.Errorf("%s: answer %d: %s", name, got.status, got.body)
				}
				for _, object := range []string{inv, "eeeeeeee", endpoint, "shoplink", "shopsoap", "order of the shop", red.Accent, terminal.ID, terminal.Secret} {
					if strings.Contains(got.body, object) {
						t.Errorf("%s: the answer has %q of another shop: %s", name, object, got.body)
					}
				}
				continue
			}
			want := f.sendAbout(t, c, c.unknown)
			if got != want || got.status < 400 {
				t.Errorf("%s %s: answer %+v, for an unknown object %+v", name, c.target, got, want)
			}
			if got.status != http.StatusNotFound && c.objects[0] != c.unknown[0] && !strings.Contains(c.body, `"query"`) {
				t.Errorf("%s %s: answer %d, want 404: %s", name, c.target, got.status, got.body)
			}
		}
	}
	if after := f.shopState(t); after != before {
		t.Errorf("the shop changed from\n%s\nto\n%s", before, after)
	}
}

// answer is the status and the body of an answer.
type answer struct {
	status int
	body   string
}

// sendAbout sends a call about objects with the key of the other shop.
func (f *endpointFixture) sendAbout(t *testing.T, c shopCall, objects []string) answer {
	t.Helper()
	target, body := c.target, c.body
	for _, object := range objects {
		target, body = strings.Replace(target, "%1", object, 1), strings.Replace(body, "%1", object, 1)
	}
	m := message{method: c.method, target: target, key: "other", body: body, signRequest: true, header: http.Header{}}
	if c.key != "" {
		m.header.Set(api.HeaderIdempotencyKey, c.key)
	}
	response := f.send(m)
	return answer{response.StatusCode, read(t, response)}
}

// shopState returns what the shop itself reads about its objects.
func (f *endpointFixture) shopState(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{"endpoints", "links", "products", "terminals", "look", "invoices", "events?after=0"} {
		status, text := f.call("all", "GET", "/api/v2/"+path, "")
		if status != http.StatusOK {
			t.Fatalf("%s answers %d: %s", path, status, text)
		}
		all.WriteString(text + "\n")
	}
	return all.String()
}

// operations returns the names of the operations of the API's server.
func operations(t *testing.T) (names []string) {
	t.Helper()
	for _, item := range loadContract(t).document.Paths.Map() {
		for _, o := range item.Operations() {
			if !slices.Contains(o.Tags, pages) {
				names = append(names, o.OperationID)
			}
		}
	}
	slices.Sort(names)
	return names
}

// addressOf returns the first address of an invoice.
func addressOf(t *testing.T, f *fixture, id string) string {
	t.Helper()
	inv, err := f.invoices.Invoice(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return url.QueryEscape(inv.Methods[0].Destination.Address)
}

// Two shops may use one idempotency key and one order: each has an invoice of its own.
func TestIdempotency_keys_belong_to_one_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	body := `{"amount":12.5,"fiat_currency":"EUR","order_id":"1047"}`
	first, second := f.createKeyed(t, "all", "same", body), f.createKeyed(t, "other", "same", body)
	if first == second {
		t.Errorf("two shops have the invoice %s", first)
	}
	if again := f.createKeyed(t, "other", "same", body); again != second {
		t.Errorf("again: got %s, want %s", again, second)
	}
}

// createKeyed creates an invoice with a key and an idempotency key.
func (f *fixture) createKeyed(t *testing.T, key, idempotencyKey, body string) string {
	t.Helper()
	m := message{method: "POST", target: "/api/v2/invoice/new", key: key, body: body, header: http.Header{}}
	m.header.Set(api.HeaderIdempotencyKey, idempotencyKey)
	response := f.send(m)
	text := read(t, response)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("answer %d: %s", response.StatusCode, text)
	}
	_, id, _ := strings.Cut(text, `"foreign_id":"`)
	return id[:32]
}

func TestTheme_belongs_to_one_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	for _, m := range []message{themeCall("PUT", "live", `{"accent":"#e8573a"}`), themeCall("PUT", "otherlive", `{"accent":"#1f6f5c"}`), themeCall("DELETE", "otherlive", "")} {
		if response := f.send(m); response.StatusCode >= 300 {
			t.Fatalf("%s answers %d: %s", m.method, response.StatusCode, read(t, response))
		}
	}
	if got := f.readTheme(t, themeCall("GET", "all", "")); got.Accent != "#e8573a" {
		t.Errorf("the theme of the shop is %+v, want the accent #e8573a", got)
	}
	page := message{method: "GET", target: "/api/v2/looks/" + red.Hash(), key: "page", signRequest: true}
	if got := f.readTheme(t, page); got.Accent != red.Accent {
		t.Errorf("the pages of the server read %+v", got)
	}
}
