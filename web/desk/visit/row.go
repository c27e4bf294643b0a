package visit

import (
	"net/url"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/views"
	"chequer/views/desk"
)

// PaymentRow returns an invoice as a row of a list. Its method is that of the payment or, before one counts, of the
// first received amount.
func (v *Visit) PaymentRow(s invoice.Summary) desk.PaymentRow {
	row := desk.PaymentRow{
		Name: v.InvoiceName(s.OrderID, s.ID), URL: v.Below("/payments/" + s.ID), Description: s.Description,
		State: v.InvoiceState(s),
		Time:  wire.Time(s.CreatedAt), At: v.Clock(s.CreatedAt), Amount: v.Fiat(s.Price),
	}
	code := s.PaidAsset
	if code == "" && len(s.Received) > 0 {
		code = s.Received[0].Asset
	}
	row.Method, row.Network = v.AssetName(s.Mode, code)
	return row
}

// AssetName returns the name of an asset, and its network if the name does not imply it: "Bitcoin", and
// "EURC" on "Base". The name of Lightning is that of its network.
func (v *Visit) AssetName(mode invoice.Mode, code string) (name, network string) {
	a, known := v.Invoices.AssetByCode(mode, code)
	switch {
	case !known:
		return code, ""
	case a.Contract != "":
		return a.Symbol, a.NetworkName
	case a.Symbol != a.Code && a.Name != a.NetworkName:
		return a.Name, a.NetworkName
	}
	return a.Name, ""
}

// KeyName returns the label of an API key, or its first characters if it has none.
func KeyName(k merchant.Key) string {
	if k.Label != "" {
		return k.Label
	}
	return ShortKey(k)
}

// ShortKey returns the first characters of an API key, by which a merchant recognises it.
func ShortKey(k merchant.Key) string { return k.Key[:min(8, len(k.Key))] + "…" }

// CopyButton returns the button that copies the text of the element with an id.
func (v *Visit) CopyButton(id string) desk.Copy {
	return desk.Copy{ID: id, Text: v.Text("desk.copy"), Done: v.Text("desk.copied"), Fail: v.Text("desk.copy.failed")}
}

// Explorers returns the explorers that the merchant chose. If the payment settings cannot be read, there are none.
func (v *Visit) Explorers() merchant.Explorers {
	p, err := v.PaymentSettings.Effective(v.Request().Context(), v.Shop.ID)
	if err != nil {
		v.Log.ErrorContext(v.Request().Context(), "explorers not read", "error", err)
	}
	return p.Explorers
}

// ExplorerLink returns the link to a page of an explorer; the zero Link if the address is "".
func (v *Visit) ExplorerLink(address string) views.Link {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return views.Link{}
	}
	return views.Link{Text: v.Text("desk.explorer.open", "Host", u.Host), URL: address}
}
