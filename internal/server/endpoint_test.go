package server_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
	"chequer/internal/wire"
)

// endpointFixture is a server whose endpoints and feed are in real storage.
type endpointFixture struct {
	*fixture
	t       *testing.T
	storage *storage.Storage
}

func newEndpointFixture(t *testing.T) *endpointFixture {
	t.Helper()
	f := newFixture(t, nil)
	return &endpointFixture{fixture: f, t: t, storage: f.useStorage()}
}

// useStorage restarts the server with endpoints, links, products, terminals and a feed in real
// storage.
func (f *fixture) useStorage() *storage.Storage {
	t := f.t
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s, err := storage.Open(context.Background(), storagetest.File(t), box, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, id := range []string{"shop", "other"} {
		if err := s.CreateShop(context.Background(), merchant.NewShop{Merchant: merchant.Merchant{ID: id, Name: id, CreatedAt: noon}}); err != nil {
			t.Fatal(err)
		}
	}
	var ids tokentest.Counter
	f.config.Feed = s
	f.config.Themes = merchant.NewThemes(s, f.now)
	f.config.Endpoints = merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: s, Check: guard.Policy{}.Check, EncodeTest: wire.TestEvent, Now: f.now,
		Token: ids.New,
	})
	f.config.Links = merchant.NewLinks(merchant.LinksConfig{
		Storage: s, Prices: f.config.Prices, Now: f.now,
		Token: ids.New,
	})
	f.config.Products = merchant.NewProducts(merchant.ProductsConfig{
		Storage: s, Prices: f.config.Prices, Now: f.now,
	})
	f.config.Terminals = merchant.NewTerminals(merchant.TerminalsConfig{
		Storage: s, Prices: f.config.Prices, Now: f.now,
		Token: ids.New,
	})
	f.restart()
	return s
}

// call makes a call with a request signature and returns the status and the body.
func (f *endpointFixture) call(key, method, target, body string) (int, string) {
	f.t.Helper()
	response := f.send(message{method: method, target: target, key: key, body: body, signRequest: true})
	return response.StatusCode, read(f.t, response)
}

// addEvents writes an invoice with events into the feed.
func (f *endpointFixture) addEvents(id string, mode invoice.Mode, types ...invoice.EventType) {
	f.t.Helper()
	f.addEventsTo(id, mode, nil, types...)
}

// addEventsTo writes an invoice with events and transfers into the feed.
func (f *endpointFixture) addEventsTo(id string, mode invoice.Mode, transfers []invoice.Transfer, types ...invoice.EventType) {
	f.t.Helper()
	price := money.FromCents(1250, money.EUR)
	_, _, err := f.storage.CreateInvoice(f.t.Context(), invoice.Creation{MerchantID: "shop", At: noon, Build: func(invoice.NextIndex) (*invoice.Invoice, error) {
		inv := &invoice.Invoice{
			ID: id, MerchantID: "shop", Mode: mode, Version: 1, CreatedAt: noon,
			Terms:  invoice.Terms{Price: price, Merchant: "Shop", Rules: invoice.DefaultRules(money.EUR)},
			State:  invoice.State{Status: invoice.Created, Paid: money.Zero(money.EUR), Due: price, Overpaid: money.Zero(money.EUR)},
			Quotes: []invoice.Quote{{Number: 1, From: noon, Until: noon, Due: price}}, Transfers: transfers,
		}
		for i, kind := range types {
			e := invoice.Event{ID: fmt.Sprintf("evt_%s%d", id, i), Type: kind, Version: 1, CreatedAt: noon}
			e.Body = wire.Event(inv, e)
			inv.Events = append(inv.Events, e)
		}
		return inv, nil
	}})
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestEndpoints_are_managed_by_the_API(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	status, body := f.call("admin", "POST", "/api/v2/endpoints", `{"url":"https://shop.example/hook","events":["invoice.paid"]}`)
	want := `{"id":"end_0000000000000001","mode":"test","url":"https://shop.example/hook","events":["invoice.paid"],"paused":false,` +
		`"created_at":"2026-11-27T12:00:32.782Z","key":"00000000000000000000000000000002","next_key":"","secret":"0000000000000000000000000000000000000003"}`
	if status != http.StatusCreated || body != want {
		t.Fatalf("create: got %d %s, want %s", status, body, want)
	}
	path := "/api/v2/endpoints/end_0000000000000001"
	plain := strings.Replace(body, `,"secret":"0000000000000000000000000000000000000003"`, "", 1)
	paused := strings.Replace(plain, `"paused":false`, `"paused":true`, 1)
	rotating := strings.Replace(plain, `"next_key":""`, `"next_key":"00000000000000000000000000000004","next_secret":"0000000000000000000000000000000000000005"`, 1)
	rotated := strings.Replace(plain, `"key":"00000000000000000000000000000002"`, `"key":"00000000000000000000000000000004"`, 1)
	for _, step := range []struct {
		method, target, body string
		status               int
		want                 string // end of the body, or of the message in it
	}{
		{"GET", "/api/v2/endpoints", "", 200, `{"endpoints":[` + plain + `]}`},
		{"GET", path, "", 200, plain},
		{"POST", path + "/pause", "", 200, paused},
		{"POST", path + "/test", "", 409, "The endpoint does not allow this now"},
		{"POST", path + "/resume", "", 200, plain},
		{"POST", path + "/rotate", `{"finish":true}`, 409, "The endpoint does not allow this now"},
		{"POST", path + "/rotate", "", 200, rotating},
		{"POST", path + "/rotate", `{"finish":false}`, 409, "The endpoint does not allow this now"},
		{"POST", path + "/rotate", `{"finish":true}`, 200, rotated},
		{"POST", path + "/test", "", 200, `{"event_id":"evt_00000000000000000000000000000006"}`},
		{"GET", path + "/deliveries", "", 200, `{"deliveries":[{"position":1,"event_id":"evt_00000000000000000000000000000006","event_type":"endpoint.test","foreign_id":"","state":"pending","tries":0,` +
			`"created_at":"2026-11-27T12:00:32.782Z","next_try_at":"2026-11-27T12:00:32.782Z","status":0,"fault":""}],"before":0}`},
		{"GET", path + "/deliveries?limit=1", "", 200, `"before":1}`},
		{"GET", path + "/deliveries?state=failed", "", 200, `{"deliveries":[],"before":0}`},
		{"GET", path + "/deliveries?state=lost", "", 400, "state must be one of pending, delivered, failed"},
		{"GET", path + "/deliveries?status=failed", "", 400, `Parameter \"status\" is unknown`},
		{"GET", path + "/deliveries?before=1", "", 200, `{"deliveries":[],"before":0}`},
		{"GET", path + "/deliveries/evt_00000000000000000000000000000006", "", 200, `"fault":"","log":[]}`},
		{"GET", path + "/deliveries/evt_nothing", "", 404, "There is no such event for this endpoint"},
		{"POST", path + "/resend", `{"event_id":"evt_nothing"}`, 404, "There is no such event for this endpoint"},
		{"POST", path + "/resend", `{"event_id":"evt_00000000000000000000000000000006"}`, 200, `{"events":1}`},
		{"POST", path + "/resend", `{"after":0}`, 200, `{"events":0}`},
		{"POST", path + "/resend", "", 400, "event_id or after is required, but not both"},
		{"POST", path + "/resend", `{"event_id":"evt_x","after":1}`, 400, "event_id or after is required, but not both"},
		{"POST", path + "/resend", `{"after":-1}`, 400, "after must be a whole number of at least 0"},
		{"PATCH", path, `{"url":"https://127.0.0.1/","events":[]}`, 400, "url leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW"},
		{"PATCH", path, `{"events":["invoice.payed"]}`, 400, `which do not include \"invoice.payed\"`},
		{"PATCH", path, `{"events":"invoice.paid"}`, 400, "events must be a list of types such as invoice.paid"},
		{"PATCH", path, `{"paused":true}`, 400, `Field \"paused\" is unknown`},
		{"PATCH", path, `{}`, 200, rotated},
		{"PATCH", path, `{"events":[]}`, 200, strings.Replace(rotated, `["invoice.paid"]`, `[]`, 1)},
		{"PATCH", path, `{"url":"https://bücher.example/","events":["invoice.paid"]}`, 200, strings.Replace(rotated, "https://shop.example/hook", "https://xn--bcher-kva.example/", 1)},
		{"PATCH", "/api/v2/endpoints/end_nothing", `{}`, 404, "There is no such endpoint"},
		{"DELETE", path, "", 204, ""},
		{"GET", path, "", 404, "There is no such endpoint"},
		{"GET", "/api/v2/endpoints", "", 200, `{"endpoints":[]}`},
	} {
		status, body := f.call("admin", step.method, step.target, step.body)
		if status != step.status || !strings.HasSuffix(strings.TrimSuffix(body, `"}`), strings.TrimSuffix(step.want, `"}`)) {
			t.Errorf("%s %s %s: got %d %s, want %d %s", step.method, step.target, step.body, status, body, step.status, step.want)
		}
	}
}

func TestEndpoint_refuses_invalid_requests(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	for _, test := range []struct{ body, want string }{
		{`{"url":"https://127.0.0.1/"}`, "url leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW"},
		{`{"url":"https://[64:ff9b::7f00:1]/"}`, "url leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW"},
		{`{"url":"https://shop.example:8443/"}`, "url must use port 443 or 80"},
		{`{"url":"ftp://shop.example/"}`, "url must be an absolute https address"},
		{`{"url":7}`, "url must be a string"},
		{`{}`, "url is required"},
		{`{"url":"https://shop.example/","events":[]}`, "events must be a list of types such as invoice.paid, and not empty"},
		{`{"url":"https://shop.example/","events":["invoice.payed"]}`, `events must be a list of types such as invoice.paid, which do not include \"invoice.payed\"`},
		{`{"url":"https://shop.example/","events":["invoice.paid","invoice.paid"]}`, "events must not contain a type twice"},
		{`{"url":"https://shop.example/","paused":true}`, `Field \"paused\" is unknown`},
	} {
		status, body := f.call("admin", "POST", "/api/v2/endpoints", test.body)
		if want := `{"statusCode":400,"error":"Bad Request","message":"` + test.want + `"}`; status != 400 || body != want {
			t.Errorf("%s: got %d %s, want %s", test.body, status, body, want)
		}
	}
	if status, body := f.call("live", "POST", "/api/v2/endpoints", `{"url":"http://shop.example/"}`); status != 400 || !strings.Contains(body, "url must be https") {
		t.Errorf("live endpoint over HTTP: got %d %s", status, body)
	}
}

func TestEndpoint_needs_the_admin_scope(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	if status, body := f.call("admin", "POST", "/api/v2/endpoints", `{"url":"https://shop.example/"}`); status != http.StatusCreated {
		t.Fatal(status, body)
	}
	path := "/api/v2/endpoints/end_0000000000000001"
	calls := []struct{ method, target string }{
		{"GET", "/api/v2/endpoints"}, {"POST", "/api/v2/endpoints"}, {"GET", path}, {"DELETE", path}, {"POST", path + "/pause"}, {"POST", path + "/resume"},
		{"POST", path + "/rotate"}, {"POST", path + "/test"}, {"POST", path + "/resend"}, {"GET", path + "/deliveries"}, {"GET", path + "/deliveries/evt_x"},
	}
	for _, call := range calls {
		for _, key := range []string{"read", "create", "page"} {
			if status, body := f.call(key, call.method, call.target, ""); status != 403 || !strings.Contains(body, "Key may not do this") {
				t.Errorf("%s %s with the key %s: got %d %s", call.method, call.target, key, status, body)
			}
		}
		response := f.send(message{method: call.method, target: call.target, key: "admin"})
		if body := read(t, response); response.StatusCode != 403 || !strings.Contains(body, "No timestamp header") {
			t.Errorf("%s %s signed by the API family's scheme: got %d %s", call.method, call.target, response.StatusCode, body)
		}
		if !strings.HasPrefix(call.target, path) {
			continue
		}
		for _, key := range []string{"other", "live"} { // another merchant, and another mode
			if status, body := f.call(key, call.method, call.target, ""); status != 404 || !strings.Contains(body, "There is no such endpoint") {
				t.Errorf("%s %s with the key %s: got %d %s", call.method, call.target, key, status, body)
			}
		}
	}
	m := message{method: "POST", target: path + "/pause", key: "admin", signRequest: true, nonce: "nonce00000000000000once"}
	if first, second := f.send(m), f.send(m); first.StatusCode != 200 || second.StatusCode != 403 {
		t.Errorf("same nonce twice: got %d and %d, want 200 and 403", first.StatusCode, second.StatusCode)
	}
	if got := f.log.String(); strings.Contains(got, "ERROR") {
		t.Errorf("got log %s", got)
	}
}
