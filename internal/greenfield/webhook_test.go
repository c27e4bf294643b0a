package greenfield_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
)

// registered is a webhook as a plug-in reads it.
type registered struct {
	ID, URL, Secret              string
	Enabled, AutomaticRedelivery bool
	AuthorizedEvents             struct {
		Everything     bool
		SpecificEvents []string
	}
}

// received is a message as a plug-in gets it.
type received struct {
	DeliveryID, WebhookID, OriginalDeliveryID, Type, StoreID, InvoiceID, PaymentMethodID string
	IsRedelivery                                                                         bool
	Timestamp                                                                            int64
	Metadata                                                                             json.RawMessage
	AfterExpiration, OverPaid, PartiallyPaid, ManuallyMarked                             *bool
	Payment                                                                              *struct{ ID, Value, Status, Destination string }
}

// receiver is the site of a shop. It checks the signature of each message.
type receiver struct {
	*httptest.Server
	t      *testing.T
	secret string

	mu       sync.Mutex
	status   int
	refused  map[string]int // status of the answers to a type of message
	messages []received
}

// newReceiver returns a site with a webhook for some types of messages, or for all.
func newReceiver(t *testing.T, f *fixture, types ...string) (*receiver, registered) {
	t.Helper()
	r := &receiver{t: t, status: http.StatusOK}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	events := `{"everything":true}`
	if len(types) > 0 {
		events = `{"everything":false,"specificEvents":["` + strings.Join(types, `","`) + `"]}`
	}
	hook := call[registered](f, "POST", f.store("/webhooks"), `{"url":"`+r.URL+`/?wc-api=btcpaygf","enabled":true,"automaticRedelivery":true,"authorizedEvents":`+events+`,"secret":null}`)
	r.secret = hook.Secret
	return r, hook
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Error(err)
	}
	mac := hmac.New(sha256.New, []byte(r.secret))
	mac.Write(body)
	if got, want := request.Header.Get("BTCPay-Sig"), "sha256="+hex.EncodeToString(mac.Sum(nil)); got != want {
		r.t.Errorf("BTCPay-Sig: got %q, want %q", got, want)
	}
	if request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/json" || request.Header.Get("X-Processing-Signature") != "" {
		r.t.Errorf("got a %s with the headers %v", request.Method, request.Header)
	}
	var m received
	if err := json.Unmarshal(body, &m); err != nil {
		r.t.Errorf("%v: %s", err, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, m)
	status, isRefused := r.refused[m.Type]
	if !isRefused {
		status = r.status
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "-1") // as WordPress answers
}

// answer sets the status of the next answers.
func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// refuse sets the status of the answers to a type of message; 0 accepts it again.
func (r *receiver) refuse(kind string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.refused, kind); status != 0 {
		r.refused = map[string]int{kind: status}
	}
}

// take returns the messages since the last call.
func (r *receiver) take() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.messages
	r.messages = nil
	return taken
}

// types returns the types of messages.
func types(messages []received) (list []string) {
	for _, m := range messages {
		list = append(list, m.Type)
	}
	return list
}

// deliver sends the messages that are due.
func (f *fixture) deliver() {
	f.t.Helper()
	for range 12 { // more than the messages of one invoice, which are sent one after the other
		if err := f.worker.Step(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
		f.worker.Wait()
	}
}

func TestMessages_of_a_payment_in_two_parts(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		shop, hook := newReceiver(t, f)
		want := func(want ...string) []received {
			t.Helper()
			f.deliver()
			got := shop.take()
			if diff := cmp.Diff(want, types(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			return got
		}
		const metadata = `{ "orderId" : "A 1", "<b>": 1.50 }`
		id := f.create(`{"amount":"864.20","currency":"EUR","metadata":` + metadata + `}`).ID
		created := want("InvoiceCreated")[0]
		wanted := received{
			DeliveryID: created.DeliveryID, OriginalDeliveryID: created.DeliveryID, WebhookID: hook.ID, Type: "InvoiceCreated", StoreID: "test-m_atelier-nord",
			InvoiceID: id, Timestamp: noon.Unix(), Metadata: json.RawMessage(metadata),
		}
		if diff := cmp.Diff(wanted, created); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		first := f.pay(id, half)
		want() // the message about a part could be taken for the full price
		f.confirm(first)
		want()
		f.clock.Advance(time.Minute)
		second := f.pay(id, half)
		seen := want("InvoiceReceivedPayment", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled")
		if p := seen[1]; *p.AfterExpiration || p.PaymentMethodID != "BTC-CHAIN" || p.Payment.ID != second+"-0" || p.Payment.Value != half || p.Payment.Status != "Processing" {
			t.Errorf("second payment: got %+v, payment %+v", p, p.Payment)
		}
		if *seen[2].OverPaid || seen[3].Payment.ID != first+"-0" || seen[3].Payment.Status != "Settled" {
			t.Errorf("got %+v and %+v", seen[2], seen[3])
		}
		f.confirm(second)
		if got := want("InvoicePaymentSettled", "InvoiceSettled"); *got[1].ManuallyMarked || *got[1].OverPaid || string(got[1].Metadata) != metadata {
			t.Errorf("settled: got %+v", got[1])
		}
		// The metadata of a message are the present ones.
		call[view](f, "PUT", "/invoices/"+id, `{"metadata":[]}`)
		if err := f.endpoints.Resend(t.Context(), f.endpoint(hook.ID), created.DeliveryID); err != nil {
			t.Fatal(err)
		}
		again := want("InvoiceCreated")[0]
		if string(again.Metadata) != "[]" || !again.IsRedelivery || again.OriginalDeliveryID != created.DeliveryID || again.DeliveryID == created.DeliveryID {
			t.Errorf("again: got %+v", again)
		}
		if sent, err := f.endpoints.ResendAfter(t.Context(), f.endpoint(hook.ID), 0); err != nil || sent != 7 {
			t.Errorf("sent %d again, error %v, want 7", sent, err)
		}
		want("InvoiceCreated", "InvoiceReceivedPayment", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoicePaymentSettled", "InvoiceSettled")
	})
}

// endpoint returns an endpoint of the shop.
func (f *fixture) endpoint(id string) merchant.Endpoint {
	f.t.Helper()
	e, err := f.endpoints.Endpoint(f.t.Context(), f.shop.ID, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

func TestMessages_of_the_end_of_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		shop, _ := newReceiver(t, f, "InvoiceReceivedPayment", "InvoicePaymentSettled", "InvoiceSettled", "InvoiceExpired", "InvoiceInvalid", "Unknown")
		take := func(want ...string) []received {
			t.Helper()
			f.deliver()
			got := shop.take()
			slices.SortStableFunc(got, func(a, b received) int { return strings.Compare(a.InvoiceID, b.InvoiceID) })
			if diff := cmp.Diff(want, types(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return got
		}
		cancelled := f.create(order).ID
		call[view](f, "POST", "/invoices/"+cancelled+"/status", `{"status":"Invalid"}`)
		if got := take("InvoiceInvalid"); !*got[0].ManuallyMarked {
			t.Errorf("cancelled: got %+v", got[0])
		}
		part := f.create(order).ID
		f.pay(part, half)
		take()
		f.expire()
		if got := take("InvoiceReceivedPayment", "InvoiceExpired"); *got[0].AfterExpiration || !*got[1].PartiallyPaid {
			t.Errorf("expired: got %+v, want a payment after the expiry, and a partially paid invoice", got)
		}
		late := f.create(order).ID
		f.expire()
		if got := take("InvoiceExpired"); *got[0].PartiallyPaid {
			t.Errorf("expired: got %+v", got[0])
		}
		tx := f.pay(late, whole)
		if got := take("InvoiceReceivedPayment"); !*got[0].AfterExpiration {
			t.Errorf("late: got %+v", got[0])
		}
		f.confirm(tx)
		if got := take("InvoicePaymentSettled"); !*got[0].AfterExpiration || got[0].Payment.Status != "Settled" {
			t.Errorf("late and confirmed: got %+v", got[0])
		}
		if _, err := f.invoices.Accept(t.Context(), late, "test", 0); err != nil {
			t.Fatal(err)
		}
		if got := take("InvoiceSettled"); !*got[0].ManuallyMarked {
			t.Errorf("accepted: got %+v", got[0])
		}
		over := f.create(order).ID
		f.confirm(f.pay(over, "0.02"))
		if got := take("InvoiceReceivedPayment", "InvoicePaymentSettled", "InvoiceSettled"); !*got[2].OverPaid {
			t.Errorf("overpaid: got %+v", got[2])
		}
	})
}

// A receiver that is down for an hour gets every message afterwards, in order and once.
func TestMessages_wait_for_the_receiver(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		shop, _ := newReceiver(t, f)
		shop.answer(http.StatusServiceUnavailable)
		id := f.create(order).ID
		f.deliver()
		f.confirm(f.pay(id, whole))
		for range 13 {
			f.clock.Advance(5 * time.Minute)
			f.deliver()
		}
		failed := shop.take()
		if len(failed) == 0 || failed[0].IsRedelivery || len(failed) > 1 && (!failed[1].IsRedelivery || failed[1].DeliveryID == failed[0].DeliveryID) {
			t.Errorf("while the receiver is down: got %+v", failed)
		}
		shop.answer(http.StatusOK)
		var got []received
		for range 60 {
			f.clock.Advance(5 * time.Minute)
			f.deliver()
			got = append(got, shop.take()...)
		}
		sorted := types(got)
		slices.Sort(sorted)
		want := []string{"InvoiceCreated", "InvoicePaymentSettled", "InvoiceProcessing", "InvoiceReceivedPayment", "InvoiceSettled"}
		if diff := cmp.Diff(want, sorted); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A message that the receiver refuses for good delays nothing. Another refused message delays the later ones of its
// invoice for 20 minutes at most, so that they arrive in their order, and delays those of no other invoice.
func TestMessages_wait_for_a_refused_one_for_a_limited_time(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		shop, _ := newReceiver(t, f, "InvoiceCreated", "InvoiceProcessing", "InvoiceSettled")
		want := func(moment string, want ...string) {
			t.Helper()
			f.deliver()
			if diff := cmp.Diff(want, types(shop.take())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", moment, diff)
			}
		}
		shop.refuse("InvoiceCreated", http.StatusGone)
		f.confirm(f.pay(f.create(order).ID, whole))
		want("410", "InvoiceCreated", "InvoiceProcessing", "InvoiceSettled")
		for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity} {
			shop.refuse("InvoiceCreated", status)
			f.confirm(f.pay(f.create(order).ID, whole))
			want("at once", "InvoiceCreated")
			f.clock.Advance(70 * time.Second)
			want("after a minute", "InvoiceCreated")
			shop.refuse("InvoiceCreated", 0)
			f.confirm(f.pay(f.create(order).ID, whole))
			want("another invoice", "InvoiceCreated", "InvoiceProcessing", "InvoiceSettled")
			f.clock.Advance(5 * time.Minute)
			want("accepted later", "InvoiceCreated", "InvoiceProcessing", "InvoiceSettled")
		}
		shop.refuse("InvoiceCreated", http.StatusBadRequest)
		f.confirm(f.pay(f.create(order).ID, whole))
		want("refused for long", "InvoiceCreated")
		f.clock.Advance(19 * time.Minute)
		want("after 19 minutes", "InvoiceCreated")
		f.clock.Advance(time.Minute + time.Second)
		want("after 20 minutes", "InvoiceProcessing", "InvoiceSettled")
	})
}

func TestWebhooks_are_created_changed_and_removed(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		created := call[registered](f, "POST", f.store("/webhooks"), `{"url":"http://127.0.0.1:1/hook"}`) // as Shopware does
		if !created.Enabled || !created.AutomaticRedelivery || !created.AuthorizedEvents.Everything || len(created.Secret) != 40 || created.AuthorizedEvents.SpecificEvents != nil {
			t.Errorf("got %+v", created)
		}
		f.clock.Advance(time.Second)
		own := call[registered](f, "POST", f.store("/webhooks"), `{"url":"http://127.0.0.1:1/own","enabled":false,"secret":"my secret/1",
			"authorizedEvents":{"everything":false,"specificEvents":["InvoiceSettled","InvoiceFlying","InvoiceSettled"]}}`)
		if own.Secret != "my secret/1" || own.Enabled || own.AuthorizedEvents.Everything || cmp.Diff([]string{"InvoiceSettled"}, own.AuthorizedEvents.SpecificEvents) != "" {
			t.Errorf("got %+v", own)
		}
		// An endpoint of the other API is not among the webhooks, and the other way round it gets no messages.
		if _, err := f.endpoints.Create(t.Context(), f.shop.ID, merchant.Test, "http://127.0.0.1:1/", nil); err != nil {
			t.Fatal(err)
		}
		list := call[[]registered](f, "GET", f.store("/webhooks"), "")
		if len(list) != 2 || list[0].Secret != "" || list[1].Secret != "" || list[0].ID != created.ID {
			t.Errorf("got %+v, want two without secrets", list)
		}
		for _, path := range []string{f.store("/webhooks/" + own.ID), "/webhooks/" + own.ID} {
			if got := call[registered](f, "GET", path, ""); got.Secret != "" || got.URL != own.URL {
				t.Errorf("%s: got %+v", path, got)
			}
		}
		changed := call[registered](f, "PUT", f.store("/webhooks/"+own.ID), `{"url":"http://127.0.0.1:1/new","authorizedEvents":{"everything":true}}`)
		if e := f.endpoint(own.ID); !changed.Enabled || changed.URL != "http://127.0.0.1:1/new" || e.Secret != "my secret/1" || len(e.Events) != 0 || e.Paused {
			t.Errorf("got %+v, stored %+v", changed, e)
		}
		for body, want := range map[string]string{
			`{"url":"http://192.168.0.1/"}`: `[{"path":"url","message":"The URL `, `{"url":"file:///etc/passwd"}`: `[{"path":"url","message":"The URL `, `{}`: `[{"path":"url"`,
			`{"url":"http://127.0.0.1:1/","authorizedEvents":{"everything":false,"specificEvents":[]}}`: `[{"path":"authorizedEvents.specificEvents"`,
			`{"url":"http://127.0.0.1:1/","secret":"a\nb"}`:                                             `[{"path":"secret"`, `{"url":"http://127.0.0.1:1/","secret":"` + strings.Repeat("x", 256) + `"}`: `[{"path":"secret"`,
		} {
			for _, target := range []struct{ method, path string }{{"POST", "/webhooks"}, {"PUT", "/webhooks/" + own.ID}} {
				if a := f.send(target.method, f.store(target.path), f.token, body); a.status != http.StatusUnprocessableEntity || !strings.HasPrefix(a.body, want) {
					t.Errorf("%s %.60s: answer %d: %s, want %s", target.method, body, a.status, a.body, want)
				}
			}
		}
		if a := f.send("DELETE", f.store("/webhooks/"+own.ID), f.token, ""); a.status != http.StatusOK || a.body != "" {
			t.Errorf("remove: answer %d: %q", a.status, a.body)
		}
		const unknown = `{"code":"webhook-not-found","message":"The webhook was not found"}`
		others := map[string]string{
			"another shop": f.newToken(f.createShop("Bakery"), merchant.Test, "other"), "the live store": f.newToken(f.shop, merchant.Live, "other"),
		}
		for _, tt := range []struct{ method, body string }{{"GET", ""}, {"PUT", `{"url":"http://127.0.0.1:1/"}`}, {"DELETE", ""}} {
			if a := f.send(tt.method, f.store("/webhooks/"+own.ID), f.token, tt.body); a.status != http.StatusNotFound || a.body != unknown {
				t.Errorf("%s of a removed webhook: answer %d: %s", tt.method, a.status, a.body)
			}
			for name, token := range others {
				if a := f.send(tt.method, "/webhooks/"+created.ID, token, tt.body); a.status != http.StatusNotFound || a.body != unknown {
					t.Errorf("%s by %s: answer %d: %s", tt.method, name, a.status, a.body)
				}
			}
		}
		if got := call[[]registered](f, "GET", f.store("/webhooks"), ""); len(got) != 1 || got[0].URL != created.URL {
			t.Errorf("got %+v, want the first one unchanged", got)
		}
	})
}

// Only the plug-in changes its webhook.
func TestWebhook_is_not_changed_as_an_endpoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	_, hook := newReceiver(t, f)
	address := "http://127.0.0.1:1/"
	if _, err := f.endpoints.Change(t.Context(), f.shop.ID, hook.ID, merchant.EndpointChange{URL: &address}); !errors.Is(err, merchant.ErrState) {
		t.Errorf("Change: got error %v, want %v", err, merchant.ErrState)
	}
	if _, err := f.endpoints.Rotate(t.Context(), f.shop.ID, hook.ID); !errors.Is(err, merchant.ErrState) {
		t.Errorf("Rotate: got error %v, want %v", err, merchant.ErrState)
	}
}

func TestMessage_that_tests_a_webhook(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	shop, hook := newReceiver(t, f)
	if _, err := f.endpoints.Test(t.Context(), f.shop.ID, hook.ID); err != nil {
		t.Fatal(err)
	}
	f.deliver()
	if got := shop.take(); len(got) != 1 || got[0].Type != "Test" || got[0].WebhookID != hook.ID || got[0].InvoiceID != "" || got[0].Timestamp != noon.Unix() {
		t.Errorf("got %+v, want one test message to webhook %s without an invoice", got, hook.ID)
	}
}
