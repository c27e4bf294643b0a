package e2e_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/api"
)

// deskTask is a task of a merchant: the links from Overview to the page on which it is done, and a text of an element
// of that page.
type deskTask struct {
	name    string
	links   []string // selectors
	element string
	text    string
}

// maxClicks is the largest number of links from Overview to a task.
const maxClicks = 3

// deskTasks are the tasks of a merchant.
var deskTasks = []deskTask{
	{"see the payments of today", nil, "main", "Today"},
	{"decide about a late payment", []string{`main a[href$="/accept"]`}, "#decide", "Accept as paid"},
	{"find an order", []string{`main a[href$="/payments?mode=test"]`, `.rows tr:last-child a`}, "main", "1042"},
	{"requote a short payment", []string{`main a[href$="/requote"]`}, "#decide", "Requote"},
	{"refund a surplus", []string{`main a.b[href$="/refund"]`}, "h1", "Refund"},
	{"find what needs attention", []string{`.rail a[href$="/attention"]`}, "h1", "Needs attention"},
	{"change a price", []string{`.rail a[href$="/products"]`, `.seg a[href*="mode=test"]`, `.rows a[href*="/products/coffee"]`}, "#price", ""},
	{"open a counter", []string{`.rail a[href$="/products"]`, `.tabs a[href*="/terminals"]`, `.hrow a.go`}, "#name", ""},
	{"get the code of a button", []string{`.rail a[href$="/products"]`, `.tabs a[href*="/storefront"]`}, "h1", "Sell"},
	{"see which webhook fails", []string{`.rail a[href$="/keys"]`, `.tabs a[href*="/webhooks"]`, `.rows a`}, "main", "Send test event"},
	{"see whether the networks are scanned", []string{`.rail a[href$="/health"]`}, "main", "Networks"},
	{"export the payments of a month", []string{`.rail a[href$="/reports"]`, `.seg a[href*="mode=test"]`}, `form[action$="/reports/export"] button`, "Download"},
	{"invite a colleague", []string{`.rail a[href$="/theme"]`, `.tabs a[href$="/accounts"]`}, "#invite", "Create"},
	{"change how long a price is held", []string{`.rail a[href$="/theme"]`, `.tabs a[href$="/payment-settings"]`}, "#quote_minutes", ""},
	{"change the logo", []string{`.rail a[href$="/theme"]`}, "#logo", ""},
	{"make a backup", []string{`.rail a[href$="/theme"]`, `.tabs a[href$="/backup"]`}, "#passphrase", ""},
	{"see who changed what", []string{`.rail a[href$="/theme"]`, `.tabs a[href$="/log"]`}, "main", "Product"},
}

// walletTasks are the tasks of a merchant that a demo does not have.
var walletTasks = []deskTask{
	{"add a wallet", []string{`.rail a[href$="/wallets"]`, `.list a[href$="/wallets/add?asset=LTC"]`}, "#key", ""},
	{"replace a wallet", []string{`.rail a[href$="/wallets"]`, `.cards a[href$="/wallets/add?asset=BTC"]`}, "#key", ""},
}

// follow follows the links from Overview, which the tab shows, to a task.
func (b *tab) follow(task deskTask) {
	b.t.Helper()
	if len(task.links) > maxClicks {
		b.t.Errorf("%d clicks, want at most %d", len(task.links), maxClicks)
	}
	for _, link := range task.links {
		b.send(link)
	}
	b.waitFor(task.element, task.text, nil)
	if !get(b, chromedp.Evaluate[bool](fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, task.element))) {
		b.t.Errorf("%s is not visible", task.element)
	}
}

// TestDesk_tasks_need_few_clicks follows the links from Overview to each task, without JavaScript.
func TestDesk_tasks_need_few_clicks(t *testing.T) {
	site := newDemoSite(t)
	tab := openAlone(t, screen{width: 1280, height: 900, noJS: true})
	atInvoice(forOrder, api.SimulateLate, api.SimulateConfirm)(tab, site)
	atInvoice(nil, api.SimulateUnder, api.SimulateConfirm)(tab, site)
	short := api.SimulateRequest{Action: api.SimulateClock, Seconds: 2 * 24 * 3600}
	tab.check(site.shop().client.Simulate(t.Context(), idOf(site.page), short))
	atInvoice(nil, api.SimulateOver, api.SimulateConfirm)(tab, site)
	atInvoice(nil, api.SimulateExact, api.SimulateConfirm)(tab, site)
	withWebhook(tab, site)
	for _, task := range deskTasks {
		t.Run(task.name, func(t *testing.T) {
			tab := openAlone(t, screen{width: 1280, height: 900, noJS: true})
			signedIn("?mode=test")(tab, site.in(t))
			tab.follow(task)
		})
	}
	for _, task := range walletTasks {
		t.Run(task.name, func(t *testing.T) {
			tab := openAlone(t, screen{width: 1280, height: 900, noJS: true})
			withWallets(tab, site.in(t))
			tab.send(`.rail a[href$="` + deskShop + `"]`)
			tab.follow(task)
		})
	}
}
