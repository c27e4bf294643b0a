package payments

import (
	"slices"
	"strings"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/wire"
	"chequer/views/desk"
)

// moment is an entry of the timeline with its time.
type moment struct {
	at   time.Time
	step desk.Step
}

// timeline returns the steps of an invoice, oldest first. Times are on the invoice's own clock, which simulations
// advance.
func (v *page) timeline(inv *invoice.Invoice, payments []invoice.Payment) []desk.Step {
	var all []moment
	add := func(at time.Time, shape, text, detail string) {
		if !at.IsZero() {
			all = append(all, moment{at, desk.Step{Text: text, Detail: detail, Shape: shape, Time: wire.Time(at), At: v.Clock(at)}})
		}
	}
	now := v.Now().Add(inv.Clock)
	add(inv.CreatedAt, "off", v.Text("desk.step.created"), v.Text("desk.step.created.text", "Amount", v.Fiat(inv.Terms.Price), "Time", v.Clock(inv.Quotes[0].Until)))
	for i, q := range inv.Quotes {
		if i > 0 {
			add(q.From, "off", v.Text("desk.step.requoted"), v.Text("desk.step.requoted.text", "Amount", v.Fiat(q.Due), "Time", v.Clock(q.Until)))
		}
		if q.Until.Before(now) && inv.State.Status != invoice.Paid {
			add(q.Until, "off", v.Text("desk.step.ended"), "")
		}
	}
	for _, p := range payments {
		state := v.paymentState(p)
		add(p.FirstSeen, seenShape(p), v.Text("desk.step.seen"), v.Text("desk.step.seen.text", "Amount", v.coins(p.Transfer), "State", state.Text))
		if p.State == invoice.PaymentConfirmed {
			text := "desk.step.block"
			if m, known := inv.Method(p.Network, p.Asset); known && m.Asset.Requested() {
				text = "desk.step.settled"
			}
			add(p.ConfirmedAt, "ok", v.Text(text), v.coins(p.Transfer))
		}
	}
	add(inv.FirstPaidAt, "ok", v.Text("desk.step.paid"), "")
	if !inv.State.PaidAt.Equal(inv.FirstPaidAt) {
		add(inv.State.PaidAt, "ok", v.Text("desk.step.again"), "")
	}
	if !inv.AcceptedAt.IsZero() {
		add(inv.AcceptedAt, "ok", v.Text("desk.step.accepted"), v.Text("desk.step.by", "Actor", v.actorName(inv.AcceptedBy)))
	}
	for _, r := range inv.Refunds {
		amount := v.assetAmount(r.Network, r.Asset, r.Amount)
		step := func(m invoice.Mark, shape, id string) {
			add(m.At, shape, v.Text(id, "Amount", amount), strings.TrimSpace(v.Text("desk.step.by", "Actor", v.actorName(m.By))))
		}
		if r.Asked != r.Prepared {
			step(r.Asked, "warn", "desk.step.refund.asked")
		}
		step(r.Prepared, "wait", "desk.step.refund.ready")
		step(r.Sent, "ok", "desk.step.refund.sent")
		if r.State == invoice.RefundDeclined {
			step(r.Closed, "off", "desk.step.refund.declined")
		} else {
			step(r.Closed, "off", "desk.step.refund.cancelled")
		}
	}
	if !inv.Kept.At.IsZero() {
		add(inv.Kept.At, "off", v.Text("desk.step.kept", "Amount", v.Fiat(inv.Kept.Amount)), strings.TrimSpace(v.Text("desk.step.by", "Actor", v.actorName(inv.Kept.By))+" "+inv.Kept.Reason))
	}
	add(inv.DeclinedAt, "off", v.Text("desk.step.cancelled"), "")
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	var steps []desk.Step
	for _, m := range all {
		steps = append(steps, m.step)
	}
	return steps
}

// seenShape returns the symbol of the first sighting of a payment.
func seenShape(p invoice.Payment) string {
	if isCounted(p) {
		return "wait"
	}
	return paymentStates[p.State].shape
}
