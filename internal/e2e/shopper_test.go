package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
)

// TestShopper_pays enters an amount, sees a page with every method, pays, and sees the payment arrive
// and confirm, with and without JavaScript, on a phone and a desktop.
func TestShopper_pays(t *testing.T) {
	url := start(t, settings(t), app.Options{Demo: true}).url
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, s)
			page := tab.createInvoice(url, "12,50")
			if got := tab.text(".due .v"); got != "€12.50" {
				t.Errorf("amount due = %q", got)
			}
			if !strings.HasPrefix(page, url+"/invoice/") {
				t.Errorf("the form led to %s", page)
			}
			tab.picture(s, "waiting")
			tab.checkCodes(t)
			tab.checkNoSidewaysScroll()

			reload := tab.reloader(s, page)
			tab.send("#sim-exact")
			tab.waitFor("#st", "Payment seen", reload)
			tab.picture(s, "seen")
			tab.send("#sim-confirm")
			tab.waitFor("#st", "Paid", reload)
			tab.picture(s, "paid")
			if got := tab.text(".due .k"); got != "Paid" {
				t.Errorf("the head of a paid invoice shows %q", got)
			}
			if got, _, _ := strings.Cut(get(tab, chromedp.Location()), "?"); got != page { // the query is the chosen method
				t.Errorf("the page is %s, want the invoice's", got)
			}
			tab.checkNoSidewaysScroll()
			tab.checkConsole()
		})
	}
}

// createInvoice sends the storefront's form and returns the address of the invoice's page.
func (b *tab) createInvoice(url, amount string) (page string) {
	b.t.Helper()
	b.visit(url)
	b.picture(b.screen, "storefront")
	b.do(chromedp.SendKeys(chromedp.CSS("#amount"), amount), chromedp.Click(chromedp.CSS("form button.btn")))
	b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
	return get(b, chromedp.Location())
}

// reloader returns a function that reloads the page as a shopper without scripts would: by the
// page's link if there is one, otherwise by a visit. With scripts the page updates itself, and the
// function is nil.
func (b *tab) reloader(s screen, page string) func() {
	if !s.noJS {
		return nil
	}
	const visibleHref = `([...document.querySelectorAll("a.btn.only-nojs")].find(a => a.checkVisibility()) || {getAttribute: () => ""}).getAttribute("href")`
	return func() {
		if to := get(b, chromedp.Evaluate[string](visibleHref)); to != "" {
			b.send(fmt.Sprintf("a.btn.only-nojs[href=%q]", to))
			return
		}
		b.visit(page)
	}
}

// checkCodes reads every method's QR code from the screen. It must contain the payment link; the first
// code of a token must contain the address alone.
func (b *tab) checkCodes(t *testing.T) {
	t.Helper()
	methods := get(b, chromedp.AttributesAll(chromedp.CSSAll(`input[name=method][type=radio]`)))
	if len(methods) < 6 {
		t.Fatalf("%d payment methods on the page, want at least 6", len(methods))
	}
	for _, attributes := range methods {
		id := attributes["id"]
		b.click(fmt.Sprintf(`label[for=%q]`, id))
		section := fmt.Sprintf(`section:has(#%s-address)`, id)
		address := b.attribute(fmt.Sprintf("#%s-address", id), "data-copy")
		b.do(chromedp.WaitVisible(chromedp.CSS(section)))
		code := b.decode(section + " .qr svg")
		if strings.Contains(strings.ToLower(code), "lightning") { // a payment request, or a Bitcoin link with one
			open := b.paymentLink(id)
			if !strings.EqualFold(code, open) || !strings.Contains(open, address) {
				t.Errorf("%s: the code contains %q, want the link %q with %s", id, code, open, address)
			}
			continue
		}
		if get(b, chromedp.Evaluate[bool](fmt.Sprintf(`!!document.getElementById("%s-more")`, id))) { // a token
			if code != address {
				t.Errorf("%s: the first code of a token contains %q, want the address %q", id, code, address)
			}
			b.showAmountCode(id)
			link := b.paymentLink(id)
			if second := b.decode(fmt.Sprintf("#%s-more .qr svg", id)); second != link {
				t.Errorf("%s: the second code contains %q, want the link %q", id, second, link)
			}
			continue
		}
		link := b.paymentLink(id)
		if lowerAddress(code) != link {
			t.Errorf("%s: the code contains %q, want the link %q", id, code, link)
		}
		if !strings.Contains(link, address) {
			t.Errorf("%s: the link %q lacks the address %q", id, link, address)
		}
	}
}

// showAmountCode follows the link to the code with the amount.
func (b *tab) showAmountCode(id string) {
	b.t.Helper()
	b.click(fmt.Sprintf("a#%s-more", id))
	b.do(chromedp.WaitVisible(chromedp.CSS(fmt.Sprintf("#%s-more .qr svg", id))))
}

// paymentLink returns the method's payment link: of the second code, or of the button.
func (b *tab) paymentLink(id string) string {
	b.t.Helper()
	for _, part := range []string{"second", "open"} {
		link := get(b, chromedp.Evaluate[string](fmt.Sprintf(`(document.getElementById(%q)||{getAttribute(){return ""}}).getAttribute("href")`, id+"-"+part)))
		if link != "" {
			return link
		}
	}
	b.t.Fatalf("%s has no link", id)
	return ""
}

// lowerAddress returns a link with scheme and address in lower case if the code has them in upper
// case, which a bech32 address allows.
func lowerAddress(code string) string {
	before, after, _ := strings.Cut(code, "?")
	if before == strings.ToUpper(before) {
		before = strings.ToLower(before)
	}
	return before + "?" + after
}

// checkNoSidewaysScroll fails if the page is wider than the window, and names the elements that are.
func (b *tab) checkNoSidewaysScroll() {
	b.t.Helper()
	const excess = `(() => {
		const page = document.scrollingElement;
		if (page.scrollWidth <= page.clientWidth) return "";
		const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > page.clientWidth + .5);
		return page.scrollWidth - page.clientWidth + " px: " + wide.map(e => e.outerHTML.slice(0, 80)).join(" | ");
	})()`
	if got := get(b, chromedp.Evaluate[string](excess)); got != "" {
		b.t.Errorf("the page is wider than the window, by %s", got)
	}
}

// picture saves a screenshot of the page's top if E2E_SHOTS names a folder.
func (b *tab) picture(s screen, state string) {
	b.t.Helper()
	b.shoot(s, state, `scrollTo({top: 0, behavior: "instant"})`)
}

// shoot saves a screenshot after a script has scrolled the page.
func (b *tab) shoot(s screen, state, scroll string) {
	b.t.Helper()
	folder := os.Getenv("E2E_SHOTS")
	if folder == "" {
		return
	}
	get(b, chromedp.Evaluate[any](scroll))
	png := get(b, chromedp.CaptureScreenshot())
	b.check(os.WriteFile(filepath.Join(folder, s.name+"."+state+".png"), png, 0o644))
}
