package present

import (
	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/static"
	"chequer/views"
)

// Terminal returns the form of a terminal with the given secret.
func (f Frame) Terminal(terminal api.CheckoutLink, secret string, typed Typed, problem *Problem) views.Terminal {
	page := views.Terminal{
		Page: f.Page("", terminal.MerchantName, "pos.css"), Form: f.form("/order/pos/"+secret, terminal.FiatCurrency, typed, problem),
		Name:  printable(terminal.Description),
		Asked: []views.TextField{f.referenceField("order_id", "product.reference", typed), f.noteField("note", "terminal.note", typed)},
	}
	page.Script = f.Path(static.Path("pos.js"))
	page.Title = f.errorTitle(f.Text("terminal.title", "Shop", page.Shop), problem)
	f.installable(&page.Page, secret)
	switch {
	case f.Demo:
		page.TestNotice = f.Text("product.demo")
	case terminal.Mode == "test":
		page.TestNotice = f.Text("terminal.test")
	}
	return page
}

// TerminalPayment returns the page of an invoice on a terminal.
func (f Frame) TerminalPayment(snapshot client.Snapshot, secret, method string) views.TerminalPayment {
	terminalURL := f.Path("/pos/" + secret)
	snapshot.Resource = lightningFirst(snapshot.Resource)
	page := views.TerminalPayment{
		Payment: f.Payment(snapshot, method, false), Next: views.Link{Text: f.Text("terminal.next"), URL: f.WithLanguage(terminalURL)},
	}
	// The page has no link that leads away from the terminal.
	page.LanguageURL, page.FrameScript, page.AutoReturn, page.Back, page.Auto = "", "", false, views.Link{}, views.Link{}
	page.Check.URL = terminalURL + "/" + snapshot.Resource.ForeignID + "?m="
	for i := range page.Methods {
		if form := &page.Methods[i].RequestForm; form.Action != "" {
			form.Action = f.WithLanguage(terminalURL + "/" + snapshot.Resource.ForeignID + "/request")
		}
	}
	page.Style, page.Script, page.Scripts = f.sheet("counter.css"), f.Path(static.Path("pay.js")), []string{f.Path(static.Path("pos.js"))}
	f.installable(&page.Page, secret)
	return page
}

// installable adds the manifest and the icon to a page, so that a phone can install it as an app.
func (f Frame) installable(page *views.Page, secret string) {
	page.Manifest, page.Touch = f.Path("/pos/"+secret+"/app.webmanifest"), f.Path("/pos/icon-192.png")
}
