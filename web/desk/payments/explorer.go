package payments

import (
	"chequer/internal/merchant"
	"chequer/views"
	"chequer/views/desk"
)

// explorers returns the explorers that the merchant chose. If the payment settings cannot be read, there are none.
func (v *page) explorers() merchant.Explorers {
	p, err := v.PaymentSettings.Effective(v.Request().Context(), v.Shop.ID)
	if err != nil {
		v.Log.ErrorContext(v.Request().Context(), "explorers not read", "error", err)
	}
	return p.Explorers
}

// setExplorerLink sets a link of a transfer to a page of an explorer, with the note about the explorer. It does nothing if the
// address is "".
func (v *page) setExplorerLink(t *desk.Transfer, to *views.Link, address string) {
	if address == "" {
		return
	}
	name := host(address)
	*to = views.Link{Text: v.Text("desk.explorer.open", "Host", name), URL: address}
	t.Note = v.Text("desk.explorer.note")
}
