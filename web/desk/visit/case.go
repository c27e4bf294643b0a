package visit

import (
	"slices"

	"chequer/internal/invoice"
	"chequer/views"
	"chequer/views/desk"
)

// The path segments, below the page of an invoice, of the actions that several screens link to.
const (
	Accept  = "accept"
	Cancel  = "cancel"
	Requote = "requote"
	Snooze  = "snooze"
	Refund  = "refund"
)

// Case returns the view of an invoice that waits for a decision, with its default action.
func (v *Visit) Case(inv *invoice.Invoice) desk.Case {
	s, e := inv.Summary(), v.Invoices.Evaluation(inv)
	state, address := v.StateOf(inv), v.Below("/payments/"+s.ID)
	if isRefundRequested(s, e) {
		state = desk.State{Text: v.Text("desk.state.requested"), Shape: "warn"}
	}
	return desk.Case{
		Heading: v.Text("desk.attention.case", "Name", v.InvoiceName(s.OrderID, s.ID), "State", state.Text), URL: address, Shape: state.Shape,
		Text:   v.Text("desk.attention.text", "Price", v.Fiat(s.Price), "Paid", v.Fiat(s.Paid), "Time", v.Clock(s.CreatedAt)),
		Action: v.defaultAction(inv, s, e, address), Snooze: views.Link{Text: v.Text("desk.snooze.ask"), URL: address + "/" + Snooze},
	}
}

// Decisions returns the decisions that an invoice allows now. If the payment settings of the shop cannot be read,
// every acceptance of less than the price has a high risk.
func (v *Visit) Decisions(e *invoice.Evaluation) invoice.Decisions {
	p, err := v.PaymentSettings.Effective(v.Request().Context(), v.Shop.ID)
	if err != nil {
		v.Log.ErrorContext(v.Request().Context(), "limit of acceptance not read", "error", err)
	}
	return e.Decisions(v.Now(), invoice.Tolerance(p.ShortLimit))
}

// defaultAction returns the link to the action that usually resolves a case: the page with the consequences of a
// decision that the invoice allows, or the page of the invoice, which has the given address.
func (v *Visit) defaultAction(inv *invoice.Invoice, s invoice.Summary, e *invoice.Evaluation, address string) views.Link {
	d := v.Decisions(e)
	late := s.Has(invoice.Late) || s.Has(invoice.Older)
	switch {
	case slices.ContainsFunc(inv.Refunds, invoice.Refund.Pending), s.Has(invoice.RefundInTrouble):
		return views.Link{Text: v.Text("desk.refund.open"), URL: address + "/" + Refund}
	case isRefundRequested(s, e):
		return views.Link{Text: v.Text("desk.refund.prepare"), URL: address + "/" + Refund}
	case s.Has(invoice.Overpaid) && !late && !s.Has(invoice.WrongAsset) && s.Status == invoice.Paid:
		return views.Link{Text: v.Text("desk.refund.surplus", "Amount", v.Fiat(s.Overpaid)), URL: address + "/" + Refund}
	case s.Status == invoice.Paid, s.Has(invoice.Overpaid), s.Has(invoice.WrongAsset), s.Has(invoice.WasReorged): // no usual decision
	case s.Has(invoice.Underpaid) && !late && d.Requote:
		return views.Link{Text: v.Text("desk.requote.ask", "Amount", v.Fiat(s.Due)), URL: address + "/" + Requote}
	case (late || s.Has(invoice.Underpaid)) && d.Accept:
		return views.Link{Text: v.Text("desk.accept.ask"), URL: address + "/" + Accept}
	}
	return views.Link{Text: v.Text("desk.attention.open"), URL: address}
}

// isRefundRequested reports whether the shopper gave an address for a refund. With a late payment, the address does not
// request a refund yet, because the merchant may accept the payment.
func isRefundRequested(s invoice.Summary, e *invoice.Evaluation) bool {
	_, asked := e.Declinable()
	return asked && !s.Has(invoice.Late) && !s.Has(invoice.Older)
}
