package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
)

// terminalCall is a call about terminals.
func terminalCall(key, method, path, body string) message {
	return message{method: method, target: "/api/v2/terminals" + path, key: key, signRequest: true, body: body}
}

// createTerminal creates a terminal.
func (f *fixture) createTerminal(t *testing.T, key, body string) (created api.NewTerminal) {
	t.Helper()
	response := f.send(terminalCall(key, "POST", "", body))
	if text := read(t, response); response.StatusCode != http.StatusCreated || json.Unmarshal([]byte(text), &created) != nil {
		t.Fatalf("creating answers %d: %s", response.StatusCode, text)
	}
	return created
}

// listTerminals returns the terminals that a key sees.
func (f *fixture) listTerminals(t *testing.T, key string) (list api.TerminalList) {
	t.Helper()
	response := f.send(terminalCall(key, "GET", "", ""))
	text := read(t, response)
	if err := json.Unmarshal([]byte(text), &list); err != nil || response.StatusCode != http.StatusOK || strings.Contains(text, "/pos/") {
		t.Fatalf("the list answers %d, error %v: %s", response.StatusCode, err, text)
	}
	return list
}

func TestTerminals_are_created_listed_and_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	bar := f.createTerminal(t, "all", `{"name":"Bar","fiat_currency":"EUR","payment_methods":["BTC"]}`)
	secret, ok := strings.CutPrefix(bar.URL, "https://pay.example/shop/pos/")
	found, err := f.config.Terminals.Find(t.Context(), secret)
	if !ok || err != nil || found.ID != bar.ID || found.Name != "Bar" {
		t.Fatalf("the link %s leads to %+v, error %v", bar.URL, found, err)
	}
	want := api.Terminal{ID: bar.ID, Mode: bar.Mode, Name: "Bar", FiatCurrency: "EUR", PaymentMethods: []string{"BTC"}, CreatedAt: bar.CreatedAt}
	if diff := cmp.Diff(f.listTerminals(t, "all").Terminals, []api.Terminal{want}); diff != "" {
		t.Errorf("listed (-got +want):\n%s", diff)
	}
	var one api.Terminal
	if text := read(t, f.send(terminalCall("all", "GET", "/"+bar.ID, ""))); json.Unmarshal([]byte(text), &one) != nil || !cmp.Equal(one, want) {
		t.Errorf("read %s, want %+v", text, want)
	}
	for _, other := range []string{"live", "other"} {
		if got := f.listTerminals(t, other).Terminals; len(got) != 0 {
			t.Errorf("the key %s sees %+v", other, got)
		}
		checkRefused(t, f.send(terminalCall(other, "GET", "/"+bar.ID, "")), http.StatusNotFound, "terminal_not_found")
		checkRefused(t, f.send(terminalCall(other, "DELETE", "/"+bar.ID, "")), http.StatusNotFound, "terminal_not_found")
	}
	response := f.send(terminalCall("all", "DELETE", "/"+bar.ID, ""))
	if text := read(t, response); response.StatusCode != http.StatusNoContent || text != "" {
		t.Errorf("removing answers %d %q", response.StatusCode, text)
	}
	checkRefused(t, f.send(terminalCall("all", "DELETE", "/"+bar.ID, "")), http.StatusNotFound, "terminal_not_found")
	if got := f.listTerminals(t, "all").Terminals; len(got) != 0 {
		t.Errorf("after the removal: %+v", got)
	}
}

func TestTerminals_refuse_invalid_terminals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.useStorage()
	for body, code := range map[string]string{
		`{"name":"a\nb","fiat_currency":"EUR"}`:                                "invalid_name",
		`{"name":"Bar"}`:                                                       "invalid_fiat_currency",
		`{"name":"Bar","fiat_currency":"XXX"}`:                                 "invalid_fiat_currency",
		`{"name":"Bar","fiat_currency":"EUR","payment_methods":["DOGE"]}`:      "invalid_payment_methods",
		`{"name":"Bar","fiat_currency":"EUR","payment_methods":["BTC","BTC"]}`: "invalid_payment_methods",
		`{"name":"Bar","fiat_currency":"EUR","colour":"red"}`:                  "unknown_field",
	} {
		checkRefused(t, f.send(terminalCall("all", "POST", "", body)), http.StatusBadRequest, code)
	}
	if got := f.listTerminals(t, "all").Terminals; len(got) != 0 {
		t.Errorf("refused requests created %+v", got)
	}
}
