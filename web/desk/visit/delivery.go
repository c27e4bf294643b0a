package visit

import (
	"strconv"

	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/views/desk"
)

// deliveryNames maps the states of a delivery to the keys of their texts and to their symbols.
var deliveryNames = map[merchant.DeliveryState]struct{ text, shape string }{
	merchant.DeliveryPending: {"desk.delivery.pending", "wait"},
	merchant.DeliveryDone:    {"desk.delivery.done", "ok"},
	merchant.DeliveryFailed:  {"desk.delivery.failed", "bad"},
}

// Delivery returns a delivery as lists show it, with the address of its page.
func (v *Visit) Delivery(d merchant.Delivery, address string) desk.Delivery {
	name := deliveryNames[d.State]
	row := desk.Delivery{
		Type: d.EventType, URL: address, State: desk.State{Text: v.Text(name.text), Shape: name.shape}, Pending: d.State == merchant.DeliveryPending,
		Attempts: v.Words.Count("desk.delivery.tries", d.Attempts), Time: wire.Time(d.CreatedAt), At: v.Clock(d.CreatedAt),
	}
	if d.Attempts > 0 {
		row.Result = v.ResultText(d.LastStatus, d.LastFault)
	}
	if at := d.NotBefore(); !at.IsZero() {
		row.Next = v.Clock(at)
	}
	if d.Earlier.EventID != "" {
		row.Next = v.Text("desk.delivery.after", "Type", d.Earlier.EventType, "Time", v.Clock(d.NotBefore()))
		row.Waits = v.Text("desk.delivery.waits", "Type", d.Earlier.EventType, "Time", v.Clock(d.Earlier.NextAttemptAt))
	}
	return row
}

// ResultText returns the result of an attempt: the status of the response, or why there was none.
func (v *Visit) ResultText(status int, fault string) string {
	if fault != "" {
		return fault
	}
	return v.Text("desk.delivery.status", "Status", strconv.Itoa(status))
}
