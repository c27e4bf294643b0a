package visit

import (
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/views"
	"chequer/views/desk"
)

// Fiat returns an amount of money as pages show it.
func (v *Visit) Fiat(a money.Amount) string { return v.Words.Fiat(a.String(), a.Currency().Code) }

// InvoiceName returns the name of an invoice: its order number or, if it has none, its reference.
func (v *Visit) InvoiceName(order, id string) string {
	if order != "" {
		return order
	}
	return views.Reference(id)
}

// InvoiceState returns the state of an invoice, as text with a symbol. An invoice has the symbol of attention exactly if it
// waits for a decision of the merchant, and is not reverted.
func (v *Visit) InvoiceState(s invoice.Summary) desk.State {
	undecided := s.NeedsDecision()
	switch {
	case isReverted(s):
		return desk.State{Text: v.Text("desk.state.reverted"), Shape: "bad"}
	case isLate(s):
		return desk.State{Text: v.Text("desk.state.late"), Shape: "warn"}
	case s.RefundAsked:
		return desk.State{Text: v.Text("desk.state.requested"), Shape: "warn"}
	case s.Has(invoice.RefundInTrouble):
		return desk.State{Text: v.Text("desk.state.refund"), Shape: "warn"}
	case undecided && s.Has(invoice.Overpaid):
		return desk.State{Text: v.Text("desk.state.overpaid"), Shape: "warn"}
	case undecided && s.Has(invoice.WrongAsset):
		return desk.State{Text: v.Text("desk.state.wrong"), Shape: "warn"}
	case undecided && s.Has(invoice.Older):
		return desk.State{Text: v.Text("desk.state.older"), Shape: "warn"}
	case s.Has(invoice.Underpaid) && !s.Accepted && s.Status != invoice.Paid:
		return desk.State{Text: v.Text("desk.state.short", "Amount", v.Fiat(s.Due)), Shape: shortShape(s, undecided)}
	}
	return v.plainState(s.Status)
}

// isReverted reports whether a payment of an invoice was reverted, and the invoice is not paid.
func isReverted(s invoice.Summary) bool { return s.Has(invoice.WasReorged) && s.Status != invoice.Paid }

// isLate reports whether the state of an invoice is that of a late payment, which waits for a decision.
func isLate(s invoice.Summary) bool {
	return !isReverted(s) && s.NeedsDecision() && s.Has(invoice.Late) && !s.Accepted
}

// shortShape returns the symbol of an invoice of which a part is missing: that of attention if the merchant must decide, that
// of waiting while the shopper can still pay, otherwise that of the end.
func shortShape(s invoice.Summary, undecided bool) string {
	switch {
	case undecided:
		return "warn"
	case s.Status == invoice.Expired || s.Status == invoice.Declined:
		return "off"
	}
	return "wait"
}

// plainState returns the state of an invoice that needs no decision.
func (v *Visit) plainState(s invoice.Status) desk.State {
	switch s {
	case invoice.Paid:
		return desk.State{Text: v.Text("desk.state.paid"), Shape: "ok"}
	case invoice.Pending:
		return desk.State{Text: v.Text("desk.state.seen"), Shape: "wait"}
	case invoice.Expired:
		return desk.State{Text: v.Text("desk.state.expired"), Shape: "off"}
	case invoice.Declined:
		return desk.State{Text: v.Text("desk.state.cancelled"), Shape: "off"}
	}
	return desk.State{Text: v.Text("desk.state.waiting"), Shape: "wait"}
}

// Tally returns the numbers of the shop's invoices. On a page of all shops it returns only the numbers of undecided and
// of snoozed invoices. It reads the numbers once, because both the frame and the page show them.
func (v *Visit) Tally(mode invoice.Mode) (invoice.Tally, error) {
	if t, ok := v.tallies[mode]; ok {
		return t, nil
	}
	read := func() (invoice.Tally, error) { return v.Invoices.Tally(v.Request().Context(), v.Shop.ID, mode) }
	if v.Shop.ID == allShops {
		read = func() (invoice.Tally, error) { return v.tallyOfAllShops(mode) }
	}
	t, err := read()
	if err != nil {
		return t, err
	}
	if v.tallies == nil {
		v.tallies = map[invoice.Mode]invoice.Tally{}
	}
	v.tallies[mode] = t
	return t, nil
}

// Doubt is the reason why a payment that arrived does not count by itself, although it may have arrived in time.
type Doubt string

// The reasons. A payment without one counts, or is late.
const (
	NoDoubt  Doubt = ""
	IsLocked Doubt = "locked" // the merchant's wallet cannot spend it before a time lock ends
	MayBeOld Doubt = "old"    // the network does not show that it is younger than the invoice
)

// Doubt returns the reason why a payment does not count by itself.
func (v *Visit) Doubt(p invoice.Payment) Doubt {
	if p.State != invoice.PaymentLate || !p.Unsure {
		return NoDoubt
	}
	if a, known := v.Invoices.KnownAsset(p.Network, p.Asset); known && a.HasTimeLocks() {
		return IsLocked
	}
	return MayBeOld
}

// DoubtOf returns the reason why a payment of an invoice does not count by itself; that of a time lock, if there are several.
func (v *Visit) DoubtOf(inv *invoice.Invoice) Doubt {
	found := NoDoubt
	for _, p := range inv.Payments() {
		switch v.Doubt(p) {
		case IsLocked:
			return IsLocked
		case MayBeOld:
			found = MayBeOld
		}
	}
	return found
}

// DoubtState returns the state of a payment with a reason why it does not count by itself.
func (v *Visit) DoubtState(d Doubt) desk.State {
	if d == IsLocked {
		return desk.State{Text: v.Text("desk.state.locked"), Shape: "warn"}
	}
	return desk.State{Text: v.Text("desk.state.unsure"), Shape: "warn"}
}

// StateOf is InvoiceState for an invoice with its payments. A payment that does not count by itself is not named late.
func (v *Visit) StateOf(inv *invoice.Invoice) desk.State {
	s := inv.Summary()
	if d := v.DoubtOf(inv); d != NoDoubt && isLate(s) {
		return v.DoubtState(d)
	}
	return v.InvoiceState(s)
}
