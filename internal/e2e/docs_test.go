package e2e_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
)

// TestDocs_are_readable_and_searchable reads the overview and the page of the API on a phone, a desktop and the narrowest supported window, and
// changes the language of an example without a script. Then it searches the manual, opens a section that
// was found, and another page.
func TestDocs_are_readable_and_searchable(t *testing.T) {
	url := start(t, settings(t), app.Options{Demo: true}).url
	dark := screen{name: "phone_dark", width: 390, height: 844, dark: true}
	for _, screen := range append(screens, dark, screen{name: "narrow", width: 320, height: 700}) {
		t.Run(screen.name, func(t *testing.T) {
			tab := open(t, screen)
			tab.recordTraffic()
			tab.visit(url + "/docs")
			tab.checkNoSidewaysScroll()
			tab.picture(screen, "docs_overview")
			clickThrough(`.lead a[href="/docs/api"]`)(tab, nil)
			tab.waitFor("h1", "API", nil)
			tab.checkNoSidewaysScroll()
			tab.picture(screen, "docs")
			for _, id := range []string{"createInvoice", "event", "errors", "Resource"} {
				tab.pictureOf("#"+id+" h3", screen, "docs_"+id)
			}
			tab.click(`label[for="createInvoice-3"]`)
			tab.do(chromedp.WaitVisible(chromedp.CSS(`#createInvoice pre[aria-label$="create.py"]`)))
			tab.pictureOf("#createInvoice .tabs", screen, "docs_example")
			tab.checkNoSidewaysScroll()

			tab.typeInto("#find", "exceptions")
			clickThrough(".find button")(tab, nil)
			tab.waitFor("h1", "Search the manual", nil)
			clickThrough(`.hits a[href="/docs/settlement#exceptions"]`)(tab, nil)
			tab.waitFor("h1", "Settlement", nil)
			tab.pictureOf("#exceptions + table", screen, "manual_table")
			tab.checkNoSidewaysScroll()
			if screen.width < 960 {
				tab.click(".pages summary")
			}
			clickThrough(`.pages a[href="/docs/webhooks"]`)(tab, nil)
			tab.waitFor("h1", "Webhooks", nil)
			tab.checkConsole()
		})
	}
}
