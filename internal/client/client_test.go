package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/signature"
)

// received is a request as a handler received it.
type received struct {
	Method, Target, Path, Host, Body string
	Length                           int64
	Header                           map[string]string
}

// record returns a handler that answers with a status, headers and a body, and records its
// requests.
func record(seen *[]received, status int, header map[string]string, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		e := received{Method: r.Method, Target: r.RequestURI, Path: r.URL.Path, Host: r.Host, Body: string(sent), Length: r.ContentLength, Header: map[string]string{}}
		for name := range r.Header {
			if name != "User-Agent" && name != "Accept-Encoding" && name != "Content-Length" {
				e.Header[name] = r.Header.Get(name)
			}
		}
		*seen = append(*seen, e)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

var clock = func() time.Time { return time.Unix(1795812932, 0) }

func newClient(t *testing.T, base string, transport http.RoundTripper) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		BaseURL: base, Key: "key", Secret: "secret", Transport: transport, Now: clock,
		NewNonce: func() string { return "0123456789abcdef" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew_refuses_invalid_base_addresses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "pay.example", "ftp://pay.example", "https://", "https://user@pay.example", "https://pay.example?x=1", "https://pay.example/#x", "https://pay.example/%zz"} {
		if _, err := client.New(client.Config{BaseURL: base}); err == nil {
			t.Errorf("New(%q) = nil error, want an error", base)
		}
	}
	if _, err := client.New(client.Config{BaseURL: "https://user:secretword@pay.example"}); err == nil || strings.Contains(err.Error(), "secretword") {
		t.Errorf("an address with a password: %v", err)
	}
}

// ownAnswer is an answer with Chequer's own resource.
const ownAnswer = `{"foreign_id":"a-b","status":"created","client_amount":"1","paid_amount":"0","due_amount":"1","overpaid_amount":"0"}`

func TestClient_sends_the_same_bytes_in_process_and_over_HTTP(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
		call   func(*client.Client) error
		answer string
	}{
		"create": {func(c *client.Client) error {
			_, err := c.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.5", FiatCurrency: "EUR", URLSuccess: "https://shop.example/?a=1&b=2"}, "token")
			return err
		}, `{"foreign_id":"a"}`},
		"read": {func(c *client.Client) error { _, err := c.Invoice(t.Context(), "a-b"); return err }, ownAnswer},
		"wait": {func(c *client.Client) error {
			_, err := c.WaitInvoice(t.Context(), "a-b", `"7"`, 12*time.Second)
			return err
		}, ownAnswer},
		"simulate": {func(c *client.Client) error {
			return c.Simulate(t.Context(), "a-b", api.SimulateRequest{Action: "exact"})
		}, ownAnswer},
	}
	for name, test := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var overHTTP, inProcess []received
			server := httptest.NewServer(record(&overHTTP, 200, nil, test.answer))
			defer server.Close()
			if err := test.call(newClient(t, server.URL+"/shop/", nil)); err != nil {
				t.Fatalf("over HTTP: %v", err)
			}
			handler := record(&inProcess, 200, nil, test.answer)
			if err := test.call(newClient(t, server.URL+"/shop", client.InProcess(handler))); err != nil {
				t.Fatalf("in process: %v", err)
			}
			if diff := cmp.Diff(inProcess, overHTTP); diff != "" {
				t.Errorf("in process differs from HTTP (-in process +HTTP):\n%s", diff)
			}
		})
	}
}

func TestClient_signs_its_requests(t *testing.T) {
	t.Parallel()
	var seen []received
	c := newClient(t, "https://pay.example/shop", client.InProcess(record(&seen, 200, nil, ownAnswer)))
	if _, err := c.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "56.5", FiatCurrency: "EUR"}, "token"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitInvoice(t.Context(), "a-b", `"7"`, time.Hour); err != nil {
		t.Fatal(err)
	}
	body := `{"amount":56.5,"fiat_currency":"EUR"}`
	signedRead := signature.Request{Timestamp: "1795812932", Nonce: "0123456789abcdef", Method: "GET", Target: "/shop/api/v2/invoices/a-b"}
	want := []received{
		{
			Method: "POST", Target: "/shop/api/v2/invoice/new", Path: "/shop/api/v2/invoice/new", Host: "pay.example", Body: body, Length: int64(len(body)),
			Header: map[string]string{
				"Content-Type": "application/json", "X-Processing-Key": "key", "Idempotency-Key": "token",
				"X-Processing-Signature": signature.Sign("secret", []byte(body)),
			},
		},
		{
			Method: "GET", Target: "/shop/api/v2/invoices/a-b", Path: "/shop/api/v2/invoices/a-b", Host: "pay.example",
			Header: map[string]string{
				"X-Processing-Key": "key", "X-Processing-Timestamp": "1795812932", "X-Processing-Nonce": "0123456789abcdef",
				"X-Processing-Signature": signature.Sign("secret", signedRead.Message()), "If-None-Match": `"7"`, "Prefer": "wait=30",
			},
		},
	}
	if diff := cmp.Diff(seen, want); diff != "" {
		t.Errorf("requests differ (-got +want):\n%s", diff)
	}
}

func TestClient_returns_the_error_of_an_answer(t *testing.T) {
	t.Parallel()
	coded := map[string]string{api.HeaderErrorCode: "some_code"}
	refusal := `{"statusCode":400,"error":"Bad Request","message":"amount must be a number"}`
	tests := map[string]struct {
		status   int
		header   map[string]string
		body     string
		create   error // nil: no error
		read     error
		simulate error
	}{
		"a refusal":                {400, coded, refusal, &client.Error{Status: 400, Code: "some_code", Message: "amount must be a number"}, &client.Error{Status: 400, Code: "some_code", Message: "amount must be a number"}, &client.Error{Status: 400, Code: "some_code", Message: "amount must be a number"}},
		"not found":                {404, coded, `{"message":"There is no such invoice"}`, &client.Error{Status: 404, Code: "some_code", Message: "There is no such invoice"}, client.ErrNotFound, client.ErrNotFound},
		"not modified":             {304, nil, ``, &client.Error{Status: 304, Message: "Not Modified"}, client.ErrNotModified, client.ErrUnsupported},
		"a redirect":               {302, map[string]string{"Location": "https://evil.example/"}, ``, &client.Error{Status: 302, Message: "Found"}, client.ErrUnsupported, client.ErrUnsupported},
		"a page":                   {200, nil, `<h1>Welcome</h1>`, &client.Error{Status: 200, Message: "OK"}, client.ErrUnsupported, client.ErrUnsupported},
		"another invoice":          {200, nil, `{"foreign_id":"x"}`, nil, client.ErrUnsupported, client.ErrUnsupported},
		"too many":                 {429, nil, ``, &client.Error{Status: 429, Message: "Too Many Requests"}, &client.Error{Status: 429, Message: "Too Many Requests"}, &client.Error{Status: 429, Message: "Too Many Requests"}},
		"a service that fails":     {503, coded, `{"message":"No payment method can be priced now"}`, &client.Error{Status: 503, Code: "some_code", Message: "No payment method can be priced now"}, &client.Error{Status: 503, Code: "some_code", Message: "No payment method can be priced now"}, &client.Error{Status: 503, Code: "some_code", Message: "No payment method can be priced now"}},
		"a refusal without a code": {403, nil, ``, &client.Error{Status: 403, Message: "Forbidden"}, client.ErrUnsupported, client.ErrUnsupported},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []received
			c := newClient(t, "https://pay.example", client.InProcess(record(&seen, test.status, test.header, test.body)))
			_, err := c.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "1", FiatCurrency: "EUR"}, "")
			checkSameError(t, "CreateInvoice", err, test.create)
			_, err = c.Invoice(t.Context(), "a")
			checkSameError(t, "Invoice", err, test.read)
			checkSameError(t, "Simulate", c.Simulate(t.Context(), "a", api.SimulateRequest{Action: "exact"}), test.simulate)
		})
	}
}

func checkSameError(t *testing.T, call string, err, want error) {
	t.Helper()
	if full, ok := errors.AsType[*client.Error](want); ok {
		checkError(t, err, full)
	} else if !errors.Is(err, want) {
		t.Errorf("%s() = %v, want %v", call, err, want)
	}
}

func TestClient_does_not_mistake_a_fault_of_a_proxy_for_another_service(t *testing.T) {
	t.Parallel()
	answer, status := ownAnswer, 200
	c := newClient(t, "https://pay.example", client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, answer)
	})))
	if _, err := c.Invoice(t.Context(), "a-b"); err != nil {
		t.Fatal(err)
	}
	answer, status = "no backend", 404
	_, err := c.Invoice(t.Context(), "a-b")
	checkError(t, err, &client.Error{Status: 404, Message: "Not Found"})
}

func TestClient_bounds_an_answer(t *testing.T) {
	t.Parallel()
	var seen []received
	c := newClient(t, "https://pay.example", client.InProcess(record(&seen, 200, nil, `{"foreign_id":"`+strings.Repeat("x", 1<<20)+`"}`)))
	if _, err := c.Invoice(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("Invoice() = %v, want an error about the size", err)
	}
}

func TestClient_bounds_the_time_of_a_call(t *testing.T) {
	t.Parallel()
	for wait, limit := range map[time.Duration]time.Duration{0: 10 * time.Second, 30 * time.Second: 40 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			done := make(chan struct{})
			c := newClient(t, "https://pay.example", client.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done })))
			start := time.Now()
			_, err := c.WaitInvoice(t.Context(), "a", `"1"`, wait)
			if waited := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || waited != limit {
				t.Errorf("call took %s and returned %v, want %s and a deadline error", waited, err, limit)
			}
			close(done)
		})
	}
}

func TestInProcess_ends_with_its_context(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		c := newClient(t, "https://pay.example", client.InProcess(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			close(done)
		})))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Invoice(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("Invoice() = %v, want context.Canceled", err)
		}
		<-done
	})
}

func TestInProcess_survives_a_panic(t *testing.T) {
	t.Parallel()
	c := newClient(t, "https://pay.example", client.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no") })))
	_, err := c.Invoice(t.Context(), "secret-id")
	if err == nil || !strings.Contains(err.Error(), "panicked") || strings.Contains(err.Error(), "secret-id") {
		t.Errorf("Invoice() = %v, want an error about the panic without the identifier", err)
	}
}

func TestInProcess_answers_as_a_server_does(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Before", "1")
		fmt.Fprint(w, "hello")
		w.Header().Set("X-After", "1")
		w.WriteHeader(http.StatusTeapot)
	})
	for method, want := range map[string]string{"GET": "hello", "HEAD": ""} {
		r, err := http.NewRequestWithContext(t.Context(), method, "https://pay.example/?x=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.InProcess(handler).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != want || response.StatusCode != 200 || response.Header.Get("X-Before") != "1" || response.Header.Get("X-After") != "" {
			t.Errorf("%s: %d %v %q %v", method, response.StatusCode, response.Header, body, err)
		}
	}
}

func TestClient_reads_events(t *testing.T) {
	t.Parallel()
	coded := map[string]string{api.HeaderErrorCode: "some_code"}
	tests := map[string]struct {
		after  int64
		status int
		header map[string]string
		body   string
		target string
		want   error
	}{
		"from now":        {client.FromNow, 200, coded, `{"mode":"test","events":[],"next":7}`, "/api/v2/events?after=now&limit=100", nil},
		"from a position": {5, 200, coded, `{"mode":"test","events":[{"id":"evt_1"}],"next":7}`, "/api/v2/events?after=5&limit=100", nil},
		"without an invoice": {
			5, 200, coded, `{"mode":"test","events":[{"id":"evt_1","type":"wallet.changed","foreign_id":"","wallet":{"id":"wlt_2","change":"replaced","former_id":"wlt_1"}}],"next":7}`,
			"/api/v2/events?after=5&limit=100", nil,
		},
		"a position that goes back": {5, 200, coded, `{"mode":"test","events":[],"next":4}`, "/api/v2/events?after=5&limit=100", client.ErrInvalidAnswer},
		"a refusal":                 {5, 403, coded, `{"message":"Key may not do this"}`, "/api/v2/events?after=5&limit=100", &client.Error{Status: 403, Code: "some_code", Message: "Key may not do this"}},
		"a page":                    {5, 200, nil, `<h1>Welcome</h1>`, "/api/v2/events?after=5&limit=100", client.ErrUnsupported},
		"another service":           {5, 404, nil, ``, "/api/v2/events?after=5&limit=100", client.ErrUnsupported},
		"an unavailable service":    {5, 503, nil, ``, "/api/v2/events?after=5&limit=100", &client.Error{Status: 503, Message: "Service Unavailable"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []received
			c := newClient(t, "https://pay.example", client.InProcess(record(&seen, test.status, test.header, test.body)))
			page, err := c.Events(t.Context(), test.after, 20*time.Second)
			checkSameError(t, "Events", err, test.want)
			if test.want == nil && (page.Mode != "test" || page.Next != 7) {
				t.Errorf("Events() = %+v, want mode test and next 7", page)
			}
			if len(seen) != 1 || seen[0].Target != test.target || seen[0].Header["Prefer"] != "wait=20" {
				t.Errorf("requests %+v, want %s with Prefer: wait=20", seen, test.target)
			}
		})
	}
}

func checkError(t *testing.T, err error, want *client.Error) {
	t.Helper()
	got, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("error %v, want %v", err, want)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("error differs (-got +want):\n%s", diff)
	}
}
