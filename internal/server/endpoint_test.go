package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/api"
	"chequer/internal/guard"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
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
	created := 0
	f.config.Feed = s
	f.config.Themes = merchant.NewThemes(s, f.now)
	f.config.Endpoints = merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: s, Check: guard.Policy{}.Check, EncodeTest: wire.TestEvent, Now: f.now,
		Token: func(length int) string { created++; return fmt.Sprintf("%0*d", length, created) },
	})
	f.config.Links = merchant.NewLinks(merchant.LinksConfig{
		Storage: s, Prices: f.config.Prices, Now: f.now,
		Token: func(length int) string { created++; return fmt.Sprintf("%0*d", length, created) },
	})
	f.config.Products = merchant.NewProducts(merchant.ProductsConfig{
		Storage: s, Prices: f.config.Prices, Now: f.now,
	})
	f.config.Terminals = merchant.NewTerminals(merchant.TerminalsConfig{
		Storage: s, Prices: f.config.Prices, Now: f.now,
		Token: func(length int) string { created++; return fmt.Sprintf("%0*d", length, created) },
	})
	f.restart()
	return s
}

// call makes a call with a request signature and returns the status and the body.
func (f *endpointFixture) call(key, method, target, body string) (int, string) {
	f.t.Helper()
	response := f.send(message{method: method, target: target, key: key, body: body, own: true})
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
		want                 string
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
	c := newEndpointFixture(t)
	for _, test := range []struct{ body, want string }{
		{`{"url":"https://127.0.0.1/"}`, "url leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW"},
		{`{"url":"https://[64:ff9b::7f00:1]/"}`, "url leads into the network of this server; the operator can allow it with CHEQUER_CALLBACK_ALLOW"},
		{`{"url":"https://shop.example:8443/"}`, "url must be at port 443 or 80"},
		{`{"url":"ftp://shop.example/"}`, "url must be an absolute https address"},
		{`{"url":7}`, "url must be a string"},
		{`{}`, "url is required"},
		{`{"url":"https://shop.example/","events":[]}`, "events must be a list of types such as invoice.paid, and not empty"},
		{`{"url":"https://shop.example/","events":["invoice.payed"]}`, `events must be a list of types such as invoice.paid, which do not include \"invoice.payed\"`},
		{`{"url":"https://shop.example/","events":["invoice.paid","invoice.paid"]}`, "events must not contain a type twice"},
		{`{"url":"https://shop.example/","paused":true}`, `Field \"paused\" is unknown`},
	} {
		status, body := c.call("admin", "POST", "/api/v2/endpoints", test.body)
		if want := `{"statusCode":400,"error":"Bad Request","message":"` + test.want + `"}`; status != 400 || body != want {
			t.Errorf("%s: got %d %s, want %s", test.body, status, body, want)
		}
	}
	if status, body := c.call("live", "POST", "/api/v2/endpoints", `{"url":"http://shop.example/"}`); status != 400 || !strings.Contains(body, "url must be https") {
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
		family := f.send(message{method: call.method, target: call.target, key: "admin"})
		if body := read(t, family); family.StatusCode != 403 || !strings.Contains(body, "No timestamp header") {
			t.Errorf("%s %s signed by the API family's scheme: got %d %s", call.method, call.target, family.StatusCode, body)
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
	m := message{method: "POST", target: path + "/pause", key: "admin", own: true, nonce: "nonce00000000000000once"}
	if first, second := f.send(m), f.send(m); first.StatusCode != 200 || second.StatusCode != 403 {
		t.Errorf("same nonce twice: got %d and %d, want 200 and 403", first.StatusCode, second.StatusCode)
	}
	if got := f.log.String(); strings.Contains(got, "ERROR") {
		t.Errorf("got log %s", got)
	}
}

// An invoice can receive many small amounts. An event lists only some of its payments, and a feed with
// many such events is split into pages.
func TestEvents_bound_the_size_of_an_answer(t *testing.T) {
	t.Parallel()
	c := newEndpointFixture(t)
	var transfers []invoice.Transfer
	for i := range 1_500 {
		transfers = append(transfers, invoice.Transfer{
			ID: fmt.Sprintf("%064d:%d", i, i), Network: "simnet", Tx: fmt.Sprintf("%064d", i), Asset: "EURC-BASE", Script: "s",
			Amount: money.FromCents(1, eurc), FirstSeen: noon, Presence: invoice.Present,
		})
	}
	const events = 40
	c.addEventsTo("a", invoice.Test, transfers, slices.Repeat([]invoice.EventType{invoice.EventPaymentSeen}, events)...)
	pages := 0
	for after, seen := int64(0), 0; seen < events; pages++ {
		status, body := c.call("read", "GET", fmt.Sprintf("/api/v2/events?after=%d", after), "")
		var page api.EventPage
		if err := json.Unmarshal([]byte(body), &page); status != 200 || err != nil || len(page.Events) == 0 {
			t.Fatalf("got %d, %d events, %v", status, len(page.Events), err)
		}
		if len(body) > 1<<20 {
			t.Errorf("answer has %d bytes, want at most 1 MiB", len(body))
		}
		for _, raw := range page.Events {
			var event api.Event
			if err := json.Unmarshal(raw, &event); err != nil || len(event.Payments) != 100 || event.MorePayments != 1_400 || len(raw) > 64<<10 {
				t.Fatalf("event has %d bytes, %d payments and %d more, error %v", len(raw), len(event.Payments), event.MorePayments, err)
			}
		}
		seen, after = seen+len(page.Events), page.Next
	}
	if pages < 2 {
		t.Errorf("%d pages, want at least 2: the events are too short to test the bound", pages)
	}
}

func TestEvents_after_a_position(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	f.addEvents("a", invoice.Test, invoice.EventCreated, invoice.EventPending)
	f.addEvents("secret", invoice.Live, invoice.EventCreated)
	f.addEvents("b", invoice.Test, invoice.EventCreated)
	var events []string
	pages := 0
	for after := int64(0); ; pages++ {
		status, body := f.call("read", "GET", fmt.Sprintf("/api/v2/events?after=%d&limit=2", after), "")
		var page api.EventPage
		if err := json.Unmarshal([]byte(body), &page); status != 200 || err != nil {
			t.Fatalf("got %d %s, %v", status, body, err)
		}
		if len(page.Events) == 0 {
			if page.Next != after {
				t.Errorf("at the end: got next %d, want %d", page.Next, after)
			}
			break
		}
		for _, e := range page.Events {
			events = append(events, string(e))
		}
		after = page.Next
	}
	sent, err := f.storage.Events(t.Context(), "shop", invoice.Test, 0, 10)
	if err != nil || len(sent) != 3 || pages != 2 {
		t.Fatalf("got %d events in %d pages, error %v", len(sent), pages, err)
	}
	for i, e := range sent {
		if events[i] != string(e.Body) {
			t.Errorf("event %d: got %s, want the bytes of its deliveries: %s", i, events[i], e.Body)
		}
	}
	for target, want := range map[string]string{
		"/api/v2/events?after=x": "after must be a whole number from 0 to ", "/api/v2/events?after=-1": "after must be", "/api/v2/events?limit=501": "limit must be a whole number from 0 to 500",
		"/api/v2/events?After=3": `Parameter \"After\" is unknown`, "/api/v2/events?after=3&after=1": "after is given twice", "/api/v2/events?after=": "after must be",
	} {
		if status, body := f.call("read", "GET", target, ""); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s", target, status, body)
		}
	}
	if status, body := f.call("create", "GET", "/api/v2/events", ""); status != 403 {
		t.Errorf("with the key create: got %d %s", status, body)
	}
	if status, body := f.call("other", "GET", "/api/v2/events", ""); status != 200 || body != `{"mode":"test","events":[],"next":0}` {
		t.Errorf("of another merchant: got %d %s", status, body)
	}
}

// With after=now the feed skips all earlier events, of both modes.
func TestEvents_after_now_skips_earlier_events(t *testing.T) {
	t.Parallel()
	c := newEndpointFixture(t)
	c.addEvents("a", invoice.Test, invoice.EventCreated, invoice.EventPending)
	c.addEvents("b", invoice.Live, invoice.EventCreated)
	if status, body := c.call("read", "GET", "/api/v2/events?after=now", ""); status != 200 || body != `{"mode":"test","events":[],"next":3}` {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := c.call("liveread", "GET", "/api/v2/events?after=now", ""); status != 200 || body != `{"mode":"live","events":[],"next":3}` {
		t.Errorf("with a live key: got %d %s", status, body)
	}
	if status, body := c.call("other", "GET", "/api/v2/events?after=now", ""); status != 200 || body != `{"mode":"test","events":[],"next":0}` {
		t.Errorf("of another merchant: got %d %s", status, body)
	}
}

// A waiting call returns an event that happens while it waits.
func TestEvents_wait_for_the_next_event(t *testing.T) {
	t.Parallel()
	c := newEndpointFixture(t)
	answers := make(chan string)
	go func() {
		response := c.send(message{method: "GET", target: "/api/v2/events", key: "read", own: true, header: http.Header{"Prefer": {"wait=20"}}})
		answers <- read(t, response)
	}()
	c.addEvents("a", invoice.Test, invoice.EventCreated)
	if body := <-answers; !strings.Contains(body, `"foreign_id":"a"`) {
		t.Errorf("got %s", body)
	}
}

// safe matches text that does not change when a receiver parses and encodes it again.
var safe = regexp.MustCompile(`^[ !#-.0-~"]*$`)

// walletChange is the replacement of a wallet.
var walletChange = merchant.WalletChange{
	Change: merchant.WalletReplaced, At: noon, EventID: "evt_1",
	Wallet: merchant.Wallet{ID: "wlt_2", Mode: merchant.Live, Asset: "ETH", Key: "eth:xpub2", Counter: "e13f4377a1a1a17d706fe12989eb7a85d82b9bc1"},
	Former: merchant.Wallet{ID: "wlt_1", Mode: merchant.Live, Asset: "ETH", Key: "eth:xpub1", Counter: "cc7137fb7f9e593c1258f3ffc943b59470527272"},
}

// Events without an invoice have the same fields as all other events, in the same form.
func TestEvents_without_an_invoice_have_the_same_fields(t *testing.T) {
	t.Parallel()
	inv := &invoice.Invoice{Terms: invoice.Terms{Price: money.FromCents(1, money.EUR)}}
	var event map[string]any
	if err := json.Unmarshal(wire.Event(inv, invoice.Event{}), &event); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"test":    wire.TestEvent("evt_1", merchant.Test, noon),
		"wallet":  wire.WalletEvent(walletChange),
		"account": wire.AccountEvent(account.Event{ID: "evt_2", AccountID: "acc_1", Change: account.PasskeyAdded, At: noon}),
	} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err != nil || !bytes.Equal(compact.Bytes(), body) || !safe.Match(body) {
			t.Errorf("%s: got %s", name, body)
		}
		var fields map[string]any
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(event)), slices.Sorted(maps.Keys(fields))); diff != "" {
			t.Errorf("%s: fields (-invoice +%s):\n%s", name, name, diff)
		}
		if err := loadContract(t).document.Components.Schemas["Event"].Value.VisitJSON(fields, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s does not match the document: %v\n%s", name, err, body)
		}
	}
}

func TestWalletEvent_contains_no_public_key(t *testing.T) {
	t.Parallel()
	body := wire.WalletEvent(walletChange)
	golden(t, "event_wallet.json", string(body))
	if strings.Contains(string(body), "xpub") {
		t.Errorf("the event contains the public key: %s", body)
	}
}

// An endpoint can subscribe to changes of wallets, and the feed contains them.
func TestEvents_contain_changes_of_wallets(t *testing.T) {
	t.Parallel()
	c := newEndpointFixture(t)
	status, body := c.call("admin", "POST", "/api/v2/endpoints", `{"url":"https://shop.example/hook","events":["wallet.changed","invoice.paid"]}`)
	if status != http.StatusCreated || !strings.Contains(body, `"events":["wallet.changed","invoice.paid"]`) {
		t.Fatalf("create: got %d %s", status, body)
	}
	w := merchant.Wallet{ID: "wlt_1", MerchantID: "shop", Mode: merchant.Test, Asset: "BTC", Key: "btc:xpub1", CreatedAt: noon}
	change, err := c.storage.ChangeWallet(t.Context(), "shop", merchant.Test, "BTC", func(merchant.Wallet) (merchant.WalletChange, error) {
		change := merchant.WalletChange{Change: merchant.WalletAdded, Wallet: w, At: noon, EventID: "evt_1"}
		change.Body = wire.WalletEvent(change)
		return change, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mode":"test","events":[` + string(change.Body) + `],"next":1}`
	if status, body := c.call("read", "GET", "/api/v2/events?after=0", ""); status != http.StatusOK || body != want {
		t.Errorf("feed: got %d %s, want %s", status, body, want)
	}
	status, body = c.call("admin", "GET", "/api/v2/endpoints/end_0000000000000001/deliveries", "")
	if status != http.StatusOK || !strings.Contains(body, `"event_type":"wallet.changed","foreign_id":"","state":"pending"`) {
		t.Errorf("deliveries: got %d %s", status, body)
	}
}
