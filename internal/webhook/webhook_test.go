package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/clocktest"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/programtest"
	"chequer/internal/storage/storagetest"
)

func TestWorker_signs_the_bytes_of_the_event(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		endpoint := f.endpoint(r.url)
		f.createInvoice("a")
		f.send()
		e2, err := f.endpoints.Rotate(t.Context(), "m", endpoint.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.addEvents("a", invoice.EventPending)
		f.send()
		e3, err := f.endpoints.Finish(t.Context(), "m", endpoint.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.addEvents("a", invoice.EventPaid)
		f.send()
		if e3.Key != e2.NextKey || e3.Secret != e2.NextSecret || e3.Rotating() {
			t.Errorf("after a rotation: got %+v, want the next pair of %+v", e3, e2)
		}
		got := r.requests()
		if len(got) != 3 {
			t.Fatalf("got %d requests, want 3", len(got))
		}
		for i, secrets := range [][]string{{endpoint.Secret}, {endpoint.Secret, e2.NextSecret}, {e2.NextSecret}} {
			version := i + 1
			types := []invoice.EventType{invoice.EventCreated, invoice.EventPending, invoice.EventPaid}
			want := f.event("a", types[i], int64(version))
			h := got[i].header
			if !bytes.Equal(got[i].body, want.Body) || got[i].id != want.ID {
				t.Errorf("got %s %s, want %s %s", got[i].id, got[i].body, want.ID, want.Body)
			}
			timestamp := strconv.FormatInt(noon.Unix(), 10)
			if h.Get("X-Processing-Timestamp") != timestamp || h.Get("Content-Type") != "application/json" {
				t.Errorf("got headers %v", h)
			}
			if key := []string{endpoint.Key, endpoint.Key, e3.Key}[i]; h.Get("X-Processing-Key") != key {
				t.Errorf("got key %q, want %q", h.Get("X-Processing-Key"), key)
			}
			if want := hmac(t, secrets[0], want.Body); h.Get("X-Processing-Signature") != want {
				t.Errorf("got signature %q, want %q", h.Get("X-Processing-Signature"), want)
			}
			var signatures []string
			for _, secret := range secrets {
				message := "chequer-event-v1\n" + timestamp + "\n" + want.ID + "\n" + digest(t, want.Body)
				signatures = append(signatures, hmac(t, secret, []byte(message)))
			}
			if h.Get("X-Processing-Signature-V2") != strings.Join(signatures, ",") {
				t.Errorf("got V2 signatures %q, want %q", h.Get("X-Processing-Signature-V2"), signatures)
			}
		}
	})
}

// hmac returns an HMAC-SHA512 that another program has computed.
func hmac(t *testing.T, secret string, message []byte) string {
	t.Helper()
	return openssl(t, message, "dgst", "-sha512", "-hmac", secret)
}

// digest returns a SHA-512 in hex.
func digest(t *testing.T, message []byte) string {
	t.Helper()
	return openssl(t, message, "dgst", "-sha512")
}

func openssl(t *testing.T, message []byte, args ...string) string {
	t.Helper()
	programtest.RequireProgram(t, "openssl")
	c := exec.CommandContext(t.Context(), "openssl", args...)
	c.Stdin = bytes.NewReader(message)
	output, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, sum, _ := strings.Cut(strings.TrimSpace(string(output)), "= ")
	return sum
}

// One receiver fails for half an hour while three invoices are paid. The other receiver never fails.
func TestWorker_retries_until_the_receiver_accepts(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		failing, healthy := newReceiver(t), newReceiver(t)
		endpoint := f.endpoint(failing.url)
		f.endpoint(healthy.url)
		failing.answer(http.StatusInternalServerError)
		for _, id := range []string{"a", "b", "c"} {
			f.createInvoice(id)
			f.addEvents(id, invoice.EventPending, invoice.EventPaid)
		}
		f.send()
		if got := healthy.ids(); len(got) != 9 {
			t.Errorf("got %d events at the healthy receiver immediately, want 9", len(got))
		}
		if got := failing.ids(); len(got) != 3 {
			t.Errorf("got %q at the failing receiver, want the first event of each invoice", got)
		}
		f.run(29)
		failing.answer(http.StatusNoContent)
		failures := len(failing.ids())
		f.createInvoice("d")
		f.send()
		if got := failing.ids()[failures:]; !slices.Contains(got, "evt_d_1") {
			t.Errorf("got %q after its recovery, want the new event", got)
		}
		f.run(75)
		for _, id := range []string{"a", "b", "c"} {
			var order []string
			for _, got := range failing.ids()[failures:] {
				if strings.HasPrefix(got, "evt_"+id) && !slices.Contains(order, got) {
					order = append(order, got)
				}
			}
			if len(order) != 3 {
				t.Errorf("got %q of invoice %s at the end, want all three", order, id)
			}
			for version := range 3 {
				d, _ := f.delivery(endpoint, fmt.Sprintf("evt_%s_%d", id, version+1))
				if d.State != merchant.DeliveryDone {
					t.Errorf("got %+v, want it delivered", d)
				}
			}
		}
		bodies := map[string]string{}
		for _, got := range failing.requests() {
			if before, known := bodies[got.id]; known && before != string(got.body) {
				t.Errorf("%s was sent as %s and %s", got.id, before, got.body)
			}
			bodies[got.id] = string(got.body)
		}
		count := len(failing.ids())
		f.run(10)
		if len(failing.ids()) != count || len(healthy.ids()) != 10 {
			t.Errorf("got %d and %d requests later, want no more than %d and 10", len(failing.ids()), len(healthy.ids()), count)
		}
	})
}

func TestWorker_keeps_the_order_of_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		f.endpoint(r.url)
		r.answer(http.StatusInternalServerError)
		f.createInvoice("a")
		f.addEvents("a", invoice.EventPending, invoice.EventPaid)
		f.send()
		f.run(17)
		if got := r.ids(); !slices.Equal(got, []string{"evt_a_1", "evt_a_1", "evt_a_1", "evt_a_1"}) {
			t.Errorf("within 20 minutes: got %q, want only the first event", got)
		}
		f.run(4)
		if got := r.ids()[4:]; !slices.Equal(got, []string{"evt_a_2"}) {
			t.Errorf("after 20 minutes: got %q, want the second event", got)
		}
		r.answer(http.StatusOK)
		f.run(1)
		if got := r.ids()[5:]; !slices.Equal(got, []string{"evt_a_2", "evt_a_3"}) {
			t.Errorf("next: got %q, want the second and the third", got)
		}
		f.run(15)
		if got := r.ids()[7:]; !slices.Equal(got, []string{"evt_a_1"}) {
			t.Errorf("at the end: got %q, want the first event again", got)
		}
	})
}

func TestWorker_gives_up_after_three_days(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		r.answer(http.StatusBadGateway)
		e := f.endpoint(r.url)
		f.createInvoice("a")
		f.send()
		for range 100 {
			d, _ := f.delivery(e, "evt_a_1")
			if d.State != merchant.DeliveryPending {
				break
			}
			f.clock.Advance(d.NextAttemptAt.Sub(f.clock.Now()))
			f.send()
		}
		d, attempts := f.delivery(e, "evt_a_1")
		if d.State != merchant.DeliveryFailed || len(attempts) != 26 || f.clock.Now().Sub(noon) > 72*time.Hour {
			t.Errorf("got %+v after %d attempts and %s, want it given up after 26 attempts and at most 72 h", d, len(attempts), f.clock.Now().Sub(noon))
		}
		if !f.log.Contains("delivery of an event given up") || f.log.Contains("hush") {
			t.Errorf("log %s, want the failure without the URL", f.log)
		}
		if h, err := f.endpoints.Health(t.Context(), e); err != nil || h.Failed != 1 || !h.Failing() {
			t.Errorf("got health %+v, error %v", h, err)
		}
		r.answer(http.StatusOK)
		if err := f.endpoints.Resend(t.Context(), e, "evt_a_1"); err != nil {
			t.Fatal(err)
		}
		f.send()
		if d, _ := f.delivery(e, "evt_a_1"); d.State != merchant.DeliveryDone || d.Attempts != 27 {
			t.Errorf("sent again: got %+v, want it delivered", d)
		}
	})
}

func TestWorker_stores_the_outcome_of_each_answer(t *testing.T) {
	status := func(n int, header ...string) func(http.ResponseWriter, received) {
		return func(w http.ResponseWriter, _ received) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(n)
		}
	}
	for name, test := range map[string]struct {
		reply  func(http.ResponseWriter, received)
		state  merchant.DeliveryState
		status int
		fault  string
		wait   time.Duration // minimum time until the next attempt
	}{
		"200":                             {status(200), merchant.DeliveryDone, 200, "", 0},
		"202":                             {status(202), merchant.DeliveryDone, 202, "", 0},
		"204":                             {status(204), merchant.DeliveryDone, 204, "", 0},
		"301 is not followed":             {status(301, "Location", "/elsewhere"), merchant.DeliveryPending, 301, "", time.Minute},
		"307 is not followed":             {status(307, "Location", "http://127.0.0.1:1/"), merchant.DeliveryPending, 307, "", time.Minute},
		"400":                             {status(400), merchant.DeliveryPending, 400, "", time.Minute},
		"404":                             {status(404), merchant.DeliveryPending, 404, "", time.Minute},
		"408":                             {status(408), merchant.DeliveryPending, 408, "", time.Minute},
		"410 is the end":                  {status(410), merchant.DeliveryFailed, 410, "", 0},
		"429 with Retry-After":            {status(429, "Retry-After", "120"), merchant.DeliveryPending, 429, "", 2 * time.Minute},
		"503 until a date":                {status(503, "Retry-After", noon.Add(time.Hour).Format(http.TimeFormat)), merchant.DeliveryPending, 503, "", time.Hour},
		"503 with an invalid Retry-After": {status(503, "Retry-After", "-5"), merchant.DeliveryPending, 503, "", time.Minute},
		"closed without answer":           {func(http.ResponseWriter, received) { panic(http.ErrAbortHandler) }, merchant.DeliveryPending, 0, "the connection was closed without an answer", time.Minute},
		"200, then cut": {func(w http.ResponseWriter, _ received) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, merchant.DeliveryDone, 200, "", 0},
		"200 with a gigabyte": {func(w http.ResponseWriter, _ received) {
			w.Header().Set("Content-Length", "1000000000")
			for chunk := bytes.Repeat([]byte{'x'}, 1<<16); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, merchant.DeliveryDone, 200, "", 0},
		"200 with an endless body": {func(w http.ResponseWriter, _ received) {
			for chunk := bytes.Repeat([]byte{0, 0xff, 'x'}, 1<<14); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, merchant.DeliveryDone, 200, "", 0},
		"endless headers": {func(w http.ResponseWriter, _ received) {
			w.Header().Set("X-Long", strings.Repeat("x", 100<<10))
		}, merchant.DeliveryPending, 0, "net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 65536 bytes; aborted", time.Minute},
		"not HTTP": {func(w http.ResponseWriter, _ received) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprint(conn, "SSH-2.0-OpenSSH\r\n\r\n")
				conn.Close()
			}
		}, merchant.DeliveryPending, 0, `net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH"`, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, storagetest.File(t), clocktest.New(noon))
			r := newReceiver(t)
			r.reply = test.reply
			e := f.endpoint(r.url)
			f.createInvoice("a")
			f.send()
			d, attempts := f.delivery(e, "evt_a_1")
			if d.State != test.state || d.LastStatus != test.status || d.LastFault != test.fault || len(attempts) != 1 || len(r.ids()) != 1 {
				t.Errorf("got %+v after %d attempts and %d requests, want %s, %d, %q after one", d, len(attempts), len(r.ids()), test.state, test.status, test.fault)
			}
			if wait := d.NextAttemptAt.Sub(noon); test.wait > 0 && (wait < test.wait || wait > test.wait*11/10) {
				t.Errorf("next attempt after %s, want %s", wait, test.wait)
			}
			if len(attempts) == 1 && len(attempts[0].Answer) > 4<<10 {
				t.Errorf("%d bytes of the answer are stored, want at most 4 KiB", len(attempts[0].Answer))
			}
		})
	}
}

func TestWorker_stores_the_answer(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		r.reply = func(w http.ResponseWriter, _ received) {
			w.Header().Set("X-Reason", "full \xffstop")
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "no\x00 \xff\x1b[31mcoffee\n")
		}
		e := f.endpoint(r.url)
		f.createInvoice("a")
		f.send()
		_, attempts := f.delivery(e, "evt_a_1")
		if len(attempts) != 1 {
			t.Fatalf("got %d attempts, want 1", len(attempts))
		}
		delete(attempts[0].Header, "Date")
		want := merchant.Attempt{
			Number: 1, At: noon, Status: http.StatusTeapot, Answer: "no [31mcoffee\n",
			Header: map[string]string{"X-Reason": "full stop", "Content-Type": "application/octet-stream"},
		}
		delete(attempts[0].Header, "Content-Length")
		if diff := cmp.Diff(want, attempts[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWorker_sends_nothing_while_paused(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		e := f.endpoint(r.url, "invoice.paid")
		if _, err := f.endpoints.SetPaused(t.Context(), "m", e.ID, true); err != nil {
			t.Fatal(err)
		}
		f.createInvoice("a")
		f.addEvents("a", invoice.EventPaid)
		if _, err := f.endpoints.Test(t.Context(), "m", e.ID); !errors.Is(err, merchant.ErrState) {
			t.Errorf("test of a paused endpoint: got error %v, want %v", err, merchant.ErrState)
		}
		f.send()
		f.clock.Advance(100 * time.Hour)
		f.send()
		if got := r.ids(); got != nil {
			t.Errorf("while paused: got %q", got)
		}
		if _, err := f.endpoints.SetPaused(t.Context(), "m", e.ID, false); err != nil {
			t.Fatal(err)
		}
		f.send()
		if got := r.ids(); !slices.Equal(got, []string{"evt_a_2"}) {
			t.Errorf("after the pause: got %q, want the event that was held back", got)
		}
	})
}

func TestWorker_sends_a_test_event_once(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		r.answer(http.StatusInternalServerError)
		e, other := f.endpoint(r.url), newReceiver(t)
		f.endpoint(other.url)
		id, err := f.endpoints.Test(t.Context(), "m", e.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.send()
		f.run(5)
		d, attempts := f.delivery(e, id)
		if len(r.ids()) != 1 || len(other.ids()) != 0 || d.State != merchant.DeliveryFailed || len(attempts) != 1 {
			t.Errorf("got %d and %d requests and %+v, want one attempt", len(r.ids()), len(other.ids()), d)
		}
		if body := string(r.requests()[0].body); !strings.Contains(body, `"type":"endpoint.test"`) || !strings.Contains(body, `"payments":[]`) {
			t.Errorf("got body %s", body)
		}
	})
}

func TestWorker_resends_a_range(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		e := f.endpoint(r.url, "invoice.created")
		for i := range 12 {
			f.createInvoice(fmt.Sprint("i", i))
		}
		f.send()
		sent, err := f.endpoints.ResendAfter(t.Context(), e, 5)
		if err != nil || sent != 7 {
			t.Errorf("resent %d, error %v, want 7", sent, err)
		}
		f.send()
		if got := r.ids(); len(got) != 19 {
			t.Errorf("got %d requests, want 12 and 7 again", len(got))
		}
	})
}

// Several workers, each with its own storage, share one database.
func TestWorkers_send_each_event_once(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t)
		f.endpoint(r.url)
		for i := range 30 {
			f.createInvoice(fmt.Sprint("i", i))
			f.addEvents(fmt.Sprint("i", i), invoice.EventPaid)
		}
		fixtures := []*fixture{f, newFixture(t, f.url, f.clock), newFixture(t, f.url, f.clock)}
		var group sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for _, f := range fixtures {
			group.Go(func() {
				if err := f.worker.Run(ctx); err != nil {
					t.Errorf("run: %v", err)
				}
			})
		}
		r.await(ctx, 60)
		cancel()
		group.Wait()
		times := map[string]int{}
		for _, id := range r.ids() {
			times[id]++
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s was sent %d times, want once", id, n)
			}
		}
		if len(times) != 60 {
			t.Errorf("got %d events, want 60", len(times))
		}
	})
}
