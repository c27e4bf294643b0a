package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// allowedMethods returns the methods in the Allow header of a response, sorted and separated by spaces.
func allowedMethods(r *http.Response) string {
	methods := strings.Split(r.Header.Get("Allow"), ", ")
	slices.Sort(methods)
	return strings.Join(methods, " ")
}

func TestMethods_of_every_path(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for path, want := range map[string]string{
		"/api/v2/invoice/new":                "OPTIONS POST",
		"/v2/invoice/new":                    "OPTIONS POST",
		"//api//v2/invoice/new":              "OPTIONS POST",
		"/api/v2/invoice/status":             "GET HEAD OPTIONS",
		"/v2/invoice/status":                 "GET HEAD OPTIONS",
		"/api/v2/invoices/x":                 "GET HEAD OPTIONS",
		"/api/v2/invoices":                   "GET HEAD OPTIONS",
		"/api/v2/invoices/export":            "GET HEAD OPTIONS",
		"/api/v2/invoices/x/requote":         "OPTIONS POST",
		"/api/v2/invoices/x/payment-request": "OPTIONS POST",
		"/api/v2/invoices/x/refund-address":  "OPTIONS POST",
		"/api/v2/invoices/x/cancel":          "OPTIONS POST",
		"/api/v2/invoices/x/accept":          "OPTIONS POST",
		"/api/v2/test/invoices/x/simulate":   "OPTIONS POST",
		"/api//v2/test/invoices/x/simulate":  "OPTIONS POST",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "BREW", "get", "post"} {
			if slices.Contains(strings.Fields(want), method) {
				continue
			}
			response := f.send(message{method: method, target: path})
			checkRefused(t, response, http.StatusMethodNotAllowed, "method_not_allowed")
			if got := allowedMethods(response); got != want {
				t.Errorf("%s %s: Allow = %q, want %q", method, path, got, want)
			}
		}
		response := f.send(message{method: "OPTIONS", target: path})
		if got := allowedMethods(response); response.StatusCode != http.StatusNoContent || got != want || read(t, response) != "" {
			t.Errorf("OPTIONS %s: answer %d, Allow = %q, want 204 and %q", path, response.StatusCode, got, want)
		}
	}
	checkRefused(t, f.send(message{method: "OPTIONS", target: "/api/v2/nothing"}), http.StatusNotFound, "not_found")
	checkRefused(t, f.send(message{method: "BREW", target: "/api/v2/nothing"}), http.StatusNotFound, "not_found")
}

func TestMethods_HEAD_is_GET_without_the_body(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	f.simulateAction(t, id, `{"action":"exact"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	client := server.Client()
	client.Timeout = 10 * time.Second
	request := func(method, target, key string) (http.Header, int, string) {
		t.Helper()
		r := f.request(message{method: method, target: target, key: key, signRequest: true})
		send, err := http.NewRequest(method, server.URL+r.RequestURI, nil)
		if err != nil {
			t.Fatal(err)
		}
		send.Header = r.Header
		response, err := client.Do(send)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		response.Header.Del("Date")
		return response.Header, response.StatusCode, string(body)
	}
	for _, test := range []struct {
		target, key string
		status      int
	}{
		{"/api/v2/invoice/status?id=" + id, "", 200},
		{"//v2/invoice/status?id=" + id, "", 200},
		{"/api/v2/invoice/status?id=nobody", "", 404},
		{"/api/v2/invoice/new", "", 405},
		{"/api/v2/nothing", "", 404},
		{"/api/v2/invoices/" + id, "read", 200},
		{"/api/v2/invoices/" + id, "create", 403},
		{"/api/v2/invoices/" + id, "", 403},
	} {
		getHeader, status, body := request("GET", test.target, test.key)
		headHeader, headStatus, headBody := request("HEAD", test.target, test.key)
		if status != test.status || headStatus != test.status || headBody != "" {
			t.Errorf("%s: GET answered %d, HEAD %d with body %q; want %d", test.target, status, headStatus, headBody, test.status)
		}
		if length := getHeader.Get("Content-Length"); length != strconv.Itoa(len(body)) && length != "" {
			t.Errorf("%s: Content-Length %s of %d bytes", test.target, length, len(body))
		}
		getHeader.Del("Content-Length")
		headHeader.Del("Content-Length")
		if diff := cmp.Diff(headHeader, getHeader); diff != "" {
			t.Errorf("%s: headers of HEAD differ from GET (-HEAD +GET):\n%s", test.target, diff)
		}
	}
}
