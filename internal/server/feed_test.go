package server_test

import (
	"bytes"
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
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// An invoice can receive many small amounts. An event lists only some of its payments, and a feed with
// many such events is split into pages.
func TestEvents_bound_the_size_of_an_answer(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	var transfers []invoice.Transfer
	for i := range 1_500 {
		transfers = append(transfers, invoice.Transfer{
			ID: fmt.Sprintf("%064d:%d", i, i), Network: "simnet", Tx: fmt.Sprintf("%064d", i), Asset: "EURC-BASE", Script: "s",
			Amount: money.FromCents(1, eurc), FirstSeen: noon, Presence: invoice.Present,
		})
	}
	const events = 40
	f.addEventsTo("a", invoice.Test, transfers, slices.Repeat([]invoice.EventType{invoice.EventPaymentSeen}, events)...)
	pages := 0
	for after, seen := int64(0), 0; seen < events; pages++ {
		status, body := f.call("read", "GET", fmt.Sprintf("/api/v2/events?after=%d", after), "")
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
	f := newEndpointFixture(t)
	f.addEvents("a", invoice.Test, invoice.EventCreated, invoice.EventPending)
	f.addEvents("b", invoice.Live, invoice.EventCreated)
	if status, body := f.call("read", "GET", "/api/v2/events?after=now", ""); status != 200 || body != `{"mode":"test","events":[],"next":3}` {
		t.Errorf("got %d %s", status, body)
	}
	if status, body := f.call("liveread", "GET", "/api/v2/events?after=now", ""); status != 200 || body != `{"mode":"live","events":[],"next":3}` {
		t.Errorf("with a live key: got %d %s", status, body)
	}
	if status, body := f.call("other", "GET", "/api/v2/events?after=now", ""); status != 200 || body != `{"mode":"test","events":[],"next":0}` {
		t.Errorf("of another merchant: got %d %s", status, body)
	}
}

// A waiting call returns an event that happens while it waits.
func TestEvents_wait_for_the_next_event(t *testing.T) {
	t.Parallel()
	f := newEndpointFixture(t)
	answers := make(chan string)
	go func() {
		response := f.send(message{method: "GET", target: "/api/v2/events", key: "read", signRequest: true, header: http.Header{"Prefer": {"wait=20"}}})
		answers <- read(t, response)
	}()
	f.addEvents("a", invoice.Test, invoice.EventCreated)
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
		"test":   wire.TestEvent("evt_1", merchant.Test, noon),
		"wallet": wire.WalletEvent(walletChange),
		"connection": wire.WalletEvent(merchant.WalletChange{
			Change: merchant.WalletAdded, Wallet: merchant.Wallet{ID: "wlt_1", Mode: merchant.Live, Asset: "BTC-LN", Key: "anna@pay.example", Counter: "wlt_1", Secret: "hunter2"}, At: noon, EventID: "evt_1",
		}),
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
	f := newEndpointFixture(t)
	status, body := f.call("admin", "POST", "/api/v2/endpoints", `{"url":"https://shop.example/hook","events":["wallet.changed","invoice.paid"]}`)
	if status != http.StatusCreated || !strings.Contains(body, `"events":["wallet.changed","invoice.paid"]`) {
		t.Fatalf("create: got %d %s", status, body)
	}
	w := merchant.Wallet{ID: "wlt_1", MerchantID: "shop", Mode: merchant.Test, Asset: "BTC", Key: "btc:xpub1", CreatedAt: noon}
	change, err := f.storage.ChangeWallet(t.Context(), "shop", merchant.Test, "BTC", func(merchant.Wallet) (merchant.WalletChange, error) {
		change := merchant.WalletChange{Change: merchant.WalletAdded, Wallet: w, At: noon, EventID: "evt_1"}
		change.Body = wire.WalletEvent(change)
		return change, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mode":"test","events":[` + string(change.Body) + `],"next":1}`
	if status, body := f.call("read", "GET", "/api/v2/events?after=0", ""); status != http.StatusOK || body != want {
		t.Errorf("feed: got %d %s, want %s", status, body, want)
	}
	status, body = f.call("admin", "GET", "/api/v2/endpoints/end_0000000000000001/deliveries", "")
	if status != http.StatusOK || !strings.Contains(body, `"event_type":"wallet.changed","foreign_id":"","state":"pending"`) {
		t.Errorf("deliveries: got %d %s", status, body)
	}
}
