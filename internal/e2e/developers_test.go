package e2e_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/signature"
)

// withWebhook creates a webhook for test events, whose receiver does not answer.
func withWebhook(_ *tab, w *demoSite) {
	w.t.Helper()
	form := w.owner.read(deskShop+"/webhooks").Find("input[name=form]").AttrOr("value", "")
	made := w.owner.post(deskShop+"/webhooks", "form", form, "url", "http://127.0.0.1:9/hook?token=hush", "mode", "test")
	w.webhook = made.Find(`main a[href*="/webhooks/"]`).AttrOr("href", "")
	if w.webhook == "" {
		w.t.Fatalf("no webhook was created: %s", made.Find("main").Text())
	}
}

// atWebhook returns a step that visits the page of the webhook, or a page below it.
func atWebhook(path string) func(*tab, *demoSite) {
	return func(b *tab, w *demoSite) {
		b.t.Helper()
		b.signInAs(w.owner)
		b.visit(w.owner.url + w.webhook + path)
	}
}

// The owner creates a webhook, whose receiver is down, sees that it fails, and sends the event again when the
// receiver is back; with and without JavaScript. The receiver verifies the event with the secret that the page
// showed.
func TestDesk_webhook(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{{name: "phone", width: 390, height: 844}, {name: "without JavaScript", width: 390, height: 844, noJS: true}} {
		t.Run(s.name, func(t *testing.T) {
			w, b, r := site.in(t), openAlone(t, s), newReceiver(t)
			r.setReply(func(w http.ResponseWriter, _ delivery) { w.WriteHeader(http.StatusServiceUnavailable) })
			again := func() { b.visit(get(b, chromedp.Location())) }
			b.observe()
			signedIn("/keys")(b, w)
			b.send(`.tabs a[href$="/webhooks"]`)
			b.waitFor(".tabs [aria-current]", "Webhooks", nil)
			b.typeInto("#url", r.url)
			b.do(chromedp.SetValue(chromedp.CSS("#mode"), "test"))
			b.send("#create button")
			b.waitFor("h1", "The webhook was created", nil)
			key, secret := b.text("#secret-0"), b.text("#secret-1")
			b.send("main .f > a.go")
			b.waitFor("h1", "/hook", nil)
			b.send(`form[action$="/test"] button`)
			b.waitFor("h1", "endpoint.test", nil)
			b.waitFor(".tl", "1. Status 503", again)
			r.setReply(nil)
			b.send("#resend button")
			b.waitFor("[role=status]", "The event is sent again.", nil)
			b.waitFor(".tl", "2. Status 200", again)
			b.waitFor(".hrow .tag", "Delivered", nil)
			got := r.received()
			if len(got) != 2 {
				t.Fatalf("the receiver got %d requests, want 2", len(got))
			}
			h := got[1].header
			if h.Get(api.HeaderKey) != key || !signature.Verify(secret, got[1].body, h.Get(api.HeaderSignature)) {
				t.Errorf("the event is signed with the key %q, want %q and its secret", h.Get(api.HeaderKey), key)
			}
			signedIn("/log")(b, w)
			b.waitFor("main", "endpoint.resent", nil)
			b.checkConsole()
		})
	}
}
