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

// TestShopper walks the shopper's way: an amount, a page with every coin, a
// payment seen and confirmed, with and without JavaScript, on a phone and a desk.
func TestShopper(t *testing.T) {
	url := start(t, settings(t), app.Options{Demo: true}).url
	for _, s := range screens {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s)
			page := b.order(url, "12,50")
			if got := b.text(".due .v"); got != "€12.50" {
				t.Errorf("amount due = %q", got)
			}
			if !strings.HasPrefix(page, url+"/invoice/") {
				t.Errorf("the form led to %s", page)
			}
			b.picture(s, "waiting")
			b.codes(t)
			b.noSidewaysScroll()

			again := b.lookAgain(s, page)
			b.send("#sim-exact")
			b.awaits("#st", "Payment seen", again)
			b.picture(s, "seen")
			b.send("#sim-confirm")
			b.awaits("#st", "Paid", again)
			b.picture(s, "paid")
			if got := b.text(".due .k"); got != "Paid" {
				t.Errorf("the head of a paid invoice says %q", got)
			}
			if got, _, _ := strings.Cut(get(b, chromedp.Location()), "?"); got != page { // behind it is the chosen method
				t.Errorf("the page moved to %s", got)
			}
			b.noSidewaysScroll()
			b.quiet()
		})
	}
}

// order sends the storefront's form and returns the address of the page that it
// leads to.
func (b *tab) order(url, amount string) (page string) {
	b.t.Helper()
	b.visit(url)
	b.picture(b.screen, "storefront")
	b.do(chromedp.SendKeys(chromedp.CSS("#amount"), amount), chromedp.Click(chromedp.CSS("form button.btn")))
	b.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
	return get(b, chromedp.Location())
}

// lookAgain is how the shopper sees news without scripts: by the page's link, or
// where nothing more is expected by a visit. With scripts the page brings news
// itself, so there is nothing to do.
func (b *tab) lookAgain(s screen, page string) func() {
	if !s.noJS {
		return nil
	}
	const shown = `([...document.querySelectorAll("a.btn.only-nojs")].find(a => a.checkVisibility()) || {getAttribute: () => ""}).getAttribute("href")`
	return func() {
		if to := get(b, chromedp.Evaluate[string](shown)); to != "" {
			b.send(fmt.Sprintf("a.btn.only-nojs[href=%q]", to))
			return
		}
		b.visit(page)
	}
}

// codes reads every method's QR code from the screen: it is the method's link,
// for a token first the bare address.
func (b *tab) codes(t *testing.T) {
	t.Helper()
	ids := get(b, chromedp.AttributesAll(chromedp.CSSAll(`input[name=method][type=radio]`)))
	if len(ids) < 6 {
		t.Fatalf("%d payment methods on the page", len(ids))
	}
	for _, a := range ids {
		id := a["id"]
		b.click(fmt.Sprintf(`label[for=%q]`, id))
		section := fmt.Sprintf(`section:has(#%s-address)`, id)
		address := b.attribute(fmt.Sprintf("#%s-address", id), "data-copy")
		b.do(chromedp.WaitVisible(chromedp.CSS(section)))
		code := b.decode(section + " .qr svg")
		link := b.link(id)
		if token := strings.Contains(link, "/transfer?"); token {
			if code != address {
				t.Errorf("%s: the first code of a token says %q, not the address %q", id, code, address)
			}
			b.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#%s-more summary", id))))
			if second := b.decode(fmt.Sprintf("#%s-more .qr svg", id)); second != link {
				t.Errorf("%s: the second code says %q, not the link %q", id, second, link)
			}
			continue
		}
		if lowerAddress(code) != link {
			t.Errorf("%s: the code says %q, not the link %q", id, code, link)
		}
		if !strings.Contains(link, address) {
			t.Errorf("%s: the link %q is not for the address %q", id, link, address)
		}
	}
}

// link is the method's payment link: that of its button, or of the second code.
func (b *tab) link(id string) string {
	b.t.Helper()
	for _, part := range []string{"second", "open"} {
		links := get(b, chromedp.Evaluate[string](fmt.Sprintf(`(document.getElementById(%q)||{getAttribute(){return ""}}).getAttribute("href")`, id+"-"+part)))
		if links != "" {
			return links
		}
	}
	b.t.Fatalf("%s has no link", id)
	return ""
}

// lowerAddress puts scheme and address into lower case where a code wrote them
// in upper case, which a bech32 address allows.
func lowerAddress(code string) string {
	before, after, _ := strings.Cut(code, "?")
	if before == strings.ToUpper(before) {
		before = strings.ToLower(before)
	}
	return before + "?" + after
}

// noSidewaysScroll fails when the page is wider than the window, and names what is.
func (b *tab) noSidewaysScroll() {
	b.t.Helper()
	const wide = `(() => {
		const page = document.scrollingElement;
		if (page.scrollWidth <= page.clientWidth) return "";
		const out = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > page.clientWidth + .5);
		return page.scrollWidth - page.clientWidth + " px: " + out.map(e => e.outerHTML.slice(0, 80)).join(" | ");
	})()`
	if out := get(b, chromedp.Evaluate[string](wide)); out != "" {
		b.t.Errorf("the page is wider than the window, by %s", out)
	}
}

// picture keeps a screenshot of the page's top when E2E_SHOTS names a folder for
// them.
func (b *tab) picture(s screen, state string) {
	b.t.Helper()
	b.shoot(s, state, `scrollTo({top: 0, behavior: "instant"})`)
}

// shoot keeps a screenshot of where a script scrolls to.
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
