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

// EventTypes returns the types of the events in a feed, which an endpoint may choose
// from.
func EventTypes() []string {
	var all []string
	for _, t := range invoice.EventTypes {
		all = append(all, string(t))
	}
	return append(all, merchant.EventWalletChanged)
}

// safeOrder is an order_id that survives every receiver's parser.
var safeOrder = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// EncodeEvent makes the body of a callback from the invoice as it stands at the
// event. Every field is always there, and every value is of ASCII without a
// slash, so that a receiver that parses and encodes again before it hashes gets
// the same bytes.
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

// EncodeTest makes the body of a test event: every field is there, and none is
// about an invoice.
func EncodeTest(id string, mode merchant.Mode, at time.Time) []byte {
	return encode(noInvoice(id, merchant.EventTest, mode, at))
}

// EncodeWalletChange makes the body of the event of a change of wallets: every field is
// there, and none but wallet is about anything.
func EncodeWalletChange(c merchant.WalletChange) []byte {
	e := noInvoice(c.EventID, merchant.EventWalletChanged, c.Wallet.Mode, c.At)
	e.Wallet = api.WalletChange{
		ID: c.Wallet.ID, Asset: c.Wallet.Asset, Change: string(c.Change), Fingerprint: c.Wallet.Counter, FormerID: c.Former.ID,
	}
	return encode(e)
}

// noInvoice returns an event that is about no invoice.
func noInvoice(id, eventType string, mode merchant.Mode, at time.Time) api.Event {
	return api.Event{
		ID: id, Type: eventType, CreatedAt: timestamp(at), Mode: string(mode),
		Exceptions: []string{}, ClientAmount: "0", PaidAmount: "0", DueAmount: "0", OverpaidAmount: "0",
		ToleranceAmount: "0", Accepted: api.Acceptance{Shortfall: "0"}, Payments: []api.Payment{}, Conversions: []api.Conversion{},
	}
}

func encode(e api.Event) []byte {
	body, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("server: encode event: %v", err)) // texts and numbers always encode
	}
	return body
}
