package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/merchant"
)

// A merchant can change the key without interruption, because both keys work for some time. The
// answers about an invoice do not depend on the key that created it.
func TestKeys_can_be_changed_without_interruption(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	addKey := func(id string) {
		f.merchants.keys[publicKey(id)] = merchant.Key{
			ID: id, MerchantID: "shop", Mode: merchant.Test, Scopes: merchant.AllScopes, Key: publicKey(id), Secret: "secret of " + id,
		}
	}
	succeed := func(key string, m message) string {
		t.Helper()
		m.key = key
		response := f.send(m)
		body := read(t, response)
		if response.StatusCode != http.StatusOK {
			t.Fatalf("key %s: answer %d: %s", key, response.StatusCode, body)
		}
		return body
	}
	resource := func(id string) message {
		return message{method: "GET", target: "/api/v2/invoices/" + id, signRequest: true}
	}
	status := func(id string) string {
		return succeed("", message{method: "GET", target: "/api/v2/invoice/status?id=" + id})
	}

	addKey("before")
	created := succeed("before", keyedMessage("order-1", minimalBody))
	first := f.create(t, "before", minimalBody)

	addKey("after")
	second := f.create(t, "after", minimalBody)
	third := f.create(t, "before", minimalBody) // the old key still works
	if repeated := succeed("after", keyedMessage("order-1", minimalBody)); repeated != created {
		t.Errorf("answer to an order repeated with the new key = %s, want %s", repeated, created)
	}
	statusBefore, resourceBefore := status(first), succeed("before", resource(first))

	old := f.merchants.keys[publicKey("before")]
	old.RevokedAt = noon
	f.merchants.keys[publicKey("before")] = old
	for _, m := range []message{creation(message{}), creation(message{signRequest: true}), resource(first)} {
		m.key = "before"
		if text := checkRefused(t, f.send(m), http.StatusForbidden, "bad_key_header"); text != "Bad key header" {
			t.Errorf("message %q", text)
		}
	}
	if repeated := succeed("after", keyedMessage("order-1", minimalBody)); repeated != created {
		t.Errorf("answer to an order repeated after the revocation = %s, want %s", repeated, created)
	}
	if got := status(first); got != statusBefore {
		t.Errorf("status after the revocation = %s, want %s", got, statusBefore)
	}
	if got := succeed("after", resource(first)); got != resourceBefore {
		t.Errorf("resource read with the new key = %s, want %s", got, resourceBefore)
	}
	if diff := cmp.Diff(f.payAndReadEvents(t, first), f.payAndReadEvents(t, second)); diff != "" {
		t.Errorf("events of the invoices of the old and the new key differ:\n%s", diff)
	}
	if !strings.Contains(status(third), `"created"`) {
		t.Errorf("status of an invoice of the revoked key = %s, want created", status(third))
	}
}

// payAndReadEvents pays an invoice and returns the bodies of its events. The identifiers of the invoice are
// replaced by names.
func (f *fixture) payAndReadEvents(t *testing.T, id string) []string {
	t.Helper()
	f.simulateAction(t, id, `{"action":"exact"}`)
	paid := f.simulateAction(t, id, `{"action":"confirm"}`)
	var bodies []string
	for _, e := range f.storage.Events() {
		if body := string(e.Body); strings.Contains(body, id) {
			for identifier, name := range map[string]string{id: "ID", e.ID: "EVENT", paid.PaidTx: "TX", paid.Payments[0].Address: "ADDRESS"} {
				body = strings.ReplaceAll(body, identifier, name)
			}
			bodies = append(bodies, body)
		}
	}
	return bodies
}
