package greenfield_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/merchant"
)

// storeCalls are all calls with a store in their path.
var storeCalls = []struct{ method, path, body string }{
	{"GET", "", ""}, {"GET", "/payment-methods", ""}, {"GET", "/payment-methods/OnChain", ""}, {"GET", "/payment-methods/LightningNetwork", ""},
	{"POST", "/invoices", order}, {"GET", "/invoices", ""}, {"GET", "/invoices?orderId=1", ""}, {"POST", "/pull-payments", `{"name":"order 1","amount":"1","currency":"EUR"}`},
	{"GET", "/invoices/INVOICE", ""}, {"PUT", "/invoices/INVOICE", `{"metadata":{}}`}, {"DELETE", "/invoices/INVOICE", ""}, {"GET", "/invoices/INVOICE/payment-methods", ""},
	{"POST", "/invoices/INVOICE/status", `{"status":"Invalid"}`}, {"POST", "/invoices/INVOICE/refund", `{"refundVariant":"RateThen"}`},
	{"POST", "/webhooks", `{"url":"http://127.0.0.1:1/"}`}, {"GET", "/webhooks", ""}, {"GET", "/webhooks/WEBHOOK", ""}, {"PUT", "/webhooks/WEBHOOK", `{"url":"http://127.0.0.1:1/"}`}, {"DELETE", "/webhooks/WEBHOOK", ""},
}

// The calls of a store answer the key of another shop or mode as if the store did not exist, and change nothing. Calls
// without the store in the path answer 404.
func TestCalls_of_another_store_are_refused(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := f.create(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":"1"}}`).ID
		f.confirm(f.pay(id, whole))
		hook := call[registered](f, "POST", f.store("/webhooks"), `{"url":"http://127.0.0.1:1/hook"}`)
		other := f.createShop("Bakery")
		fill := strings.NewReplacer("INVOICE", id, "WEBHOOK", hook.ID)
		for name, token := range map[string]string{
			"another shop": f.newToken(other, merchant.Test, "other", merchant.ScopeSettleInvoices), "the live store": f.newToken(f.shop, merchant.Live, "other", merchant.ScopeSettleInvoices),
		} {
			for _, c := range storeCalls {
				path := fill.Replace(c.path)
				foreign, unknown := f.send(c.method, f.store(path), token, c.body), f.send(c.method, "/stores/m_nothing"+path, token, c.body)
				if foreign.status != http.StatusForbidden || !strings.HasPrefix(foreign.body, `{"code":"missing-permission"`) || foreign.body != unknown.body || unknown.status != foreign.status {
					t.Errorf("%s: %s %s: answer %d: %s, for an unknown store %d: %s, want 403 twice", name, c.method, path, foreign.status, foreign.body, unknown.status, unknown.body)
				}
				if !strings.HasPrefix(path, "/invoices/") && !strings.HasPrefix(path, "/webhooks/") {
					continue
				}
				if got := f.send(c.method, path, token, c.body); got.status != http.StatusNotFound {
					t.Errorf("%s: %s %s: answer %d: %s, want 404", name, c.method, path, got.status, got.body)
				}
			}
		}
		if got := call[view](f, "GET", "/invoices/"+id, ""); got.Archived || got.Status != "Settled" || string(got.Metadata) != `{"orderId":"1"}` || len(f.invoice(id).Refunds) != 0 {
			t.Errorf("the invoice was changed: %+v", got)
		}
		if e := f.endpoint(hook.ID); e.URL != hook.URL || !e.ArchivedAt.IsZero() {
			t.Errorf("the webhook was changed: %+v", e)
		}
	})
}

// The token and the secret of a webhook are only in the answer that creates them: not in another answer, the log or the audit
// log.
func TestSecrets_are_shown_once(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		const chosen = "a-secret-that-the-plug-in-chose"
		shop, hook := newReceiver(t, f)
		own := call[registered](f, "POST", f.store("/webhooks"), `{"url":"`+shop.URL+`","secret":"`+chosen+`","authorizedEvents":{"everything":false,"specificEvents":["InvoiceInvalid"]}}`)
		shop.answer(http.StatusInternalServerError)
		id := f.create(order).ID
		f.deliver()
		var texts []string
		for _, c := range []struct{ method, path, body string }{
			{"GET", f.store("/webhooks"), ""}, {"GET", "/webhooks/" + own.ID, ""}, {"GET", "/webhooks/" + hook.ID, ""}, {"GET", f.store(""), ""}, {"GET", "/invoices/" + id, ""},
			{"PUT", "/webhooks/" + own.ID, `{"url":"` + shop.URL + `","secret":"` + chosen + `"}`}, {"DELETE", "/webhooks/" + own.ID, ""}, {"POST", f.store("/webhooks"), `{"url":"x","secret":"` + chosen + `"}`},
		} {
			a := f.send(c.method, c.path, f.token, c.body)
			texts = append(texts, a.body)
		}
		f.send("GET", "/server/info", f.token+"A", "")
		entries, err := f.storage.AuditLog(t.Context(), 0, 1000)
		if err != nil || len(entries) == 0 {
			t.Fatalf("got %d entries of the audit log, error %v, want some", len(entries), err)
		}
		for _, e := range entries {
			texts = append(texts, fmt.Sprintf("%+v", e))
		}
		texts = append(texts, f.log.String())
		for _, text := range texts {
			for name, secret := range map[string]string{"token": f.token[32:], "generated secret": hook.Secret, "chosen secret": chosen} {
				if strings.Contains(text, secret) {
					t.Errorf("the %s is in %q", name, text)
				}
			}
		}
	})
}
