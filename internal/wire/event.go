package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"chequer/internal/account"
	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// EventTypes returns the types of events in a feed, from which an endpoint may choose.
func EventTypes() []string {
	var types []string
	for _, t := range invoice.EventTypes {
		types = append(types, string(t))
	}
	return append(types, merchant.EventWalletChanged, account.EventChanged)
}

// safeOrder matches an order_id that does not change when a receiver parses and encodes it again.
var safeOrder = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// Event returns the body of an event, with the invoice in its state at the event. Every
// field is present, and every value is ASCII without a slash, so that a receiver that parses and
// encodes the body again before it computes the hash gets the same bytes.
func Event(inv *invoice.Invoice, e invoice.Event) []byte {
	t, state := inv.Terms, inv.State
	reported, omitted := inv.ReportedPayments()
	event := api.Event{
		ID: e.ID, Type: string(e.Type), Version: e.Version, CreatedAt: Time(e.CreatedAt), Mode: string(inv.Mode),
		ForeignID: inv.ID, Status: string(state.Status), Exceptions: texts(inv.State.Exceptions),
		ClientAmount: t.Price.String(), ClientCurrency: t.Price.Currency().Code,
		PaidAmount: state.Paid.String(), DueAmount: state.Due.String(), OverpaidAmount: state.Overpaid.String(),
		ToleranceAmount: t.Rules.Tolerance.String(), PaidCount: inv.PaidCount, FirstPaidAt: Time(inv.FirstPaidAt), Accepted: acceptance(inv),
		DisableConvert: t.DisableSale, Payments: payments(inv, reported), MorePayments: omitted, Conversions: sales(inv),
	}
	if safeOrder.MatchString(t.OrderID) {
		event.OrderID = t.OrderID
	}
	return encode(event)
}

// TestEvent returns the body of a test event. It has every field but describes no invoice.
func TestEvent(id string, mode merchant.Mode, at time.Time) []byte {
	return encode(eventWithoutInvoice(id, merchant.EventTest, mode, at))
}

// WalletEvent returns the body of the event of a change of wallets. Every field is present,
// but only wallet describes the change.
func WalletEvent(c merchant.WalletChange) []byte {
	e := eventWithoutInvoice(c.EventID, merchant.EventWalletChanged, c.Wallet.Mode, c.At)
	e.Wallet = api.WalletChange{ID: c.Wallet.ID, Asset: c.Wallet.Asset, Change: string(c.Change), FormerID: c.Former.ID}
	if !c.Wallet.IsConnection() {
		e.Wallet.Fingerprint = c.Wallet.Counter
	}
	return encode(e)
}

// AccountEvent returns the body of the event of a change of an account. Every field is present, but only
// account describes the change.
func AccountEvent(e account.Event) []byte {
	event := eventWithoutInvoice(e.ID, account.EventChanged, merchant.Live, e.At)
	event.Account = api.AccountChange{ID: e.AccountID, Change: string(e.Change)}
	return encode(event)
}

// eventWithoutInvoice returns an event without an invoice.
func eventWithoutInvoice(id, eventType string, mode merchant.Mode, at time.Time) api.Event {
	return api.Event{
		ID: id, Type: eventType, CreatedAt: Time(at), Mode: string(mode),
		Exceptions: []string{}, ClientAmount: "0", PaidAmount: "0", DueAmount: "0", OverpaidAmount: "0",
		ToleranceAmount: "0", Accepted: api.Acceptance{Shortfall: "0"}, Payments: []api.Payment{}, Conversions: []api.Sale{},
	}
}

// encode returns the JSON of an event.
func encode(e api.Event) []byte {
	body, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("wire: encode event: %v", err)) // texts and numbers always encode
	}
	return body
}
