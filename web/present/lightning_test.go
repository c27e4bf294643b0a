package present_test

import (
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/web/present"
	"chequer/web/present/presenttest"
)

func TestPayment_shows_a_payment_request(t *testing.T) {
	t.Parallel()
	page := opened(t, frame(nil), presenttest.Lightning(nil), "BTC-LN")
	way := page.Find("section.m3")
	link, _ := way.Find("#m3-open").Attr("href")
	if link != "lightning:"+presenttest.PaymentRequest {
		t.Errorf("the link is %q", link)
	}
	if got, _ := way.Find("#m3-address").Attr("data-copy"); got != presenttest.PaymentRequest {
		t.Errorf("the button copies %q, want the bare request", got)
	}
	if got, _ := way.Find("#m3-address").Attr("aria-label"); got != "Copy payment request" {
		t.Errorf("the button is named %q", got)
	}
	if code := way.Find("code.req"); text(code) != presenttest.PaymentRequest || code.Find("i").Length() != 0 {
		t.Errorf("the request is shown as %q with %d groups", text(code), code.Find("i").Length())
	}
	if got := text(page.Find(`label[for="m3"]`)); got != "Lightning" {
		t.Errorf("the tab is named %q", got)
	}
	if got := text(page.Find("p.m3")); !strings.HasPrefix(got, "0.00065379 BTC on Lightning") {
		t.Errorf("the amount is %q", got)
	}
	if got := text(page.Find(`label[for="m1"]`)); got != "Bitcoin" {
		t.Errorf("the tab of Bitcoin is named %q", got)
	}
	if got := text(way.Find(".note")); got != "" {
		t.Errorf("a request that ends with the price has the note %q", got)
	}
}

func TestPayment_names_the_end_of_a_request_that_ends_before_the_price(t *testing.T) {
	t.Parallel()
	page := show(t, presenttest.Lightning(func(r *api.Resource) { r.PaymentMethods[2].AddressUntil = "2026-11-27T12:05:00.000Z" }))
	if got := text(page.Find("section.m3 .note")); got != "This code ends at 12:05 UTC." {
		t.Errorf("the note is %q", got)
	}
}

func TestPayment_asks_for_a_payment_request(t *testing.T) {
	t.Parallel()
	page := opened(t, frame(nil), presenttest.Lightning(presenttest.Unrequested), "BTC-LN")
	form := page.Find("section.m3 form")
	if action, _ := form.Attr("action"); action != "/invoice/abc/request" || form.AttrOr("method", "") != "post" {
		t.Errorf("the form posts to %q", action)
	}
	if got := form.Find("input[name=m]").AttrOr("value", ""); got != "BTC-LN" || text(form.Find("button")) != "Get a Lightning code" {
		t.Errorf("the form is for %q, its button says %q", got, text(form.Find("button")))
	}
	if page.Find("section.m3 svg, section.m3 .fields").Length() != 0 {
		t.Error("a method without a request shows a code")
	}
	page = show(t, presenttest.Lightning(func(r *api.Resource) {
		presenttest.Unrequested(r)
		r.PaymentMethods[2].MayRequest = false
	}))
	if page.Find("section.m3").Length() != 0 || page.Find("section.m2").Length() != 1 {
		t.Error("a method that can neither be paid nor asked for is offered")
	}
}

func TestPayment_has_one_code_for_bitcoin_and_lightning(t *testing.T) {
	t.Parallel()
	r := presenttest.Lightning(nil)
	page := show(t, r)
	if got, _ := page.Find("#m1-open").Attr("href"); got != r.PaymentMethods[0].UnifiedURI {
		t.Errorf("the link is %q", got)
	}
	if got, _ := page.Find("#m1-more").Attr("href"); got != "/invoice/abc?m=BTC&amount=1#m1-more" || text(page.Find("#m1-more")) != "Code for Bitcoin only" {
		t.Errorf("the link to the plain code is %q, %q", got, text(page.Find("#m1-more")))
	}
	f := frame(func(f *present.Frame) { f.WithAmount = true })
	plain := opened(t, f, r, "BTC").Find("#m1-more")
	if got, _ := plain.Find("#m1-second").Attr("href"); got != r.PaymentMethods[0].PaymentURI || plain.Find("svg path").Length() != 1 {
		t.Errorf("the plain code has the link %q", got)
	}
	if !strings.Contains(text(plain), "Some wallets do not read") {
		t.Errorf("the plain code has the text %q", text(plain))
	}
	if got, _ := show(t, presenttest.Lightning(presenttest.Unrequested)).Find("#m1-open").Attr("href"); got != r.PaymentMethods[0].PaymentURI {
		t.Errorf("without a request the link is %q", got)
	}
}

func TestTerminalPayment_opens_lightning_first(t *testing.T) {
	t.Parallel()
	page := frame(nil).TerminalPayment(client.Snapshot{Resource: presenttest.Lightning(presenttest.Unrequested)}, "secret", "")
	if m := page.Methods[0]; m.Code != "BTC-LN" || !m.Chosen || m.RequestForm.Action != "/pos/secret/abc/request" {
		t.Errorf("the first method is %s, chosen %v, its form posts to %q", m.Code, m.Chosen, m.RequestForm.Action)
	}
	page = frame(nil).TerminalPayment(client.Snapshot{Resource: presenttest.Lightning(nil)}, "secret", "BTC")
	if m := page.Methods[1]; m.Code != "BTC" || !m.Chosen {
		t.Errorf("the second method is %s, chosen %v", m.Code, m.Chosen)
	}
}

func TestChangesIn_is_the_end_of_the_price_or_of_a_request(t *testing.T) {
	t.Parallel()
	until := func(text string) client.Snapshot {
		return client.Snapshot{Resource: presenttest.Lightning(func(r *api.Resource) { r.PaymentMethods[2].AddressUntil = text })}
	}
	for text, want := range map[string]time.Duration{
		"": 872 * time.Second, "2026-11-27T12:05:00.000Z": 5*time.Minute + time.Millisecond,
		"2026-11-27T13:00:00.000Z": 872 * time.Second, "2026-11-27T11:00:00.000Z": time.Second,
	} {
		if got := present.ChangesIn(until(text), noon); got != want {
			t.Errorf("a request until %q: %v, want %v", text, got, want)
		}
	}
	ended := presenttest.Lightning(func(r *api.Resource) { r.SecondsLeft = -5 })
	if got := present.ChangesIn(client.Snapshot{Resource: ended}, noon); got != 0 {
		t.Errorf("after the end: %v, want 0", got)
	}
}

func TestPayment_paid_over_lightning_names_the_payment_hash(t *testing.T) {
	t.Parallel()
	page := show(t, presenttest.Paid(func(r *api.Resource) {
		r.PaymentMethods = presenttest.Lightning(nil).PaymentMethods
		r.PaidCurrency, r.Payments[0].CryptoCurrency = "BTC-LN", "BTC-LN"
		r.Payments[0].Confirmations, r.Payments[0].Required = 1, 1
	}))
	facts := text(page.Find(".facts"))
	if !strings.Contains(facts, "Payment hash"+presenttest.Payment("").Tx) || !strings.Contains(facts, "0.00065379 BTC on Lightning") {
		t.Errorf("the facts are %q", facts)
	}
	if got := text(page.Find("#live")); strings.Contains(got, "onfirmation") {
		t.Errorf("the page counts confirmations: %q", got)
	}
}
