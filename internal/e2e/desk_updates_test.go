package e2e_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// Open pages of the desk show changes of the shop without a reload, and keep typed text.
func TestDesk_pages_update_themselves(t *testing.T) {
	t.Parallel()
	site := newDemoSite(t)
	shopper := openAlone(t, screen{width: 390, height: 844})
	atInvoice(forOrder, api.SimulateExact, api.SimulateConfirm)(shopper, site)

	merchant := openAlone(t, screen{width: 1280, height: 900})
	signedIn("/payments?mode=test")(merchant, site.in(t))
	get(merchant, chromedp.Evaluate[bool](`window.kept = true`))
	merchant.do(chromedp.SendKeys(chromedp.CSS("#q"), "10"))
	rows := get(merchant, chromedp.Evaluate[int](`document.querySelectorAll("tbody tr").length`))
	atInvoice(nil, api.SimulateExact, api.SimulateConfirm)(shopper, site)
	merchant.waitFor("#new a", "1 new", nil)
	if got := get(merchant, chromedp.Evaluate[string](`[window.kept, q.value, document.querySelectorAll("tbody tr").length, document.activeElement.id].join()`)); got != "true,10,1,q" {
		t.Errorf("loaded once, text, rows and focus are %q, want %q", got, "true,10,1,q")
	}
	merchant.click("#new a")
	merchant.waitFor("tbody tr:nth-child(2)", "1042", nil)
	if got := get(merchant, chromedp.Evaluate[int](`document.querySelectorAll("tbody tr").length`)); got != rows+1 {
		t.Errorf("%d rows after the click, want %d", got, rows+1)
	}

	// The page of a payment changes from Waiting to Paid.
	order := site.shop()
	id, err := order.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR"}, "")
	merchant.check(err)
	merchant.visit(site.owner.url + deskShop + "/payments/" + id)
	get(merchant, chromedp.Evaluate[bool](`window.kept = true`))
	merchant.waitFor("main", "Waiting", nil)
	order.simulate(id, api.SimulateExact, api.SimulateConfirm)
	merchant.waitFor("main", "Paid", nil)
	merchant.waitFor("#updated", "The page was updated.", nil)
	if !get(merchant, chromedp.Evaluate[bool](`window.kept === true`)) {
		t.Error("the page was loaded again as a whole")
	}
}
