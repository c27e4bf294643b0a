package invoice

import (
	"time"
)

// EventType is the type of an event: noun, dot, participle.
type EventType string

// The events of an invoice.
const (
	EventCreated          EventType = "invoice.created"
	EventPending          EventType = "invoice.pending"
	EventPaid             EventType = "invoice.paid"
	EventExpired          EventType = "invoice.expired"
	EventDeclined         EventType = "invoice.declined"
	EventRequoted         EventType = "invoice.requoted"
	EventReverted         EventType = "invoice.reverted"
	EventPaymentSeen      EventType = "payment.seen"
	EventPaymentConfirmed EventType = "payment.confirmed"
	EventPaymentReplaced  EventType = "payment.replaced"
	EventPaymentReorged   EventType = "payment.reorged"
	EventException        EventType = "exception.raised"
	EventSaleFilled       EventType = "conversion.filled"
	EventSaleFailed       EventType = "conversion.failed"
	EventRefundRequested  EventType = "refund.requested"
	EventRefundCreated    EventType = "refund.created"
	EventRefundSent       EventType = "refund.sent"
	EventRefundConfirmed  EventType = "refund.confirmed"
	EventRefundCancelled  EventType = "refund.cancelled"
	EventRefundDeclined   EventType = "refund.declined"
)

// EventTypes lists all event types of invoices.
var EventTypes = []EventType{
	EventCreated, EventPending, EventPaid, EventExpired, EventDeclined, EventRequoted, EventReverted,
	EventPaymentSeen, EventPaymentConfirmed, EventPaymentReplaced, EventPaymentReorged, EventException,
	EventSaleFilled, EventSaleFailed, EventRefundRequested, EventRefundCreated, EventRefundSent, EventRefundConfirmed, EventRefundCancelled, EventRefundDeclined,
}

// Event is something that happened to an invoice. It is written in the transaction of the change,
// with the body that will be sent, so that every attempt sends the same bytes.
type Event struct {
	ID        string
	Type      EventType
	Version   int64
	CreatedAt time.Time
	Body      []byte
	// Position is the event's position in the merchant's feed, set when the event is written.
	Position int64
}

// Message is something that a shop plug-in learns about an invoice, in a format of its own. It is written in the
// transaction of the change.
type Message struct {
	ID        string
	Type      string
	CreatedAt time.Time
	Body      []byte
}

// eventTypesOf returns the types of the events of a change from before to after. It skips transfers
// whose ID is in ignored.
func eventTypesOf(before, after *Invoice, ignored map[string]bool) []EventType {
	var list []EventType
	if len(after.Quotes) > len(before.Quotes) {
		list = append(list, EventRequoted)
	}
	list = append(list, transferEventTypes(before, after, ignored)...)
	status := statusEventTypes(before.State.Status, after.State.Status)
	if status == nil && after.State.Status == Pending && !after.AcceptedAt.Equal(before.AcceptedAt) {
		status = []EventType{EventPending} // the amount due changed, and the status did not
	}
	list = append(list, status...)
	for _, e := range after.State.Exceptions {
		if !before.State.Has(e) {
			list = append(list, EventException)
			break
		}
	}
	return append(list, refundEventTypes(before, after)...)
}

// refundEvents are the types of the events of refunds that enter a state.
var refundEvents = map[RefundState]EventType{
	RefundSent: EventRefundSent, RefundConfirmed: EventRefundConfirmed, RefundCancelled: EventRefundCancelled, RefundDeclined: EventRefundDeclined,
}

// refundEventTypes returns the types of the events of refunds. A change concerns one refund, except that a
// refund address may complete several that have no address. By giving an address, the shopper asks for a refund.
func refundEventTypes(before, after *Invoice) (list []EventType) {
	if before.RefundAddress.IsZero() && !after.RefundAddress.IsZero() {
		list = append(list, EventRefundRequested)
	}
	for i, r := range after.Refunds {
		t, isNew := refundEvents[r.State], i >= len(before.Refunds)
		switch {
		case r.Pending() && (isNew || before.Refunds[i].Requested()):
			list = append(list, EventRefundCreated)
		case t != "" && (isNew || before.Refunds[i].State != r.State && !(r.State == RefundSent && before.Refunds[i].State == RefundConfirmed)):
			list = append(list, t)
		}
	}
	return list
}

// transferEventTypes returns the types of the events of transfers. It returns each type once, because
// the body of an event describes all transfers.
func transferEventTypes(before, after *Invoice, ignored map[string]bool) []EventType {
	known := before.byID()
	conflictsBefore, conflictsAfter := newConflicts(before), newConflicts(after)
	happened := map[EventType]bool{}
	for _, t := range after.Transfers {
		old, seen := known[t.ID]
		if ignored[t.ID] || t.isSettled() && !seen { // a new aggregate of transfers that were recorded before
			continue
		}
		replaced := t.Presence == Replaced || conflictsAfter.replaced(t)
		wasReplaced := seen && (old.Presence == Replaced || conflictsBefore.replaced(old))
		lostBlock := seen && old.Block != nil && t.Block == nil
		happened[EventPaymentSeen] = happened[EventPaymentSeen] || (!seen && t.Presence == Present && !replaced)
		happened[EventPaymentConfirmed] = happened[EventPaymentConfirmed] || (t.Confirmed() && !replaced && !(seen && old.Confirmed() && !wasReplaced))
		happened[EventPaymentReplaced] = happened[EventPaymentReplaced] || (replaced && seen && !wasReplaced)
		happened[EventPaymentReorged] = happened[EventPaymentReorged] || (lostBlock && !replaced) || (seen && old.Presence != Reorged && t.Presence == Reorged)
	}
	var list []EventType
	for _, e := range []EventType{EventPaymentReorged, EventPaymentReplaced, EventPaymentSeen, EventPaymentConfirmed} {
		if happened[e] {
			list = append(list, e)
		}
	}
	return list
}

// byID returns the transfers of the invoice by their IDs.
func (inv *Invoice) byID() map[string]Transfer {
	known := make(map[string]Transfer, len(inv.Transfers))
	for _, t := range inv.Transfers {
		known[t.ID] = t
	}
	return known
}

// ignoredTransfers returns the IDs of the transfers that do not count and cause no events: dust, a
// merchant's gas, and transfers older than the invoice. A transfer of an asset that the invoice does not
// offer is among them only if it is gas.
func (inv *Invoice) ignoredTransfers(l ledger) map[string]bool {
	ids := map[string]bool{}
	for _, e := range l.entries {
		_, offered := inv.Method(e.transfer.Network, e.transfer.Asset)
		ids[e.transfer.ID] = e.ignored && (offered || e.gas)
	}
	return ids
}

// statusEventTypes returns the types of the events of a change from one status to another.
func statusEventTypes(from, to Status) []EventType {
	switch {
	case from == to:
		return nil
	case from == Paid && to != Pending:
		return append([]EventType{EventReverted}, statusEventTypes(Created, to)...)
	case to == Paid:
		return []EventType{EventPaid}
	case to == Expired:
		return []EventType{EventExpired}
	case to == Declined:
		return []EventType{EventDeclined}
	case to == Pending && from == Created:
		return []EventType{EventPending}
	case from == Paid || from == Pending:
		return []EventType{EventReverted}
	case to == Pending:
		return []EventType{EventPending}
	}
	return nil // back to created by a requote, which has its own event
}
