package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/merchant"
	"chequer/internal/webhook"
)

const hook = "https://shop.example/hook?token=hush"

// webhook creates an endpoint for all test events of a shop.
func (f *fixture) webhook(shopID string) merchant.Endpoint {
	f.t.Helper()
	e, err := f.endpoints.Create(f.t.Context(), shopID, merchant.Test, hook, nil)
	f.must(err)
	return e
}

// reloadEndpoint returns an endpoint as it is stored.
func (f *fixture) reloadEndpoint(e merchant.Endpoint) merchant.Endpoint {
	f.t.Helper()
	stored, err := f.endpoints.Endpoint(f.t.Context(), e.MerchantID, e.ID)
	f.must(err)
	return stored
}

// attempt makes an attempt at the due deliveries of an endpoint, with a status, or a fault if it is 0.
func (f *fixture) attempt(e merchant.Endpoint, status int) {
	f.t.Helper()
	ctx, now := f.t.Context(), f.clock.Now()
	claims, err := f.storage.ClaimDeliveries(ctx, e.ID, now, now.Add(-20*time.Minute), now.Add(15*time.Second), 100)
	f.must(err)
	for _, c := range claims {
		attempt, outcome := merchant.Attempt{At: now, Duration: 88 * time.Millisecond, Status: status, Answer: "the answer of another server"}, webhook.Outcome{State: merchant.DeliveryDone}
		if status == 0 {
			attempt.Fault = "connection refused"
		}
		if !attempt.Accepted() {
			outcome = webhook.Outcome{State: merchant.DeliveryPending, NextAttemptAt: now.Add(time.Minute)}
		}
		f.must(f.storage.SaveAttempt(ctx, c, attempt, outcome))
	}
}

// A developer creates a webhook: the secret is shown in the answer to the form, and on no later page.
func TestWebhooks_show_their_secret_once(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Emil", account.Developer)
	b.get("/desk/shop/webhooks").want(http.StatusOK, "There is no webhook yet.")
	before := len(f.actions())
	answer := b.send("/desk/shop/webhooks", "url", " "+hook+" ", "mode", "live", "event", "invoice.paid", "event", "invoice.expired").want(http.StatusOK, "The webhook was created")
	all, err := f.endpoints.All(t.Context(), shop)
	f.must(err)
	if len(all) != 1 || all[0].URL != hook || all[0].Mode != merchant.Live || strings.Join(all[0].Events, " ") != "invoice.paid invoice.expired" {
		t.Fatalf("stored endpoints %+v", all)
	}
	e, at := all[0], "/desk/shop/webhooks/"+all[0].ID
	if got := answer.find("#secret-0").Text() + " " + answer.find("#secret-1").Text(); got != e.Key+" "+e.Secret {
		t.Errorf("the page shows %q, want the key and its secret", got)
	}
	if got := f.actions()[before:]; len(got) != 1 || got[0] != "Emil: endpoint.created" {
		t.Errorf("the audit log has %q, want the endpoint by Emil", got)
	}
	if list := b.get("/desk/shop/webhooks").want(http.StatusOK, "shop.example/hook").text(); strings.Contains(list, "hush") {
		t.Errorf("the list shows the query of the URL: %s", list)
	}
	b.get(at).want(http.StatusOK, hook).want(http.StatusOK, "invoice.paid, invoice.expired")
	for _, path := range []string{"/desk/shop/webhooks", at, at + "/edit", at + "/rotate", "/desk/shop/log"} {
		if page := b.get(path); page.status != http.StatusOK || strings.Contains(page.body, e.Secret) {
			t.Errorf("%s answers %d, or shows the secret", path, page.status)
		}
	}
}

// A form that breaks a rule keeps its values, and names the field.
func TestWebhooks_refused_form(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	e := f.webhook(shop)
	for path, fields := range map[string]string{"/desk/shop/webhooks": "#create", "/desk/shop/webhooks/" + e.ID + "/edit": "#edit"} {
		b.send(path, "version", e.Revision(), "url", "https://shop.example/\xff").want(http.StatusUnprocessableEntity, "The URL must be")
		page := b.send(path, "version", e.Revision(), "url", "ftp://shop.example/", "mode", "live", "event", "invoice.paid").want(http.StatusUnprocessableEntity, "The URL must be")
		form := page.find(fields)
		if got := form.Find("#url"); got.AttrOr("value", "") != "ftp://shop.example/" || got.AttrOr("aria-invalid", "") != "true" {
			t.Errorf("%s: the field has the value %q", path, got.AttrOr("value", ""))
		}
		if got := form.Find("input[name=event][checked]"); got.Length() != 1 || got.AttrOr("value", "") != "invoice.paid" {
			t.Errorf("%s: %d events are chosen, want invoice.paid", path, got.Length())
		}
		refused := b.send(path, "version", "seen", "url", hook, "event", "invoice.payed").want(http.StatusUnprocessableEntity, `The events do not include "invoice.payed".`)
		if got := refused.find("#edit input[name=version]"); got.Length() == 1 && got.AttrOr("value", "") != "seen" {
			t.Errorf("the refused form has the version %q, want the one that was seen", got.AttrOr("value", ""))
		}
		b.send(path, "version", e.Revision()).want(http.StatusUnprocessableEntity, "The URL must be")
	}
	if got := f.reloadEndpoint(e); got.URL != hook || len(got.Events) != 0 {
		t.Errorf("a refused form changed the endpoint to %+v", got)
	}
	for i := 1; i < merchant.MaxEndpoints; i++ {
		f.webhook(shop)
	}
	b.send("/desk/shop/webhooks", "url", hook).want(http.StatusUnprocessableEntity, "The shop has 100 webhooks, the most that are possible.")
}

// Every change of a webhook is made after a form, and the log names its actor. A change that the state does not
// allow answers with the state.
func TestWebhooks_change_only_as_their_state_allows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	e := f.webhook(shop)
	at := "/desk/shop/webhooks/" + e.ID
	before := len(f.actions())

	b.send(at + "/pause").wantRedirect(at + "?done=paused")
	b.get(at+"?done=paused").want(http.StatusOK, "The webhook is paused. Its events wait.").want(http.StatusOK, "Resume")
	b.send(at+"/test").want(http.StatusConflict, "The webhook does not allow this now.")
	b.send(at + "/resume").wantRedirect(at + "?done=resumed")

	version := b.get(at+"/edit").want(http.StatusOK, "Change the webhook").find("#edit input[name=version]").AttrOr("value", "")
	b.send(at+"/edit", "version", version, "url", "https://shop.example/new", "event", "invoice.paid").wantRedirect(at + "?done=changed")
	conflict := b.send(at+"/edit", "version", version, "url", "https://shop.example/late", "event", "invoice.paid").want(http.StatusConflict, "https://shop.example/new")
	if got := conflict.find("#url").AttrOr("value", ""); got != "https://shop.example/late" || conflict.find("#event-error").Length() != 0 {
		t.Errorf("the form after a conflict has the URL %q, or marks equal events", got)
	}
	if got := f.reloadEndpoint(e); got.URL != "https://shop.example/new" || strings.Join(got.Events, "") != "invoice.paid" || got.Paused {
		t.Errorf("stored %+v", got)
	}

	b.send(at+"/finish").want(http.StatusConflict, "The webhook does not allow this now.")
	b.get(at+"/finish").want(http.StatusConflict, "The webhook does not allow this now.")
	b.get(at+"/rotate").want(http.StatusOK, "Rotate the secret?")
	answer := b.send(at+"/rotate").want(http.StatusOK, "The next secret")
	next := f.reloadEndpoint(e)
	if got := answer.find("#secret-0").Text() + " " + answer.find("#secret-1").Text(); !next.Rotating() || got != next.NextKey+" "+next.NextSecret {
		t.Errorf("the page shows %q, want the next key and its secret", got)
	}
	if again := b.send(at+"/rotate").want(http.StatusConflict, "The webhook does not allow this now."); strings.Contains(again.body, next.NextSecret) {
		t.Error("the second rotation shows the secret")
	}
	b.get(at).want(http.StatusOK, "Next key "+next.NextKey)
	b.get(at+"/finish").want(http.StatusOK, "A shop that still has the old secret refuses every event.")
	b.send(at + "/finish").wantRedirect(at + "?done=finished")
	if got := f.reloadEndpoint(e); got.Rotating() || got.Secret != next.NextSecret {
		t.Error("the rotation is not finished")
	}

	b.get(at+"/remove").want(http.StatusOK, "Remove shop.example/new?").want(http.StatusOK, "Events that wait are given up.")
	b.send(at + "/remove").wantRedirect("/desk/shop/webhooks?done=webhook-removed")
	b.get("/desk/shop/webhooks?done=webhook-removed").want(http.StatusOK, "The webhook was removed.").want(http.StatusOK, "There is no webhook yet.")
	b.get(at).want(http.StatusNotFound, "Not found")
	b.send(at+"/remove").want(http.StatusNotFound, "Not found")
	want := "endpoint.changed endpoint.changed endpoint.changed endpoint.changed endpoint.changed endpoint.removed"
	if got := strings.ReplaceAll(strings.Join(f.actions()[before:], " "), "Maren: ", ""); got != want {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// Only a shop plug-in changes its webhook. The desk shows it and removes it.
func TestWebhooks_of_a_plugin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Emil", account.Developer)
	e, err := f.endpoints.CreateForPlugin(t.Context(), shop, merchant.Test, merchant.PluginEndpoint{URL: hook, Events: []string{"InvoiceSettled"}})
	f.must(err)
	at := "/desk/shop/webhooks/" + e.ID
	page := b.get(at).want(http.StatusOK, "InvoiceSettled")
	for _, link := range []string{at + "/edit", at + "/rotate"} {
		if page.find(`a[href="`+link+`"]`).Length() > 0 {
			t.Errorf("the page links to %s", link)
		}
		b.get(link).want(http.StatusConflict, "The webhook does not allow this now.")
	}
	b.send(at+"/rotate").want(http.StatusConflict, "The webhook does not allow this now.")
	b.send(at + "/remove")
	if all, err := f.endpoints.All(t.Context(), shop); err != nil || len(all) != 0 {
		t.Errorf("got %+v, error %v, want none", all, err)
	}
}

// A developer registers a webhook for a plug-in that registers none. Only its secret is shown: the plug-in knows no key.
func TestWebhooks_for_a_plugin_have_its_messages(t *testing.T) {
	t.Parallel()
	for receiver, want := range map[string][]string{"plugin": nil, "plugin-paid": {"InvoiceSettled"}} {
		f := newFixture(t)
		f.owner()
		b := f.as("Emil", account.Developer)
		b.get("/desk/shop/webhooks").want(http.StatusOK, "Receiver")
		b.send("/desk/shop/webhooks", "url", hook, "mode", "test", "receiver", receiver, "event", "invoice.paid").
			want(http.StatusUnprocessableEntity, "must be empty for a shop plug-in")
		page := b.send("/desk/shop/webhooks", "url", hook, "mode", "test", "receiver", receiver).want(http.StatusOK, "enter it in the plug-in")
		all, err := f.endpoints.All(t.Context(), shop)
		if err != nil || len(all) != 1 || !all[0].Plugin || all[0].Mode != merchant.Test || all[0].URL != hook || !slices.Equal(all[0].Events, want) {
			t.Errorf("%s: got %+v, error %v, want one endpoint of a plug-in with the messages %v", receiver, all, err, want)
			continue
		}
		if !strings.Contains(page.body, all[0].Secret) || strings.Contains(page.body, all[0].Key) {
			t.Errorf("%s: the page lacks the secret, or shows the key", receiver)
		}
	}
}

// Webhooks and deliveries of another shop are not found, nor are unknown changes.
func TestWebhooks_of_another_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	own, foreign := f.webhook(shop), f.webhook("other")
	f.testInvoices.sell("other", "1", "5.00")
	deliveries, err := f.endpoints.Deliveries(t.Context(), foreign, "", 1<<60, 1)
	f.must(err)
	before := len(f.actions())
	event := deliveries[0].EventID
	for _, path := range []string{"/" + foreign.ID, "/" + foreign.ID + "/edit", "/" + foreign.ID + "/remove", "/" + own.ID + "/nothing", "/" + foreign.ID + "/deliveries/" + event, "/" + own.ID + "/deliveries/" + event} {
		b.get("/desk/shop/webhooks"+path).want(http.StatusNotFound, "Not found")
		if !strings.HasSuffix(path, foreign.ID) {
			b.send("/desk/shop/webhooks"+path, "url", hook).want(http.StatusNotFound, "Not found")
		}
	}
	for _, change := range []string{"pause", "rotate", "test", "remove"} {
		b.send("/desk/shop/webhooks/"+foreign.ID+"/"+change).want(http.StatusNotFound, "Not found")
	}
	if got := f.actions(); len(got) != before {
		t.Errorf("the audit log has %q, want no new entry", got[before:])
	}
}

// The page of a webhook lists its deliveries by state, in several pages. The page of a delivery lists its attempts, and
// sends it again.
func TestWebhooks_list_their_deliveries_and_send_them_again(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	e := f.webhook(shop)
	at := "/desk/shop/webhooks/" + e.ID
	b.get(at).want(http.StatusOK, "Nothing sent yet").want(http.StatusOK, "There is no delivery here.")
	failing := f.testInvoices.sell(shop, "1042", "80.00")
	f.attempt(e, 0)
	b.get("/desk/shop/webhooks").want(http.StatusOK, "Failing")
	page := b.get(at).want(http.StatusOK, "invoice.created Waiting connection refused 1 attempt")
	link := page.find(".rows a").AttrOr("href", "")
	detail := b.get(link).want(http.StatusOK, "1. connection refused").want(http.StatusOK, "88 ms")
	if strings.Contains(detail.body, "the answer of another server") {
		t.Error("the page shows the response")
	}
	if n := detail.find(fmt.Sprintf(`a[href="/desk/shop/payments/%s"]`, failing.ID)).Length(); n != 1 {
		t.Errorf("the page has %d links to the invoice, want 1", n)
	}
	before := len(f.actions())
	b.send(link).wantRedirect(link + "?done=resent")
	if got := f.actions()[before:]; len(got) != 1 || got[0] != "Maren: endpoint.resent" {
		t.Errorf("the audit log has %q, want one endpoint.resent by Maren", got)
	}
	f.attempt(e, 204)
	b.get(link).want(http.StatusOK, "Delivered").want(http.StatusOK, "2. Status 204").want(http.StatusOK, "Send again")
	b.get("/desk/shop/webhooks").want(http.StatusOK, "Delivering")

	for i := range 30 {
		f.testInvoices.sell(shop, fmt.Sprint(i), "1.00")
	}
	first := b.get(at+"?state=pending").want(http.StatusOK, "Older")
	second := b.get(first.find(".pager a").AttrOr("href", ""))
	if got := [2]int{first.find(".rows tbody tr").Length(), second.find(".rows tbody tr").Length()}; got != [2]int{25, 5} {
		t.Errorf("the pages have %v deliveries, want 25 and 5", got)
	}
	if got := b.get(at + "?state=delivered").find(".rows tbody tr").Length(); got != 1 {
		t.Errorf("%d deliveries are delivered, want 1", got)
	}
	b.get(at+"?state=failed&below=x").want(http.StatusOK, "There is no delivery here.")

	b.send(at + "/retry").wantRedirect(at + "?count=0&done=retried")
	b.get(at+"?count=0&done=retried").want(http.StatusOK, "0 waiting events are tried again now.")
	f.attempt(e, 500)
	b.send(at + "/retry").wantRedirect(at + "?count=30&done=retried")
	b.get(at+"?count=30&done=retried").want(http.StatusOK, "30 waiting events are tried again now.").want(http.StatusOK, "Retry all now")
	f.attempt(e, 204)

	answer := b.send(at + "/test")
	test, _, _ := strings.Cut(answer.header.Get("Location"), "?")
	b.get(test+"?done=tested").want(http.StatusOK, "A test event is on its way.").want(http.StatusOK, "endpoint.test").want(http.StatusOK, "The event was not sent yet.")
	f.attempt(e, 500)
	b.get(test).want(http.StatusOK, "1. Status 500")
	b.send(at + "/pause").wantRedirect(at + "?done=paused")
	b.send(at + "/retry").want(http.StatusConflict)
	b.get(test).want(http.StatusOK, "The webhook is paused. The event is sent after it is resumed.")
}

// The page of a payment lists the deliveries of its events, and sends one of them again.
func TestPayment_lists_its_deliveries_and_sends_them_again(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b, reader := f.as("Tove", account.Manager), f.as("Runa", account.Bookkeeper)
	inv := f.testInvoices.sell(shop, "1042", "80.00")
	at := "/desk/shop/payments/" + inv.ID
	if text := b.get(at).want(http.StatusOK, "€80.00").text(); strings.Contains(text, "Deliveries") {
		t.Errorf("the page without webhooks lists deliveries: %s", text)
	}
	e := f.webhook(shop)
	live, err := f.endpoints.Create(t.Context(), shop, merchant.Live, hook, nil)
	f.must(err)
	inv, other := f.testInvoices.sell(shop, "1043", "80.00"), f.testInvoices.sell(shop, "1044", "80.00")
	at = "/desk/shop/payments/" + inv.ID
	f.attempt(e, 503)
	page := b.get(at).want(http.StatusOK, "invoice.created Waiting Status 503 shop.example")
	if strings.Contains(page.body, "hush") || strings.Contains(page.body, "shop.example/hook") {
		t.Error("the page shows the path or the query of the URL to a manager")
	}
	form := page.find(`form[action="` + at + `/resend"]`)
	event := form.Find("input[name=event]").AttrOr("value", "")
	if form.Length() != 1 || form.Find("input[name=endpoint]").AttrOr("value", "") != e.ID {
		t.Fatalf("the page has %d forms that send an event again: %s", form.Length(), page.text())
	}
	if n := page.find(`a[href*="/webhooks/"]`).Length(); n != 0 {
		t.Errorf("the page has %d links to a place that refuses a manager", n)
	}
	if n := reader.get(at).want(http.StatusOK, "Status 503").find(`form[action$="/resend"]`).Length(); n != 0 {
		t.Errorf("the page of a bookkeeper has %d forms that the desk refuses", n)
	}
	f.testInvoices.pay(inv, "0.001")
	f.testInvoices.step()
	const waits = "Waits for the earlier event invoice.created of the invoice. Its next attempt is at 12:01."
	paid := b.get(at).want(http.StatusOK, waits)
	later := paid.find(`input[name=event]`).First().AttrOr("value", "")
	developer := f.as("Emil", account.Developer)
	developer.get("/desk/shop/webhooks/"+e.ID+"/deliveries/"+later).want(http.StatusOK, waits)
	developer.get("/desk/shop/webhooks/"+e.ID).want(http.StatusOK, "after invoice.created, not before 12:01")
	before := len(f.actions())
	for _, refused := range [][3]string{
		{other.ID, e.ID, event}, {inv.ID, live.ID, event}, {inv.ID, f.webhook("other").ID, event}, {inv.ID, e.ID, "evt_unknown"}, {inv.ID, e.ID, "evt_\x00\xff"}, {inv.ID, "", ""},
	} {
		b.send("/desk/shop/payments/"+refused[0]+"/resend", "endpoint", refused[1], "event", refused[2]).want(http.StatusConflict, "The webhook has no such delivery of this invoice now.")
	}
	before++ // the webhook of the other shop
	b.send(at+"/resend", "endpoint", e.ID, "event", event).wantRedirect(at + "?done=resent")
	b.get(at+"?done=resent").want(http.StatusOK, "The event is sent again.")
	if got := f.actions()[before:]; len(got) != 1 || got[0] != "Tove: endpoint.resent" {
		t.Errorf("the audit log has %q, want one entry by Tove", got)
	}
	f.attempt(e, 204)
	b.get(at).want(http.StatusOK, "Delivered Status 204").want(http.StatusOK, "Send again")
}
