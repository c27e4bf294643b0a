package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/merchant"
	"chequer/internal/signature"
	"chequer/internal/storage/storagetest"
)

// delivery is a request to a receiver.
type delivery struct {
	header http.Header
	body   []byte
	event  api.Event
}

// receiver is a merchant's endpoint. It answers 200 unless a reply function is set.
type receiver struct {
	t   testing.TB
	url string

	mu    sync.Mutex
	got   []delivery
	reply func(w http.ResponseWriter, d delivery)
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{t: t}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL + "/hook"
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	d := delivery{header: request.Header, body: body}
	if err == nil {
		err = json.Unmarshal(body, &d.event)
	}
	if err != nil || d.event.ID != request.Header.Get(api.HeaderEventID) {
		r.t.Errorf("got event %s with the header %q, error %v", body, request.Header.Get(api.HeaderEventID), err)
	}
	r.mu.Lock()
	r.got = append(r.got, d)
	reply := r.reply
	r.mu.Unlock()
	if reply != nil {
		reply(w, d)
	}
}

// setReply sets the reply function; nil answers 200.
func (r *receiver) setReply(reply func(http.ResponseWriter, delivery)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = reply
}

// received returns the received requests, in order.
func (r *receiver) received() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// eventTypes returns the types of the received events about an invoice, in order.
func (r *receiver) eventTypes(id string) (list []string) {
	for _, d := range r.received() {
		if d.event.ForeignID == id {
			list = append(list, d.event.Type)
		}
	}
	return list
}

// paidEvents are the types of the events of an invoice that is paid by one transfer, in order.
var paidEvents = []string{"invoice.created", "payment.seen", "invoice.pending", "payment.confirmed", "invoice.paid"}

// call calls the API, signed over timestamp, nonce, method, target and body.
func (s shop) call(url string, key merchant.Key, method, target, body string, result any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, url+target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	signed := signature.Request{
		Timestamp: fmt.Sprint(time.Now().Unix()), Nonce: fmt.Sprintf("nonce%019d", time.Now().UnixNano()), Method: method, Target: target, Body: []byte(body),
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(api.HeaderKey, key.Key)
	r.Header.Set(api.HeaderTimestamp, signed.Timestamp)
	r.Header.Set(api.HeaderNonce, signed.Nonce)
	r.Header.Set(api.HeaderSignature, signature.Sign(key.Secret, signed.Message()))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode > 299 {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
}

// allowLoopback is the setting that allows endpoints on this machine.
var allowLoopback = "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8"

// TestEvents_are_delivered_in_order pays an invoice and receives its events in order, with signatures
// that openssl confirms. The feed has the same events. A proxy in the environment is not used.
func TestEvents_are_delivered_in_order(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			c := settings(t, allowLoopback)
			if database := engine.database(t); database != "" {
				c.DatabaseURL = database
			}
			p := start(t, c, app.Options{Demo: true})
			s, r := newShop(t, p.url, p.key), newReceiver(t)
			var e api.Endpoint
			s.call(p.url, p.key, "POST", api.PathEndpoints, `{"url":"`+r.url+`"}`, &e)
			id := s.createInvoice()
			s.simulate(id, api.SimulateExact, api.SimulateConfirm)
			until(t, waitTimeout, "every event is received", func() bool { return slices.Contains(r.eventTypes(id), "invoice.paid") })
			if got := r.eventTypes(id); !slices.Equal(got, paidEvents) {
				t.Errorf("got %q, want %q", got, paidEvents)
			}
			for _, got := range r.received() {
				if got.header.Get(api.HeaderKey) != e.Key || got.header.Get(api.HeaderSignature) != opensslMAC(t, e.Secret, got.body) {
					t.Errorf("%s has a wrong signature: %v", got.event.Type, got.header)
				}
			}
			s.checkFeed(p, r)
			s.call(p.url, p.key, "DELETE", api.PathEndpoints+"/"+e.ID, "", nil)
			before := len(r.received())
			s.simulate(s.createInvoice(), api.SimulateExact, api.SimulateConfirm)
			if got := len(r.received()); got != before {
				t.Errorf("got %d deliveries after the endpoint was removed", got-before)
			}
		})
	}
}

// checkFeed fails the test unless the feed has the events that the receiver received, byte for byte.
func (s shop) checkFeed(p *program, r *receiver) {
	s.t.Helper()
	var feed []string
	for after := int64(0); ; {
		var page api.EventPage
		s.call(p.url, p.key, "GET", fmt.Sprintf("%s?after=%d&limit=2", api.PathEvents, after), "", &page)
		if len(page.Events) == 0 {
			break
		}
		for _, e := range page.Events {
			feed = append(feed, string(e))
		}
		after = page.Next
	}
	var sent []string
	for _, d := range r.received() {
		sent = append(sent, string(d.body))
	}
	if !slices.Equal(feed, sent) {
		s.t.Errorf("the feed has %q, want the sent events %q", feed, sent)
	}
}

// opensslMAC returns the HMAC-SHA512 that openssl computes, or that of package signature if openssl is not installed.
func opensslMAC(t *testing.T, secret string, body []byte) string {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		return signature.Sign(secret, body)
	}
	c := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha512", "-hmac", secret)
	c.Stdin = bytes.NewReader(body)
	output, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, sum, _ := strings.Cut(strings.TrimSpace(string(output)), "= ")
	return sum
}

// resendTimeout is the time within which an event is sent again after its sender was killed.
const resendTimeout = 30 * time.Second

// TestKilled_between_sending_and_saving kills the program after the receiver has received an event and
// before it has answered. The event must be sent again with the same bytes, and not after an answer.
func TestKilled_between_sending_and_saving(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			listen := freeAddress(t)
			p := &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
				"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+t.TempDir(), allowLoopback)}
			if url := engine.database(t); url != "" {
				p.environ = append(p.environ, "CHEQUER_DATABASE_URL="+url)
			}
			receiver := newReceiver(t)
			arrived, answered := make(chan struct{}), make(chan struct{})
			var once sync.Once
			receiver.setReply(func(http.ResponseWriter, delivery) {
				once.Do(func() { close(arrived) })
				<-answered
			})
			p.demo()
			p.run("endpoint", "add", receiver.url, "--test", "--events", "invoice.created")
			id := newShop(t, p.url, p.key).createInvoice()
			<-arrived
			p.kill()
			receiver.setReply(nil)
			close(answered)
			p.demo()
			until(t, resendTimeout, "the event is sent again", func() bool { return len(receiver.eventTypes(id)) == 2 })
			got := receiver.received()
			if !bytes.Equal(got[0].body, got[1].body) || got[0].event.ID != got[1].event.ID {
				t.Errorf("the event is sent again as %s, want the same bytes as %s", got[1].body, got[0].body)
			}
			var list []struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(p.run("endpoint", "list", "--json"), &list); err != nil {
				t.Fatal(err)
			}
			until(t, waitTimeout, "the second delivery is recorded", func() bool {
				return bytes.Contains(p.run("endpoint", "deliveries", list[0].ID, got[0].event.ID), []byte("delivered"))
			})
			p.kill()
			p.demo()
			p.run("endpoint", "test", list[0].ID)
			if got := receiver.eventTypes(id); len(got) != 2 {
				t.Errorf("after a recorded answer the events are %q, want two", got)
			}
		})
	}
}

// TestTwo_programs_send_once lets two programs on one database create and send events, while one receiver
// does not answer.
func TestTwo_programs_send_once(t *testing.T) {
	t.Parallel()
	database := storagetest.Postgres(t)
	var programs []*program
	for range 2 {
		programs = append(programs, start(t, settings(t, "CHEQUER_DATABASE_URL="+database, "CHEQUER_MASTER_KEY="+masterKey, allowLoopback), app.Options{Demo: true}))
	}
	healthy, hanging := newReceiver(t), newReceiver(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hanging.setReply(func(http.ResponseWriter, delivery) { <-ctx.Done() })
	s := newShop(t, programs[0].url, programs[0].key)
	for _, r := range []*receiver{healthy, hanging} {
		s.call(programs[0].url, programs[0].key, "POST", api.PathEndpoints, `{"url":"`+r.url+`","events":["invoice.created","invoice.paid"]}`, nil)
	}
	var ids []string
	for i := range 10 {
		s := newShop(t, programs[i%2].url, programs[i%2].key)
		id := s.createInvoice()
		s.simulate(id, api.SimulateExact, api.SimulateConfirm)
		ids = append(ids, id)
	}
	until(t, waitTimeout, "every event is received", func() bool { return len(healthy.received()) >= 2*len(ids) })
	for _, p := range programs {
		cancel()
		p.stop() // wait for pending deliveries
	}
	for _, id := range ids {
		if got := healthy.eventTypes(id); !slices.Equal(got, []string{"invoice.created", "invoice.paid"}) {
			t.Errorf("invoice %s: got %q, want each event once", id, got)
		}
	}
}
