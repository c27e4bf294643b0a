package e2e_test

import (
	"fmt"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"chequer/internal/locale"
)

// allowClipboardReading makes every page able to read the clipboard through window.board, also if setup
// replaces navigator.clipboard.
func (b *tab) allowClipboardReading(setup string) {
	b.t.Helper()
	_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "clipboard-read"}, Setting: cdpbrowser.PermissionSettingGranted,
		BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	})
	b.check(err)
	b.addInitScript(`window.board = navigator.clipboard;` + setup)
}

const (
	// noClipboard simulates a page over plain HTTP.
	noClipboard = `Object.defineProperty(navigator, "clipboard", {value: undefined});`
	// deniedClipboard simulates a page in a frame without the permission.
	deniedClipboard = `Object.defineProperty(navigator, "clipboard", {value: {writeText: () => Promise.reject(new DOMException("denied", "NotAllowedError"))}});`
	// noCopying simulates a browser that cannot copy.
	noCopying = noClipboard + `Document.prototype.execCommand = () => false;`
)

// clipboard returns the contents of the clipboard.
func (b *tab) clipboard() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](`board.readText()`, chromedp.EvalAwaitPromise))
}

// TestCopy_without_the_clipboard_API copies in pages where the clipboard API is missing or denied.
func TestCopy_without_the_clipboard_API(t *testing.T) {
	service := newStubServiceIn(t, locale.All())
	for name, setup := range map[string]string{"missing": noClipboard, "denied": deniedClipboard} {
		t.Run(name+"_copies_the_machine_form_in_every_language", func(t *testing.T) {
			tab := open(t, phoneScreen)
			tab.allowClipboardReading(setup)
			for _, l := range locale.All().List() {
				tab.visit(service.address + "?m=EURC-BASE&lang=" + l.Code)
				for _, field := range []string{"amount", "address"} {
					button := "#m2-" + field
					want := tab.attribute(button, "data-copy")
					tab.do(chromedp.Focus(chromedp.CSS(button)))
					tab.click(button)
					tab.waitFor(button+" span", l.Text("copied"), nil)
					tab.waitFor("#say", l.Text("copied."+field), nil)
					if got := tab.clipboard(); got != want {
						t.Errorf("%s: %q was copied as the %s, want %q", l.Code, got, field, want)
					}
					const after = `[document.activeElement.id, getSelection().toString(), document.body.lastElementChild.id].join("|")`
					if got, want := get(tab, chromedp.Evaluate[string](after)), "m2-"+field+"||live"; got != want {
						t.Errorf("%s: focus, selection and last element are %q after copying, want %q", l.Code, got, want)
					}
				}
			}
			tab.checkConsole()
		})
	}
	t.Run("failure_is_reported_and_selects_the_machine_form", func(t *testing.T) {
		tab := open(t, phoneScreen)
		tab.addInitScript(noCopying)
		for _, code := range []string{"en", "de", "ar"} {
			l, _ := locale.All().Find(code)
			tab.visit(service.address + "?m=EURC-BASE&lang=" + code)
			for _, field := range []string{"amount", "address"} {
				button := "#m2-" + field
				want := tab.attribute(button, "data-copy")
				tab.click(button)
				tab.waitFor("#say", l.Text("copy.failed"), nil)
				tab.waitFor(fmt.Sprintf("dd:has(%s) p", button), l.Text("copy.failed"), nil)
				if got := get(tab, chromedp.Evaluate[string](`getSelection().toString()`)); got != want {
					t.Errorf("%s: %q is selected as the %s, want %q", code, got, field, want)
				}
				if got := tab.text(button + " span"); got != l.Text("copy") {
					t.Errorf("%s: the button shows %q", code, got)
				}
			}
			tab.picture(phoneScreen, "copy_failed_"+code)
			tab.checkNoSidewaysScroll()
		}
		tab.checkConsole()
	})
}
