package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// step is a button of the test tools, and the page afterwards.
type step struct {
	action  string
	heading string
	head    string   // label and amount at the top, or the beginning of them
	words   []string // texts that the page contains
}

var (
	seen = step{"exact", "Payment seen", "Received €12.50", []string{
		"0 of 1 confirmation", "There is nothing more for you to do", "Received 0.00014465 BTC",
	}}
	paid = step{"confirm", "Paid. Thank you.", "Paid €12.50", []string{"Received 0.00014465 BTC", "Transaction", "Confirmed"}}
)

// simulations lists the pages after each button, starting with a new invoice of 12.50 euros.
var simulations = []struct {
	name  string
	steps []step
}{
	{"exact", []step{seen, paid}},
	{"under", []step{
		{"under", "Part of it arrived", "Still due €5.00", []string{
			"Arrived €7.50 of €12.50", "Send the rest to the same address.", "Amount still due", "New code, for the rest", "Price held",
		}},
		{"exact", "Payment seen", "Received €12.50 0.00014465 BTC", []string{
			"0 of 1 confirmation", "Received 0.00008679 BTC", "Received 0.00005786 BTC",
		}},
		paid,
	}},
	{"over", []step{
		{"over", "Payment seen", "Received €13.75", []string{"0 of 1 confirmation", "Received 0.00015912 BTC"}},
		{"confirm", "Paid. You sent a little extra.", "Paid €13.75", []string{
			"€1.25 is above the price and belongs to you.", "Get €1.25 back.", "Extra €1.25",
		}},
	}},
	{"late", []step{
		{"late", "Your payment arrived late", "Received late €12.50 0.00014465 BTC", []string{
			"The money is safe with Demo shop.", "Demo shop decides", "You need not send anything more.", "Received 0.00014465 BTC",
		}},
	}},
	{"clock", []step{
		{"hour", "The held price has run out", "Amount due €12.50", []string{"No payment was seen in time."}},
		{"exact", "Your payment arrived late", "Received late €12.50 0.00014465 BTC", []string{"Demo shop decides"}},
	}},
	{"replace", []step{
		seen,
		{"replace", "Waiting for your payment", "Amount due €12.50", []string{
			"The network dropped that transaction. Nothing was taken.", "Price held", "Scan with your Bitcoin wallet",
		}},
		seen,
	}},
	{"reorganise", []step{
		seen,
		paid,
		{"reorganise", "Payment seen", "Received €12.50", []string{"The network took a confirmation back.", "0 of 1 confirmation"}},
		paid,
	}},
}

// TestTools_show_every_state presses every button of the test tools on a phone.
func TestTools_show_every_state(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	merchant := newShop(t, p.url, p.key)
	s := phoneScreen
	for _, test := range simulations {
		t.Run(test.name, func(t *testing.T) {
			tab := open(t, s)
			id := idOf(tab.createInvoice(p.url, "12,50"))
			tab.markPage()
			for i, step := range test.steps {
				tab.send("#sim-" + step.action)
				tab.checkStep(step)
				if step.action == api.SimulateUnder {
					tab.checkAmountDue(merchant.invoice(id))
				}
				tab.picture(s, fmt.Sprintf("simulate_%s_%d_%s", test.name, i+1, step.action))
				tab.checkNoSidewaysScroll()
			}
			tab.checkNotReloaded()
			tab.checkConsole()
		})
	}
}

// TestRefused_simulation_shows_the_reason sends simulations that are not possible yet, as an outdated page
// does. The answer must be the invoice's page with the reason. A current page has no such buttons.
func TestRefused_simulation_shows_the_reason(t *testing.T) {
	p := start(t, settings(t), app.Options{Demo: true})
	s := phoneScreen
	tab := open(t, s)
	page := tab.createInvoice(p.url, "12,50")
	for _, action := range []string{"confirm", "replace", "reorganise"} {
		if n := get(tab, chromedp.Evaluate[int](fmt.Sprintf(`document.querySelectorAll("#sim-%s").length`, action))); n > 0 {
			t.Errorf("%s is offered without a payment", action)
		}
		// In one script, because the page may be replaced between two scripts.
		get(tab, chromedp.Evaluate[any](fmt.Sprintf(`(() => {
			const old = Object.assign(document.createElement("button"), {name: "action", value: %q});
			document.querySelector("#simulate").append(old);
			old.click();
		})()`, action)))
		tab.waitFor(".refused", "no payment", nil)
		tab.picture(s, "simulate_refused_"+action)
		if got, _, _ := strings.Cut(get(tab, chromedp.Location()), "?"); got != page {
			t.Errorf("after %s the page is %s, want %s", action, got, page)
		}
	}
}

// checkStep waits for a step's heading, and fails if the page lacks its texts.
func (b *tab) checkStep(s step) {
	b.t.Helper()
	b.waitFor("#st", s.heading, nil)
	if got := b.visibleText(".due"); !strings.HasPrefix(got, s.head) {
		b.t.Errorf("after %s the head shows %q, want %q", s.action, got, s.head)
	}
	page := b.visibleText("#live")
	for _, words := range s.words {
		if !strings.Contains(page, words) {
			b.t.Errorf("after %s the page lacks %q:\n%s", s.action, words, page)
		}
	}
}

// visibleText returns the visible text of an element in one line.
func (b *tab) visibleText(selector string) string {
	b.t.Helper()
	text := get(b, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q).innerText`, selector)))
	return strings.Join(strings.Fields(text), " ")
}

// checkAmountDue fails unless code, link, amount and address are for the amount that is still due.
func (b *tab) checkAmountDue(r api.Resource) {
	b.t.Helper()
	m := r.PaymentMethods[0]
	if m.DueAmount == m.ExpectedAmount || r.DueAmount != "5" {
		b.t.Errorf("%s of %s %s are due, %s euros", m.DueAmount, m.ExpectedAmount, m.CryptoCurrency, r.DueAmount)
	}
	if got := b.attribute("#m1-amount", "data-copy"); got != m.DueAmount {
		b.t.Errorf("the page asks for %s, want the rest %s", got, m.DueAmount)
	}
	if got := b.attribute("#m1-address", "data-copy"); got != m.Address {
		b.t.Errorf("the page shows the address %s, want %s", got, m.Address)
	}
	want := "bitcoin:" + m.Address + "?amount=" + m.DueAmount
	if got := b.paymentLink("m1"); !strings.HasPrefix(got, want) {
		b.t.Errorf("the link is %s, want %s", got, want)
	}
	if got := lowerAddress(b.decode("section:has(#m1-address) .qr svg")); !strings.HasPrefix(got, want) {
		b.t.Errorf("the code contains %s, want %s", got, want)
	}
}
