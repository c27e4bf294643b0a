package sell

import (
	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// Paths of the tabs, relative to the shop.
const (
	productsPath  = "/products"
	linksPath     = "/links"
	terminalsPath = "/terminals"

	storefrontPath = "/storefront"
)

// tabs returns the tabs that the account may see. current is the path of the open tab.
func (v *page) tabs(current string, mode merchant.Mode) []desk.Tab {
	var tabs []desk.Tab
	for _, t := range []struct {
		path, text string
		needs      account.Permission
	}{
		{productsPath, "desk.products", account.Sell},
		{linksPath, "desk.links", account.Sell},
		{terminalsPath, "desk.terminals", account.Configure},
		{storefrontPath, "desk.storefront", account.Sell},
	} {
		if v.May(t.needs) {
			tabs = append(tabs, desk.Tab{Text: v.Text(t.text), URL: v.BelowIn(t.path, mode == merchant.Test), Current: t.path == current})
		}
	}
	return tabs
}

// mode returns the mode that the query selects.
func (v *page) mode() merchant.Mode {
	if v.IsTest() {
		return merchant.Test
	}
	return merchant.Live
}

// salesLink returns the link to the payments of a product, a checkout link or a terminal.
func (v *page) salesLink(kind invoice.OriginKind, id string, mode merchant.Mode) views.Link {
	return views.Link{Text: v.Text("desk.payments"), URL: v.BelowIn("/payments?source="+string(kind)+":"+id, mode == merchant.Test)}
}

// listFrame returns the frame of a page whose content exists in both modes. path is the path of the page.
func (v *page) listFrame(title, path string, mode merchant.Mode) (desk.Frame, error) {
	return v.FrameIn(title, visit.SellPath, path, mode == merchant.Test)
}

// objectFrame returns the frame of the page of a product, a checkout link or a terminal, which exists in one mode.
func (v *page) objectFrame(title string, mode merchant.Mode) (desk.Frame, error) {
	return v.FrameOf(title, visit.SellPath, mode == merchant.Test)
}
