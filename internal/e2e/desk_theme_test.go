package e2e_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// inPreview is an expression of the document in the frame of the theme's preview.
const inPreview = `document.querySelector(".framed iframe:only-child")?.contentDocument`

// The preview of the theme shows the values as they are entered, and saves none of them.
func TestDesk_theme_preview_is_live(t *testing.T) {
	t.Parallel()
	site := newDemoSite(t)
	merchant := openAlone(t, screen{width: 1280, height: 900})
	signedIn("/theme")(merchant, site)
	get(merchant, chromedp.Evaluate[int](`(window.kept = history.length)`))
	waitUntil := func(expression string) {
		t.Helper()
		until(t, waitTimeout, expression, func() bool { return get(merchant, chromedp.Evaluate[bool]("Boolean("+expression+")")) })
	}
	waitUntil(inPreview + `?.querySelector("h1").textContent === "Demo shop"`)
	merchant.typeInto("#name", "Nord & Sons")
	waitUntil(inPreview + `?.querySelector("h1").textContent === "Nord & Sons"`)
	merchant.typeInto("#accent", "#0a7d5a")
	waitUntil(`(d => d && getComputedStyle(d.querySelector("#return")).backgroundColor === "rgb(10, 125, 90)")(` + inPreview + `)`)
	merchant.waitFor("#preview-facts", "#017a57", nil)
	merchant.typeInto("#accent", "x")
	merchant.waitFor("#preview-facts", "The preview shows the saved theme. Colour must be", nil)
	if got := get(merchant, chromedp.Evaluate[string](inPreview+`.querySelector("h1").textContent`)); got != "Nord & Sons" {
		t.Errorf("with a wrong colour the preview shows %q", got)
	}
	if got := get(merchant, chromedp.Evaluate[int](`history.length - kept`)); got != 0 {
		t.Errorf("the previews have %d entries in the history", got)
	}
	merchant.discardMessages("status of 422") // the wrong colour
	merchant.checkConsole()
	merchant.visit(site.owner.url + deskShop + "/theme")
	if got := get(merchant, chromedp.Evaluate[string](`document.querySelector("#name").value`)); got != "" {
		t.Errorf("the preview saved %q", got)
	}
}
