package desk

import (
	"slices"

	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/views"
	"chequer/views/desk"
)

// fiat returns an amount of money as pages show it.
func (v *visit) fiat(a money.Amount) string { return v.Words.Fiat(a.String(), a.Currency().Code) }

// nameOf returns the name of an invoice: its order, or its reference if it has none.
func (v *visit) nameOf(order, id string) string {
	if order != "" {
		return order
	}
	return views.Reference(id)
}

// facts are the facts about an invoice that its state is made of.
type facts struct {
	status     invoice.Status
	exceptions []invoice.Exception
	accepted   bool
	decision   bool   // the invoice waits for a decision of the merchant
	due        string // as pages show it
}

// stateOf returns the state of an invoice: a word and a shape.
func (v *visit) stateOf(f facts) desk.State {
	has := func(e invoice.Exception) bool { return slices.Contains(f.exceptions, e) }
	switch {
	case has(invoice.WasReorged) && f.status != invoice.Paid:
		return desk.State{Text: v.text("desk.state.reverted"), Shape: "bad"}
	case f.decision && has(invoice.Late):
		return desk.State{Text: v.text("desk.state.late"), Shape: "warn"}
	case f.decision && has(invoice.Overpaid):
		return desk.State{Text: v.text("desk.state.overpaid"), Shape: "warn"}
	case f.decision && has(invoice.WrongAsset):
		return desk.State{Text: v.text("desk.state.wrong"), Shape: "warn"}
	case f.decision && has(invoice.Older):
		return desk.State{Text: v.text("desk.state.older"), Shape: "warn"}
	case has(invoice.Underpaid) && !f.accepted && f.status != invoice.Paid:
		return desk.State{Text: v.text("desk.state.short", "Amount", f.due), Shape: "warn"}
	}
	return v.plainState(f.status)
}

// plainState returns the state of an invoice about which nothing is to be decided.
func (v *visit) plainState(s invoice.Status) desk.State {
	switch s {
	case invoice.Paid:
		return desk.State{Text: v.text("desk.state.paid"), Shape: "ok"}
	case invoice.Pending:
		return desk.State{Text: v.text("desk.state.seen"), Shape: "wait"}
	case invoice.Expired:
		return desk.State{Text: v.text("desk.state.expired"), Shape: "off"}
	case invoice.Declined:
		return desk.State{Text: v.text("desk.state.cancelled"), Shape: "off"}
	}
	return desk.State{Text: v.text("desk.state.waiting"), Shape: "wait"}
}

// transferStates are the words and shapes of the states of a payment.
var transferStates = map[invoice.PaymentState][2]string{
	invoice.PaymentSeen:       {"desk.transfer.seen", "wait"},
	invoice.PaymentConfirmed:  {"desk.transfer.confirmed", "ok"},
	invoice.PaymentLate:       {"desk.state.late", "warn"},
	invoice.PaymentReplaced:   {"desk.transfer.replaced", "off"},
	invoice.PaymentReorged:    {"desk.state.reverted", "bad"},
	invoice.PaymentDust:       {"desk.transfer.dust", "off"},
	invoice.PaymentOld:        {"desk.state.older", "warn"},
	invoice.PaymentWrongAsset: {"desk.state.wrong", "warn"},
}

// transferState returns the state of a payment as pages show it.
func (v *visit) transferState(s invoice.PaymentState) desk.State {
	words, known := transferStates[s]
	if !known {
		return desk.State{Text: string(s), Shape: "off"}
	}
	return desk.State{Text: v.text(words[0]), Shape: words[1]}
}
