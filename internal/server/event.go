package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// safeOrder matches an order_id that does not change when a receiver parses and encodes it again.
var safeOrder = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// EncodeEvent returns the body of a callback, with the invoice in its state at the event. Every
// field is present, and every value is ASCII without a slash, so that a receiver that parses and
// encodes the body again before it computes the hash gets the same bytes.
func EncodeEvent(inv *invoice.Invoice, e invoice.Event) []byte {
	t, stands := inv.Terms, inv.Standing
	told, more := inv.Told()
	event := api.Event{
		ID: e.ID, Type: string(e.Type), Version: e.Version, CreatedAt: timestamp(e.CreatedAt), Mode: string(inv.Mode),
		ForeignID: inv.ID, Status: string(stands.Status), Exceptions: exceptions(inv),
		ClientAmount: t.Price.String(), ClientCurrency: t.Price.Currency().Code,
		PaidAmount: stands.Paid.String(), DueAmount: stands.Due.String(), OverpaidAmount: stands.Overpaid.String(),
		ToleranceAmount: t.Rules.Tolerance.String(), PaidCount: inv.PaidCount, FirstPaidAt: timestamp(inv.FirstPaidAt), Accepted: acceptance(inv),
		DisableConvert: t.DisableConvert, Payments: payments(inv, told), MorePayments: more, Conversions: conversions(inv),
	}
	if safeOrder.MatchString(t.OrderID) {
		event.OrderID = t.OrderID
	}
	return encode(event)
}

// EncodeTest returns the body of a test event. It has every field but describes no invoice.
func EncodeTest(id string, mode merchant.Mode, at time.Time) []byte {
	return encode(api.Event{
		ID: id, Type: merchant.EventTest, CreatedAt: timestamp(at), Mode: string(mode),
		Exceptions: []string{}, ClientAmount: "0", PaidAmount: "0", DueAmount: "0", OverpaidAmount: "0",
		ToleranceAmount: "0", Accepted: api.Acceptance{Shortfall: "0"}, Payments: []api.Payment{}, Conversions: []api.Conversion{},
	})
}

func encode(e api.Event) []byte {
	body, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("server: encode event: %v", err)) // texts and numbers always encode
	}
	return body
}
