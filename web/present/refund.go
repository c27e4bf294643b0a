package present

import (
	"slices"
	"strings"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/money"
	"chequer/views"
)

// CodeNoAddress is the code of the error for a form without a refund address.
const CodeNoAddress = "no_address"

// showRefund adds notes about the refunds that the merchant decided. It adds the form for a refund address if the
// shopper paid too much, too little or too late, or if a refund that the merchant prepared waits for an address. If an address
// was given, also for a refund of an invoice that was paid exactly, showRefund adds that address instead of the form.
func showRefund(p *views.Payment, r api.Resource, s pageContext) {
	p.Notes = append(p.Notes, refundNotes(r, s)...)
	options := receivedCurrencies(r, s)
	if len(options) == 0 || !mayNeedRefund(r) {
		return
	}
	if r.RefundAddress != "" && !needsOtherAddress(r) {
		p.Refund = views.Refund{
			Saved: r.RefundAddress, SavedParts: views.AddressGroups(r.RefundAddress), Label: s.Text("refund.saved", "Unit", unit(r, s, r.RefundCurrency)),
			Hint: s.Text("refund.saved.hint", "Shop", s.shop),
		}
		return
	}
	p.Refund = views.Refund{
		Action: s.address(s.self + "/refund"), Heading: s.Text("refund.heading"), Label: s.Text("refund.address"), Currencies: options,
		Hint: s.Text("refund.hint", "Shop", s.shop),
	}
	p.AutoReturn = false // the page must not leave while the shopper types
	if hasExtra(r) {
		p.Refund.Heading = s.Text("refund.extra")
	}
	if len(options) == 1 {
		p.Refund.Label = refundLabel(r, s, options[0].Code)
		if options[0].Code == api.MethodLightning {
			p.Refund.Hint = s.Text("refund.hint.lightning", "Shop", s.shop)
		}
	}
}

// needsOtherAddress reports whether a refund waits for an address although the shopper gave one in its currency: a payment
// request that has ended, or that asks for another amount.
func needsOtherAddress(r api.Resource) bool {
	return r.RefundAddress != "" && slices.ContainsFunc(r.Refunds, func(f api.Refund) bool {
		return waitsForAddress(f) && f.CryptoCurrency == r.RefundCurrency
	})
}

// refundNoteIDs are the keys of the sentences about refunds in a state.
var refundNoteIDs = map[string]string{"ready": "refund.note.ready", "sent": "refund.note.sent", "confirmed": "refund.note.confirmed", "declined": "refund.note.declined"}

// maxRefundNotes is the largest number of refunds, beginning with the newest, that a page shows notes about.
const maxRefundNotes = 5

// isDecided reports whether the merchant has decided about all received money by refunds, or by keeping the surplus.
// The page then does not say that a decision is open.
func isDecided(r api.Resource) bool {
	final := func(f api.Refund) bool { return isSent(f) || f.State == "declined" }
	return !r.NeedsDecision && (slices.ContainsFunc(r.Refunds, final) || keepsSurplus(r))
}

// decisionNotes returns the note of a page about money that waits for a decision; nil once the merchant has decided.
func decisionNotes(r api.Resource, n views.Note) []views.Note {
	if isDecided(r) {
		return nil
	}
	return []views.Note{n}
}

// refundNotes returns notes about the merchant's decisions on refunds and on a surplus.
func refundNotes(r api.Resource, s pageContext) (notes []views.Note) {
	for _, f := range r.Refunds {
		id, known := refundNoteIDs[f.State]
		if waitsForAddress(f) {
			id, known = refundNoteIDs["ready"], true
		}
		if !known {
			continue
		}
		note := views.Note{Kind: "ok"}
		if f.State == "declined" {
			note = views.Note{Text: s.capitalized(id, "Shop", s.shop)}
		} else {
			note.Text = s.capitalized(id, "Shop", s.shop, "Amount", refundAmount(f, r, s))
		}
		notes = append(notes, note)
	}
	notes = notes[max(0, len(notes)-maxRefundNotes):]
	if keepsSurplus(r) {
		return append(notes, views.Note{Text: s.capitalized("refund.note.kept", "Shop", s.shop, "Amount", s.Fiat(r.KeptSurplus.Amount, r.ClientCurrency))})
	}
	return notes
}

// keepsSurplus reports whether the merchant decided to keep the surplus and no larger surplus was paid since then.
func keepsSurplus(r api.Resource) bool {
	kept, err := money.Parse(r.KeptSurplus.Amount, displayCurrency(r.ClientCurrency))
	if r.KeptSurplus.At == "" || err != nil {
		return false
	}
	surplus, err := money.Parse(r.OverpaidAmount, kept.Currency())
	return err == nil && kept.Cmp(surplus) >= 0
}

// mayNeedRefund reports whether money may have to be refunded, or the merchant waits for an address.
func mayNeedRefund(r api.Resource) bool {
	switch {
	case slices.ContainsFunc(r.Refunds, func(f api.Refund) bool { return waitsForAddress(f) || goesToAddress(f, r.RefundAddress) }):
		return true
	case keepsSurplus(r) && !hasException(r, api.ExceptionLate):
		return false
	}
	switch r.Status {
	case api.StatusExpired:
		return hasException(r, api.ExceptionLate) || !isZero(r.PaidAmount)
	case api.StatusDeclined:
		return true
	}
	return hasExtra(r) || hasException(r, api.ExceptionLate)
}

// waitsForAddress reports whether the merchant waits for the address of a refund.
func waitsForAddress(f api.Refund) bool { return f.State == "asked" && f.Address == "" }

// goesToAddress reports whether a refund is, or will be, paid to an address.
func goesToAddress(f api.Refund, address string) bool {
	return address != "" && f.Address == address && (f.State == "asked" || f.State == "ready" || isSent(f))
}

// isSent reports whether a refund was sent.
func isSent(f api.Refund) bool { return f.State == "sent" || f.State == "confirmed" }

// refundAmount returns the amount of a refund, with its value in the currency of the invoice if that is known.
func refundAmount(f api.Refund, r api.Resource, s pageContext) string {
	amount := s.Decimal(f.Amount) + " " + unit(r, s, f.CryptoCurrency)
	if f.FiatAmount == "" || isZero(f.FiatAmount) {
		return amount
	}
	return amount + " (" + s.Fiat(f.FiatAmount, r.ClientCurrency) + ")"
}

// receivedCurrencies returns the currencies of the payments for which a refund address can be given, each once. There are none
// after the personal data of the shopper were removed, unless a refund waits for an address. An address in place of another
// one has the same currency.
func receivedCurrencies(r api.Resource, s pageContext) []views.Currency {
	if r.PersonalDataRemovedAt != "" && r.RefundAddress == "" && !slices.ContainsFunc(r.Refunds, waitsForAddress) {
		return nil
	}
	var list []views.Currency
	for _, t := range r.Payments {
		isRefundable := t.State != "dust" && isOnNetwork(t) && (!needsOtherAddress(r) || t.CryptoCurrency == r.RefundCurrency)
		if isRefundable && !slices.ContainsFunc(list, func(c views.Currency) bool { return c.Code == t.CryptoCurrency }) {
			list = append(list, views.Currency{Code: t.CryptoCurrency, Text: unit(r, s, t.CryptoCurrency)})
		}
	}
	if len(list) > 0 {
		list[0].Chosen = true
	}
	return list
}

// refundLabel returns the label of the field for a refund address, which names its network or coin.
func refundLabel(r api.Resource, s pageContext, code string) string {
	for _, m := range r.PaymentMethods {
		switch {
		case m.CryptoCurrency != code:
		case m.ChainID != "":
			return s.Text("refund.address.network", "Network", m.NetworkName)
		default:
			return s.Text("refund.address.coin", "Coin", methodLabel(m))
		}
	}
	return s.Text("refund.address.coin", "Coin", code)
}

// refundRefusals maps error codes to the keys of the texts with the reason why an address was not saved.
// The key for other codes is refund.refused.
var refundRefusals = map[string]string{
	CodeNoAddress:        "refund.none",
	"private_key":        "refund.private",
	"refund_address_set": "refund.set",
	"wrong_state":        "refused.changed",
	"nothing_received":   "refused.changed",
}

// refundRefusal returns the reason why an address was not saved. The service's message, which is in
// English, is more precise and is shown on an English page.
func refundRefusal(r Reader, apiErr *client.Error) string {
	if reason, isAddress := strings.CutPrefix(apiErr.Message, "address is "); isAddress && r.English() {
		return r.Text("refund.this", "Detail", strings.TrimSuffix(reason, "."))
	}
	id, known := refundRefusals[apiErr.Code]
	if !known {
		id = "refund.refused"
	}
	if known && apiErr.Message == "" || !r.English() {
		return r.Text(id)
	}
	return capitalize(strings.TrimSuffix(apiErr.Message, ".")) + "."
}

// RefuseRefund shows the refused form again. A private key is not shown again, because others may see
// the screen.
func (f Frame) RefuseRefund(p *views.Payment, apiErr *client.Error, typed api.RefundRequest) {
	text := refundRefusal(f.Reader, apiErr)
	p.Title = f.Text("error.title", "Title", p.Title)
	if p.Refund.Action == "" { // the page no longer asks for an address
		p.Refusal = text
		return
	}
	p.Refund.Error = text
	if apiErr.Code != "private_key" {
		p.Refund.Address = typed.Address
	}
	for i := range p.Refund.Currencies {
		p.Refund.Currencies[i].Chosen = p.Refund.Currencies[i].Code == typed.Currency
	}
}
