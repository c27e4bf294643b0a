package e2e_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/signature"
)

// withWebhook creates a webhook for test events, whose receiver does not answer.
func withWebhook(_ *tab, site *demoSite) {
	site.t.Helper()
	form := site.owner.read(deskShop+"/webhooks").Find("input[name=form]").AttrOr("value", "")
	page := site.owner.post(deskShop+"/webhooks", "form", form, "url", "http://127.0.0.1:9/hook?token=hush", "mode", "test")
	site.webhook = page.Find(`main a[href*="/webhooks/"]`).AttrOr("href", "")
	if site.webhook == "" {
		site.t.Fatalf("no webhook was created: %s", page.Find("main").Text())
	}
}

// atWebhook returns a step that visits the page of the webhook, or a page below it.
func atWebhook(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		b.signInAs(site.owner)
		b.visit(site.owner.url + site.webhook + path)
	}
}

// The owner creates a webhook, whose receiver is down, sees that it fails, and sends the event again when the
// receiver is back; with and without JavaScript. The receiver verifies the event with the secret that the page
// showed.
func TestDesk_webhook_sends_a_failed_event_again(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{{name: "phone", width: 390, height: 844}, {name: "without JavaScript", width: 390, height: 844, noJS: true}} {
		t.Run(s.name, func(t *testing.T) {
			site, tab, receiver := site.in(t), openAlone(t, s), newReceiver(t)
			receiver.setReply(func(w http.ResponseWriter, _ delivery) { w.WriteHeader(http.StatusServiceUnavailable) })
			reload := func() { tab.visit(get(tab, chromedp.Location())) }
			tab.observe()
			signedIn("/keys")(tab, site)
			tab.send(`.tabs a[href$="/webhooks"]`)
			tab.waitFor(".tabs [aria-current]", "Webhooks", nil)
			tab.typeInto("#url", receiver.url)
			tab.do(chromedp.SetValue(chromedp.CSS("#mode"), "test"))
			tab.send("#create button")
			tab.waitFor("h1", "The webhook was created", nil)
			key, secret := tab.text("#secret-0"), tab.text("#secret-1")
			tab.send("main .f > a.go")
			tab.waitFor("h1", "/hook", nil)
			tab.send(`form[action$="/test"] button`)
			tab.waitFor("h1", "endpoint.test", nil)
			tab.waitFor(".tl", "1. Status 503", reload)
			receiver.setReply(nil)
			tab.send("#resend button")
			tab.waitFor("[role=status]", "The event is sent again.", nil)
			tab.waitFor(".tl", "2. Status 200", reload)
			tab.waitFor(".hrow .tag", "Delivered", nil)
			got := receiver.received()
			if len(got) != 2 {
				t.Fatalf("the receiver got %d requests, want 2", len(got))
			}
			h := got[1].header
			if h.Get(api.HeaderKey) != key || !signature.Verify(secret, got[1].body, h.Get(api.HeaderSignature)) {
				t.Errorf("the event is signed with the key %q, want %q and its secret", h.Get(api.HeaderKey), key)
			}
			signedIn("/log")(tab, site)
			tab.waitFor("main", "Webhook resent", nil)
			tab.checkConsole()
		})
	}
}
