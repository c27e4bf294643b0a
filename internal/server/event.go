package server

import (
	"encoding/json"
	"fmt"
	"regexp"

	"chequer/internal/api"
	"chequer/internal/invoice"
)

// safeOrder is an order_id that survives every receiver's parser.
var safeOrder = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// EncodeEvent makes the body of a callback from the invoice as it stands at the
// event. Every field is always there, and every value is of ASCII without a
// slash, so that a receiver that parses and encodes again before it hashes gets
// the same bytes.
func EncodeEvent(inv *invoice.Invoice, e invoice.Event) []byte {
	t, stands := inv.Terms, inv.Standing
	event := api.Event{
		ID: e.ID, Type: string(e.Type), Version: e.Version, CreatedAt: timestamp(e.CreatedAt), Mode: string(inv.Mode),
		ForeignID: inv.ID, Status: string(stands.Status), Exceptions: exceptions(inv),
		ClientAmount: t.Price.String(), ClientCurrency: t.Price.Currency().Code,
		PaidAmount: stands.Paid.String(), DueAmount: stands.Due.String(), OverpaidAmount: stands.Overpaid.String(),
		DisableConvert: t.DisableConvert, Payments: payments(inv),
	}
	if safeOrder.MatchString(t.OrderID) {
		event.OrderID = t.OrderID
	}
	body, err := json.Marshal(event)
	if err != nil {
		panic(fmt.Sprintf("server: encode event: %v", err)) // texts and numbers always encode
	}
	return body
}
