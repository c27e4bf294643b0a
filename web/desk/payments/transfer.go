package payments

import (
	"chequer/internal/invoice"
	"chequer/views/desk"
)

// transferStates are the keys of the texts, and the symbols, of the states of a payment.
var transferStates = map[invoice.PaymentState]struct{ text, shape string }{
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
func (v *page) transferState(s invoice.PaymentState) desk.State {
	state, known := transferStates[s]
	if !known {
		return desk.State{Text: string(s), Shape: "off"}
	}
	return desk.State{Text: v.Text(state.text), Shape: state.shape}
}
