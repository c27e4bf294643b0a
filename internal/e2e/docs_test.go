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
	for _, s := range append(screens, dark, screen{name: "narrow", width: 320, height: 700}) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s)
			b.recordTraffic()
			b.visit(url + "/docs")
			b.checkNoSidewaysScroll()
			b.picture(s, "docs_overview")
			leave(`.lead a[href="/docs/api"]`)(b, nil)
			b.waitFor("h1", "API", nil)
			b.checkNoSidewaysScroll()
			b.picture(s, "docs")
			for _, id := range []string{"createInvoice", "event", "errors", "Resource"} {
				b.pictureOf("#"+id+" h3", s, "docs_"+id)
			}
			b.click(`label[for="createInvoice-3"]`)
			b.do(chromedp.WaitVisible(chromedp.CSS(`#createInvoice pre[aria-label$="create.py"]`)))
			b.pictureOf("#createInvoice .tabs", s, "docs_example")
			b.checkNoSidewaysScroll()

			b.types("#find", "exceptions")
			leave(".find button")(b, nil)
			b.waitFor("h1", "Search the manual", nil)
			leave(`.hits a[href="/docs/settlement#exceptions"]`)(b, nil)
			b.waitFor("h1", "Settlement", nil)
			b.pictureOf("#exceptions + table", s, "manual_table")
			b.checkNoSidewaysScroll()
			if s.width < 960 {
				b.click(".pages summary")
			}
			leave(`.pages a[href="/docs/webhooks"]`)(b, nil)
			b.waitFor("h1", "Webhooks", nil)
			b.checkConsole()
		})
	}
}
