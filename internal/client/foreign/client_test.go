package foreign_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/client/foreign"
)

var clock = func() time.Time { return time.Unix(1795812932, 0) }

// answering returns a client of a service that is the given handler.
func answering(t testing.TB, service http.HandlerFunc) *foreign.Client {
	t.Helper()
	c, err := foreign.New(client.Config{BaseURL: "https://evil.example", Now: clock, Transport: client.InProcess(service)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew_refuses_invalid_base_addresses(t *testing.T) {
	t.Parallel()
	if _, err := foreign.New(client.Config{BaseURL: "ftp://pay.example"}); err == nil {
		t.Error("New() = nil error, want an error")
	}
}

// ownAnswer is an answer with Chequer's own resource.
const ownAnswer = `{"foreign_id":"a-b","status":"created","client_amount":"1","paid_amount":"0","due_amount":"1","overpaid_amount":"0"}`

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
		"a redirect":               {302, map[string]string{"Location": "https://evil.example/"}, ``, &client.Error{Status: 302, Message: "Found"}, client.ErrNotFound, client.ErrUnsupported},
		"a page":                   {200, nil, `<h1>Welcome</h1>`, &client.Error{Status: 200, Message: "OK"}, client.ErrNotFound, client.ErrUnsupported},
		"another invoice":          {200, nil, `{"foreign_id":"x"}`, nil, client.ErrNotFound, client.ErrUnsupported},
		"too many":                 {429, nil, ``, &client.Error{Status: 429, Message: "Too Many Requests"}, &client.Error{Status: 429, Message: "Too Many Requests"}, &client.Error{Status: 429, Message: "Too Many Requests"}},
		"a service that fails":     {503, coded, `{"message":"No payment method can be priced now"}`, &client.Error{Status: 503, Code: "some_code", Message: "No payment method can be priced now"}, &client.Error{Status: 503, Code: "some_code", Message: "No payment method can be priced now"}, &client.Error{Status: 503, Code: "some_code", Message: "No payment method can be priced now"}},
		"a refusal without a code": {403, nil, ``, &client.Error{Status: 403, Message: "Forbidden"}, &client.Error{Status: 403, Message: "Forbidden"}, client.ErrUnsupported},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range test.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			})
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
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, answer)
	})
	if _, err := c.Invoice(t.Context(), "a-b"); err != nil {
		t.Fatal(err)
	}
	answer, status = "no backend", 404
	_, err := c.Invoice(t.Context(), "a-b")
	checkError(t, err, &client.Error{Status: 404, Message: "Not Found"})
}
