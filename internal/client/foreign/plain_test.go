package foreign_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/client/foreign"
	"chequer/internal/signature"
)

// specOnlyServer is a service that implements only the specification: POST invoice/new and, if status is
// set, GET invoice/status for the invoice f-1. It answers other requests with 404.
type specOnlyServer struct {
	t        *testing.T
	ahead    time.Duration          // difference of its clock from the client's
	status   atomic.Pointer[string] // nil means that there is no invoice/status
	down     atomic.Bool
	requests atomic.Int64
	paths    chan string
}

const specOnlyAnswer = `{"foreign_id":"f-1","status":"%s","expired_at":"%s","client_amount":56.50,"client_currency":"EUR","extra":null,"addresses":[
	{"address":"bc1q","expected_amount":6.5379e-4,"crypto_currency":"BTC","rate_usd":93333.6,"rate_eur":86420.0},
	{"address":"0x1","expected_amount":56.5,"crypto_currency":"EURC-BASE","rate_usd":1.08,"rate_eur":1}]}`

func (s *specOnlyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.paths <- r.Method + " " + r.RequestURI
	w.Header().Set("Date", time.Now().Add(s.ahead).UTC().Format(http.TimeFormat))
	status := s.status.Load()
	end := time.Date(2000, 1, 1, 0, 15, 0, 0, time.UTC).Add(s.ahead).Format(api.TimeLayout)
	switch {
	case s.down.Load():
		http.Error(w, "<h1>Bad gateway</h1>", http.StatusBadGateway)
	case r.Method == "POST" && r.URL.Path == "/api/v2/invoice/new":
		s.check(r)
		fmt.Fprintf(w, specOnlyAnswer, "created", end)
	case status != nil && r.Method == "GET" && r.URL.Path == "/api/v2/invoice/status" && r.URL.Query().Get("id") == "f-1":
		if *status == "paid" {
			w.Header().Set(api.HeaderPaidCurrency, "BTC")
		}
		fmt.Fprintf(w, specOnlyAnswer, *status, end)
	default:
		http.NotFound(w, r)
	}
}

// check reports an error if the request for a new invoice differs from the specification.
func (s *specOnlyServer) check(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !signature.Verify("secret", body, r.Header.Get(api.HeaderSignature)) || r.Header.Get(api.HeaderKey) != "key" {
		s.t.Errorf("the creation is not signed as the specification says: %v", r.Header)
	}
	for _, name := range []string{api.HeaderTimestamp, api.HeaderNonce} {
		if r.Header.Get(name) != "" {
			s.t.Errorf("creation has the header %s of Chequer's scheme", name)
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		s.t.Error(err)
	}
	for name := range fields {
		switch name {
		case "amount", "fiat_currency", "url_success", "url_failure", "allow_paid_expired", "disable_convert":
		default:
			s.t.Errorf("creation has the field %s", name)
		}
	}
}

func newSpecOnlyServer(t *testing.T, status string) (*specOnlyServer, *foreign.Client) {
	t.Helper()
	server := &specOnlyServer{t: t, paths: make(chan string, 1000)}
	if status != "" {
		server.status.Store(&status)
	}
	c, err := foreign.New(client.Config{BaseURL: "http://spec.example", Key: "key", Secret: "secret", Transport: client.InProcess(server)})
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

var plainRequest = api.InvoiceRequest{
	Amount: "56.5", FiatCurrency: "EUR", URLSuccess: "https://shop.example/ok", URLFailure: "https://shop.example/no",
}

// plainWant returns the resource that the client builds from the answers of specOnlyServer.
func plainWant(status string) api.Resource {
	return api.Resource{
		ForeignID: "f-1", Mode: "live", Status: status, Exceptions: []string{},
		CreatedAt: "2000-01-01T00:00:00.000Z", ExpiredAt: "2000-01-01T00:15:00.000Z",
		ClientAmount: "56.5", ClientCurrency: "EUR", PaidAmount: "0", DueAmount: "56.5", OverpaidAmount: "0", ToleranceAmount: "0", Accepted: api.Acceptance{Shortfall: "0"}, KeptSurplus: api.KeptSurplus{Amount: "0"}, SecondsLeft: 900,
		PaymentMethods: []api.PaymentMethod{
			{CryptoCurrency: "BTC", Symbol: "BTC", Name: "BTC", Address: "bc1q", ExpectedAmount: "0.00065379", DueAmount: "0.00065379", SmallestAmount: "0", RateEUR: "86420", RateUSD: "93333.6", Watched: true},
			{CryptoCurrency: "EURC-BASE", Symbol: "EURC", Name: "EURC", Address: "0x1", ExpectedAmount: "56.5", DueAmount: "56.5", SmallestAmount: "0", RateEUR: "1", RateUSD: "1.08", Watched: true},
		},
		Payments: []api.Payment{}, Quotes: []api.Quote{}, Metadata: map[string]string{},
		URLSuccess: "https://shop.example/ok", URLFailure: "https://shop.example/no",
	}
}

func TestPlain_service_without_a_status_shows_the_answer_to_the_creation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := newSpecOnlyServer(t, "")
		id, err := c.CreateInvoice(t.Context(), plainRequest, "token")
		if err != nil || id != "f-1" {
			t.Fatalf("CreateInvoice() = %q, %v", id, err)
		}
		got, err := c.Invoice(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got.Resource, plainWant("created")); diff != "" {
			t.Errorf("Invoice() differs (-got +want):\n%s", diff)
		}
		time.Sleep(10 * time.Second)
		later, err := c.Invoice(t.Context(), id)
		if err != nil || later.ETag != got.ETag || later.Resource.SecondsLeft != 890 {
			t.Errorf("later: ETag %s, %d s left, %v", later.ETag, later.Resource.SecondsLeft, err)
		}
		if _, err := c.Invoice(t.Context(), "f-2"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("unknown invoice: error %v, want ErrNotFound", err)
		}
		time.Sleep(15*time.Minute + 24*time.Hour)
		if _, err := c.Invoice(t.Context(), id); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a day after its end: error %v, want ErrNotFound", err)
		}
	})
}

func TestPlain_service_with_a_status_is_read(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := newSpecOnlyServer(t, "created")
		got, err := c.Invoice(t.Context(), "f-1") // created by another client
		if err != nil {
			t.Fatal(err)
		}
		want := plainWant("created")
		want.CreatedAt, want.URLSuccess, want.URLFailure = "", "", ""
		if diff := cmp.Diff(got.Resource, want); diff != "" {
			t.Errorf("Invoice() differs (-got +want):\n%s", diff)
		}
		paid := "paid"
		server.status.Store(&paid)
		got, err = c.Invoice(t.Context(), "f-1")
		if r := got.Resource; err != nil || r.Status != "paid" || r.PaidAmount != "56.5" || r.DueAmount != "0" || r.PaidCurrency != "BTC" {
			t.Errorf("paid: %+v, %v", r, err)
		}
	})
}

func TestPlain_service_is_polled_during_a_wait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := newSpecOnlyServer(t, "created")
		first, err := c.Invoice(t.Context(), "f-1")
		if err != nil {
			t.Fatal(err)
		}
		before := server.requests.Load()
		start := time.Now()
		_, err = c.WaitInvoice(t.Context(), "f-1", first.ETag, 12*time.Second)
		if waited := time.Since(start); !errors.Is(err, client.ErrNotModified) || waited != 12*time.Second {
			t.Errorf("WaitInvoice() = %v after %s", err, waited)
		}
		if n := server.requests.Load() - before; n != 3 { // at 0, 5 and 10 s
			t.Errorf("%d requests, want 3", n)
		}
		time.AfterFunc(7*time.Second, func() { paid := "paid"; server.status.Store(&paid) })
		start = time.Now()
		got, err := c.WaitInvoice(t.Context(), "f-1", first.ETag, 30*time.Second)
		if waited := time.Since(start); err != nil || got.Resource.Status != "paid" || waited != 10*time.Second {
			t.Errorf("WaitInvoice() = %s, %v after %s", got.Resource.Status, err, waited)
		}
		before = server.requests.Load()
		time.Sleep(time.Minute)
		if server.requests.Load() != before {
			t.Error("the service was polled without a wait")
		}
	})
}

func TestPlain_service_is_tried_again_after_ten_minutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := newSpecOnlyServer(t, "created")
		count := func() (extended int) {
			for {
				select {
				case path := <-server.paths:
					if strings.Contains(path, "/invoices/") {
						extended++
					}
				default:
					return extended
				}
			}
		}
		for range 5 {
			if _, err := c.Invoice(t.Context(), "f-1"); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(); n != 1 {
			t.Errorf("%d requests beyond the specification, want 1", n)
		}
		time.Sleep(10 * time.Minute)
		if _, err := c.Invoice(t.Context(), "f-1"); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != 1 {
			t.Errorf("%d requests beyond the specification after ten minutes, want 1", n)
		}
	})
}

func TestPlain_service_with_another_clock_has_the_right_remaining_time(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"", "created"} {
		synctest.Test(t, func(t *testing.T) {
			server, c := newSpecOnlyServer(t, status)
			server.ahead = 2 * time.Hour
			id, err := c.CreateInvoice(t.Context(), plainRequest, "")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			got, err := c.Invoice(t.Context(), id)
			if err != nil || got.Resource.SecondsLeft != 840 || got.Resource.CreatedAt != "2000-01-01T02:00:00.000Z" {
				t.Errorf("%d s left, created at %s, error %v; want 840 s", got.Resource.SecondsLeft, got.Resource.CreatedAt, err)
			}
		})
	}
}

func TestPlain_service_that_is_down_returns_an_error(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := newSpecOnlyServer(t, "created")
		server.down.Store(true)
		want := &client.Error{Status: 502, Message: "Bad Gateway"}
		_, err := c.CreateInvoice(t.Context(), plainRequest, "")
		checkError(t, err, want)
		_, err = c.Invoice(t.Context(), "f-1")
		checkError(t, err, want)
		server.down.Store(false)
		if _, err := c.Invoice(t.Context(), "f-1"); err != nil {
			t.Fatal(err)
		}
		server.down.Store(true)
		_, err = c.Invoice(t.Context(), "f-1")
		checkError(t, err, want)
	})
}

func TestPlain_service_does_not_support_the_calls_of_Chequer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := newSpecOnlyServer(t, "")
		if err := c.Simulate(t.Context(), "f-1", api.SimulateRequest{Action: api.SimulateExact}); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("Simulate() = %v, want ErrUnsupported", err)
		}
		if err := c.Requote(t.Context(), "f-1", api.RequoteRequest{}); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("Requote() = %v, want ErrUnsupported", err)
		}
		if err := c.SetRefundAddress(t.Context(), "f-1", api.RefundRequest{Currency: "BTC", Address: "bc1q"}); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("SetRefundAddress() = %v, want ErrUnsupported", err)
		}
	})
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
