package e2e_test

import (
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
)

// reachable lists what the Tab key must reach, in the order of the page: every visible link,
// button, field and summary, and the selected button of each group of radio buttons.
const reachable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")].filter(e =>
	e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true}) && !e.disabled && (e.type !== "radio" || e.checked)).map(e => naming(e))`

// focused returns the name of the focused element, and a message if its focus is not visible.
const focused = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return ["", ""];
	const seen = getComputedStyle(e.matches(".vh") && e.labels && e.labels[0] || e.matches(".money input") && e.parentNode || e);
	return [naming(e), seen.outlineStyle === "none" || parseFloat(seen.outlineWidth) < 2 ? "shows no focus" : ""];
})()`

// naming defines a function that returns a name for an element.
const naming = `function naming(e) { return e.id || e.name || e.localName + " " + e.textContent.trim().slice(0, 30); }`

// tabThrough presses a key until the focus leaves the page, and returns the elements that had the focus.
func (b *tab) tabThrough(key chromedp.Action[chromedp.Void]) (path []string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[any](naming))
	for range 100 {
		b.do(key)
		current := get(b, chromedp.Evaluate[[]string](focused))
		if current[0] == "" || len(path) > 0 && current[0] == path[0] {
			return path
		}
		if current[1] != "" {
			b.t.Errorf("%s %s", current[0], current[1])
		}
		path = append(path, current[0])
	}
	b.t.Fatalf("the focus did not leave the page after 100 keys: %s", strings.Join(path, ", "))
	return nil
}

// pressKey presses one key.
func (b *tab) pressKey(keys string, modifiers ...kb.Modifier) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

// checkFocus fails if an element other than want has the focus.
func (b *tab) checkFocus(want string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[any](naming))
	if got := get(b, chromedp.Evaluate[[]string](focused))[0]; got != want {
		b.t.Errorf("the focus is at %q, want %q", got, want)
	}
}

// TestKeyboard_alone_can_pay pays with the keyboard only. The Tab key must reach every control in the page's
// order and leave the page again, and every control must work with keys.
func TestKeyboard_alone_can_pay(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{phoneScreen, deskScreen, zoomed} {
		t.Run(s.name, func(t *testing.T) {
			site, tab := site.in(t), open(t, s)
			tab.observe()
			atInvoice(forOrder)(tab, site)
			tab.waitLoaded()
			get(tab, chromedp.Evaluate[any](naming))
			want := get(tab, chromedp.Evaluate[[]string](reachable))
			if len(want) < 10 || want[0] != "a Skip to payment" {
				t.Fatalf("the page has the controls %s", strings.Join(want, ", "))
			}
			if diff := cmp.Diff(tab.tabThrough(chromedp.KeyEvent(kb.Tab)), want); diff != "" {
				t.Errorf("the Tab key reaches (-got +want):\n%s", diff)
			}
			tab.checkConsole()
		})
	}
	t.Run("controls_work", func(t *testing.T) {
		for _, name := range []string{"clipboard-read", "clipboard-write"} {
			tab := open(t, deskScreen)
			_, err := chromedp.CallBrowser(tab.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
				Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted,
			})
			tab.check(err)
		}
		site, tab := site.in(t), open(t, deskScreen)
		tab.observe()
		atInvoice(nil)(tab, site)
		tab.waitLoaded()

		tab.pressKey(kb.Tab)
		tab.checkFocus("a Skip to payment")
		tab.pressKey(kb.Enter)
		tab.pressKey(kb.Tab)
		tab.checkFocus("m1") // the first control of the panel
		tab.pressKey(kb.ArrowRight)
		tab.checkFocus("m2")
		tab.do(chromedp.WaitVisible(chromedp.CSS("#m2-address")))
		tab.pressKey(kb.ArrowLeft)
		tab.do(chromedp.WaitVisible(chromedp.CSS("#m1-address")))
		tab.pressKey(kb.Tab)
		tab.checkFocus("m1-amount")
		tab.pressKey(kb.Tab)
		tab.checkFocus("m1-address")
		tab.pressKey(kb.Enter)
		tab.waitFor("#say", "Address copied", nil)
		tab.waitFor("#m1-address span", "Copied", nil)
		address := tab.attribute("#m1-address", "data-copy")
		if got := get(tab, chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise)); got != address {
			t.Errorf("copied %q, want %q", got, address)
		}
		tab.pressKey(kb.Tab)
		tab.checkFocus("m1-open")
		tab.pressKey(kb.Tab)
		tab.checkFocus("m1-more") // the code for Bitcoin only
		tab.pressKey(kb.Tab)
		tab.checkFocus("summary Help with this payment")
		tab.pressKey(" ")
		tab.do(chromedp.WaitVisible(chromedp.CSS("#requote")))
		tab.pressKey(kb.Tab)
		tab.checkFocus("requote")
		tab.pressKey(kb.Tab, kb.ModifierShift)
		tab.checkFocus("summary Help with this payment")

		// The focused element keeps the focus while the page changes; if it disappears, the live
		// part gets the focus.
		tab.pressKey(kb.Tab)
		site.shop().simulate(idOf(site.page), api.SimulateUnder)
		tab.waitFor("#st", "Part of it arrived", nil)
		tab.checkFocus("requote")
		site.shop().simulate(idOf(site.page), api.SimulateExact)
		tab.waitFor("#st", "Payment seen", nil)
		tab.checkFocus("live")
		tab.checkPolicy()
		tab.checkConsole()
	})
}
