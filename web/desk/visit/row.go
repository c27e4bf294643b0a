package visit

import (
	"chequer/internal/invoice"
	"chequer/internal/wire"
	"chequer/views/desk"
)

// Row returns an invoice as a row of the list.
func (v *Visit) Row(s invoice.Summary) desk.PaymentRow {
	row := desk.PaymentRow{
		Name: v.NameOf(s.OrderID, s.ID), URL: v.Below("/payments/" + s.ID), Description: s.Description,
		State: v.StateOf(s),
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
// "EURC" on "Base".
func (v *Visit) AssetName(mode invoice.Mode, code string) (name, network string) {
	a, known := v.Invoices.AssetByCode(mode, code)
	switch {
	case !known:
		return code, ""
	case a.Contract != "":
		return a.Symbol, a.NetworkName
	case a.Symbol != a.Code:
		return a.Name, a.NetworkName
	}
	return a.Name, ""
}

// Copying returns the button that copies the text of the element with an id.
func (v *Visit) Copying(id string) desk.Copy {
	return desk.Copy{ID: id, Text: v.Text("desk.copy"), Done: v.Text("desk.copied"), Fail: v.Text("desk.copy.failed")}
}
