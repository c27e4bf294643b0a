package server_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/httpapi"
	"chequer/internal/merchant"
)

// familyClient imitates a public client of the API family: it builds the two requests and reads the answers.
// It shares no code with that client.
type familyClient struct {
	suffix  string // of the base address, as a user of the client configures it
	timeout time.Duration
	create  func(base string) (url, sent, signed string)
	headers http.Header // of both requests
	status  func(base, id string) (url string, headers http.Header)
	read    func(status int, body string) error
	amount  string // client_amount, as the answer must write it
}

const (
	familyKey    = "all00000000000000000000000000000"
	familySecret = "secret of all"
)

// familySign is the API family's signature, computed without code of this project.
func familySign(body string) string {
	mac := hmac.New(sha512.New, []byte(familySecret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func familyClients() map[string]familyClient {
	plain := func(base, id string) (string, http.Header) { return base + "/api/v2/invoice/status?id=" + id, nil }
	return map[string]familyClient{
		// Typed structures both ways, three seconds per request, /v2 without /api, and no headers
		// with a status request.
		"like Go": {
			timeout: 3 * time.Second,
			create: func(base string) (string, string, string) {
				body, _ := json.Marshal(struct {
					Amount   float64 `json:"amount"`
					Currency string  `json:"fiat_currency"`
					Success  string  `json:"url_success"`
				}{56.5, "EUR", "https://shop.example/?a=1&b=2"}) // & becomes \u0026
				return base + "/v2/invoice/new", string(body), string(body)
			},
			headers: http.Header{"Content-Type": {"application/json"}},
			status:  func(base, id string) (string, http.Header) { return base + "/v2/invoice/status?id=" + id, nil },
			read: func(_ int, body string) error {
				var invoice struct {
					ForeignID string  `json:"foreign_id"`
					Status    string  `json:"status"`
					Expired   string  `json:"expired_at"`
					Amount    float64 `json:"client_amount"`
					Currency  string  `json:"client_currency"`
					Addresses []struct {
						Address  string  `json:"address"`
						Expected float64 `json:"expected_amount"`
						Currency string  `json:"crypto_currency"`
						USD      float64 `json:"rate_usd"`
						EUR      float64 `json:"rate_eur"`
					} `json:"addresses"`
				}
				decoder := json.NewDecoder(strings.NewReader(body))
				decoder.DisallowUnknownFields()
				return decoder.Decode(&invoice)
			},
			amount: "56.5",
		},
		// A base address that ends with a slash, members in the order in which they were written, a
		// charset, an empty signature on status, and success recognised by the text "expired_at".
		"like Node": {
			suffix: "/",
			create: func(base string) (string, string, string) {
				body := `{"url_success":"https://shop.example/ok","fiat_currency":"EUR","allow_paid_expired":false,"amount":0.1}`
				return base + "/api/v2/invoice/new", body, body
			},
			headers: http.Header{"Content-Type": {"application/json;charset=UTF-8"}, "Accept": {"application/json, text/plain, */*"}},
			status: func(base, id string) (string, http.Header) {
				return base + "/api/v2/invoice/status?id=" + id, http.Header{api.HeaderKey: {familyKey}, api.HeaderSignature: {""}}
			},
			read: func(_ int, body string) error {
				if !strings.Contains(body, "expired_at") {
					return fmt.Errorf("an error: %s", body)
				}
				return nil
			},
			amount: "0.1",
		},
		// Signs compact JSON and sends spaced JSON; floats end with .0; text is escaped to ASCII.
		"like Python": {
			create: func(base string) (string, string, string) {
				return base + "/api/v2/invoice/new",
					`{"amount": 20.0, "fiat_currency": "EUR", "description": "Zwei Gl\u00e4ser: a, b", "disable_convert": true}`,
					`{"amount":20.0,"fiat_currency":"EUR","description":"Zwei Gl\u00e4ser: a, b","disable_convert":true}`
			},
			headers: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"python-requests/2.31.0"}, "Accept-Encoding": {"gzip, deflate"}},
			status:  plain,
			read: func(status int, body string) error {
				if status != http.StatusOK {
					return fmt.Errorf("answer %d: %s", status, body)
				}
				return json.Unmarshal([]byte(body), new(map[string]any))
			},
			amount: "20",
		},
		// Doubles with exponents, null for unset fields, a body that is sent after 100 Continue, and
		// a mapper that throws on an unknown property or on null in place of a number.
		"like Java": {
			create: func(base string) (string, string, string) {
				body := `{"fiat_currency":"EUR","amount":1.23456785E7,"url_success":null,"url_failure":null,"allow_paid_expired":false,"disable_convert":null}`
				return base + "/api/v2/invoice/new", body, body
			},
			headers: http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Expect": {"100-continue"}},
			status:  plain,
			read:    readStrictly,
			amount:  "12345678.5",
		},
	}
}

// readStrictly reads an answer as the strictest client does: every member of the specification is
// present and not null, and there is no other member.
func readStrictly(_ int, body string) error {
	var invoice map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &invoice); err != nil {
		return err
	}
	if err := checkMembers(invoice, "foreign_id", "status", "expired_at", "client_amount", "client_currency", "addresses"); err != nil {
		return err
	}
	var addresses []map[string]json.RawMessage
	if err := json.Unmarshal(invoice["addresses"], &addresses); err != nil || len(addresses) == 0 {
		return fmt.Errorf("addresses %s: %w", invoice["addresses"], err)
	}
	for _, a := range addresses {
		if err := checkMembers(a, "address", "expected_amount", "crypto_currency", "rate_usd", "rate_eur"); err != nil {
			return err
		}
	}
	return nil
}

// checkMembers returns an error if an object has not exactly the given members, or if one of them is null.
func checkMembers(object map[string]json.RawMessage, names ...string) error {
	for _, name := range names {
		if value, present := object[name]; !present || string(value) == "null" {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if len(object) != len(names) {
		return fmt.Errorf("%d members, want %d", len(object), len(names))
	}
	return nil
}

// Each public client creates an invoice, reads its status in every state, and recognises an error.
func TestClients_create_and_read_invoices(t *testing.T) {
	t.Parallel()
	for name, c := range familyClients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.config.Prices = merchant.NewPrices(nil, "100000000")
			f.restart()
			httpServer := httptest.NewServer(f.handler)
			t.Cleanup(httpServer.Close)
			base := httpServer.URL + "/shop" + c.suffix

			created := c.post(t, base)
			var inv api.Invoice
			decode(t, created, &inv)
			if !strings.Contains(created, `"client_amount":`+c.amount+`,`) || inv.Status != api.StatusCreated {
				t.Errorf("answer %s, want client_amount %s", created, c.amount)
			}
			for _, action := range []string{"", "exact", "confirm", "confirm"} {
				if action != "" {
					f.simulateAction(t, inv.ForeignID, `{"action":"`+action+`"}`)
				}
				c.readInvoice(t, base, inv.ForeignID)
				if f.resource(t, inv.ForeignID).Status == api.StatusPaid {
					break
				}
			}
			if got := f.resource(t, inv.ForeignID).Status; got != api.StatusPaid {
				t.Errorf("status %s, want paid", got)
			}
			c.checkFails(t, base, "nobody")
		})
	}
}

// post sends invoice/new and returns the answer's body.
func (c familyClient) post(t *testing.T, base string) string {
	t.Helper()
	url, sent, signed := c.create(base)
	headers := c.headers.Clone()
	headers.Set(api.HeaderKey, familyKey)
	headers.Set(api.HeaderSignature, familySign(signed))
	status, body := c.do(t, "POST", url, sent, headers)
	c.checkAccepted(t, status, body)
	return body
}

// readInvoice reads a status.
func (c familyClient) readInvoice(t *testing.T, base, id string) {
	t.Helper()
	url, headers := c.status(base, id)
	status, body := c.do(t, "GET", url, "", headers)
	c.checkAccepted(t, status, body)
}

// checkFails reads the status of an unknown invoice; the client must recognise the error.
func (c familyClient) checkFails(t *testing.T, base, id string) {
	t.Helper()
	url, headers := c.status(base, id)
	status, body := c.do(t, "GET", url, "", headers)
	if err := c.read(status, body); err == nil || status != http.StatusNotFound {
		t.Errorf("answer %d was read as an invoice, want status 404 and an error: %s", status, body)
	}
}

// checkAccepted checks that the client and the strictest client read an answer as an invoice.
func (c familyClient) checkAccepted(t *testing.T, status int, body string) {
	t.Helper()
	if err := c.read(status, body); err != nil || status != http.StatusOK {
		t.Fatalf("answer %d (%v): %s", status, err, body)
	}
	if err := readStrictly(status, body); err != nil {
		t.Errorf("%v in %s", err, body)
	}
}

// do sends a request and fails the test on a redirect, because clients do not follow one with a
// POST.
func (c familyClient) do(t *testing.T, method, url, body string, headers http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if headers != nil {
		r.Header = headers.Clone()
	}
	transport := &http.Transport{ExpectContinueTimeout: 5 * time.Second, DisableCompression: true}
	defer transport.CloseIdleConnections()
	timeout := c.timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	client := http.Client{Transport: transport, Timeout: timeout, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		t.Errorf("redirected to %s", r.URL)
		return http.ErrUseLastResponse
	}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// Amounts of the Java-like client that have too many decimals are refused with a message and never
// rounded.
func TestClients_small_doubles_are_refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	response := f.send(creation(message{key: "all", body: `{"amount":5.0E-4,"fiat_currency":"EUR"}`}))
	if text := checkRefused(t, response, 400, "invalid_amount"); text != "amount must have at most 2 decimals in EUR" {
		t.Errorf("message %q", text)
	}
}

// The signature covers bytes: only the spaces between tokens may differ.
func TestClients_bodies_are_not_canonicalised(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	sent := `{"fiat_currency": "EUR", "amount": 20.0, "order_id": "a b"}`
	for name, signed := range map[string]string{
		"sorted names":           `{"amount":20.0,"fiat_currency":"EUR","order_id":"a b"}`,
		"another spelling":       `{"fiat_currency":"EUR","amount":20,"order_id":"a b"}`,
		"an exponent":            `{"fiat_currency":"EUR","amount":2.00E1,"order_id":"a b"}`,
		"an escape":              `{"fiat_currency":"EUR","amount":20.0,"order_id":"a\u0020b"}`,
		"spaces within the text": `{"fiat_currency":"EUR","amount":20.0,"order_id":"ab"}`,
		"other spaces":           `{"fiat_currency":"EUR", "amount":20.0, "order_id":"a b"}`,
		"a trailing line feed":   sent + "\n",
		"nothing":                ``,
	} {
		t.Run(name, func(t *testing.T) {
			r := f.request(creation(message{key: "all", body: sent}))
			r.Header.Set(api.HeaderSignature, familySign(signed))
			checkRefused(t, f.serve(r), http.StatusForbidden, "bad_signature_header")
		})
	}
	r := f.request(creation(message{key: "all", body: `{"amount": 1`})) // does not compact
	r.Header.Set(api.HeaderSignature, familySign(`{"amount":1`))
	checkRefused(t, f.serve(r), http.StatusForbidden, "bad_signature_header")
}

// A client that waits with its body receives 100 Continue, unless the call is refused before its
// body is read. See RFC 9110, section 10.1.1.
func TestClients_expect_100_continue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	httpServer := httptest.NewServer(f.handler)
	t.Cleanup(httpServer.Close)
	for _, test := range []struct {
		name, target string
		length       int
		continues    bool
		status       int
	}{
		{"created", "/shop//api/v2/invoice/new", len(minimalBody), true, 200},
		{"too large", "/shop/api/v2/invoice/new", 64<<10 + 1, false, 413},
		{"not found", "/shop/api/v2/nothing", len(minimalBody), false, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			connection, err := net.Dial("tcp", httpServer.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\nx-processing-key: %s\r\nX-PROCESSING-SIGNATURE: %s\r\n\r\n",
				test.target, test.length, familyKey, strings.ToUpper(familySign(minimalBody)))
			answers := bufio.NewReader(connection)
			if test.continues {
				line, err := answers.ReadString('\n')
				if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
					t.Fatalf("read %q, %v; want 100 Continue", line, err)
				}
				if _, err := answers.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(connection, minimalBody)
			}
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body := read(t, response)
			if response.StatusCode != test.status {
				t.Fatalf("answer %d, want %d: %s", response.StatusCode, test.status, body)
			}
			if test.status != http.StatusOK {
				var e api.Error
				decode(t, body, &e)
				return
			}
			// Links use the configured address, not the caller's Host header (C65).
			if location := response.Header.Get("Location"); !strings.HasPrefix(location, "https://pay.example/shop/invoice/") {
				t.Errorf("Location = %q", location)
			}
		})
	}
}

// Headers that a proxy would set are ignored when the caller is not a trusted proxy (C65).
func TestClients_forwarded_headers_are_ignored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.limit(httpapi.Limits{PerAddress: 1})
	refused := 0
	for i := range 100 {
		address := fmt.Sprintf("192.0.2.%d", i)
		response := f.send(message{method: "GET", target: "/api/v2/invoice/status?id=nobody", header: http.Header{
			"X-Forwarded-For": {address}, "X-Real-Ip": {address}, "Forwarded": {"for=" + address},
			"X-Forwarded-Proto": {"http"}, "X-Forwarded-Host": {"evil.example"},
		}})
		if response.StatusCode == http.StatusTooManyRequests {
			refused++
		}
		if text := read(t, response); strings.Contains(text, "evil") {
			t.Errorf("answer %s", text)
		}
	}
	if refused != 98 { // a burst of two
		t.Errorf("%d of 100 calls were refused, want 98", refused)
	}
}
