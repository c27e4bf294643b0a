package payments

import (
	"chequer/internal/invoice"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// paymentStates maps the state of a payment to the key of its text and to its shape.
var paymentStates = map[invoice.PaymentState]struct{ text, shape string }{
	invoice.PaymentSeen:       {"desk.transfer.seen", "wait"},
	invoice.PaymentConfirmed:  {"desk.transfer.confirmed", "ok"},
	invoice.PaymentLate:       {"desk.state.late", "warn"},
	invoice.PaymentReplaced:   {"desk.transfer.replaced", "off"},
	invoice.PaymentReorged:    {"desk.state.reverted", "bad"},
	invoice.PaymentDust:       {"desk.transfer.dust", "off"},
	invoice.PaymentOld:        {"desk.state.older", "warn"},
	invoice.PaymentWrongAsset: {"desk.state.wrong", "warn"},
}

// paymentState returns the state of a payment as pages show it.
func (v *page) paymentState(p invoice.Payment) desk.State {
	if d := v.Doubt(p); d != visit.NoDoubt {
		return v.DoubtState(d)
	}
	state, known := paymentStates[p.State]
	if !known {
		return desk.State{Text: string(p.State), Shape: "off"}
	}
	return desk.State{Text: v.Text(state.text), Shape: state.shape}
}
