package wire

import (
	"cmp"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// Refunds returns the refunds of an invoice.
func Refunds(invoices *invoice.Service, inv *invoice.Invoice) []api.Refund {
	list := []api.Refund{}
	if len(inv.Refunds) == 0 {
		return list
	}
	evaluation := invoices.Evaluation(inv)
	for _, r := range inv.Refunds {
		refund := Refund(invoices, r)
		if link, mayPay := invoices.RefundLink(evaluation, r, refundLabel(inv)); mayPay {
			refund.PaymentURI = link.URI
		}
		list = append(list, refund)
	}
	return list
}

// refundLabel returns the label of the payment links of an invoice's refunds.
func refundLabel(inv *invoice.Invoice) string { return "Refund " + cmp.Or(inv.Terms.OrderID, inv.ID) }

// Refund returns a refund without its payment link.
func Refund(invoices *invoice.Service, r invoice.Refund) api.Refund {
	refund := api.Refund{
		ID: r.ID, Kind: string(r.Kind), State: string(r.State), CryptoCurrency: r.Asset, Amount: r.Amount.String(), FiatAmount: r.Value.String(),
		HeldUntil: Time(r.HeldUntil), Address: r.Address, AddressBy: r.AddressBy, Tx: r.Tx, Reason: r.Reason,
		AskedAt: Time(r.Asked.At), AskedBy: r.Asked.By, PreparedAt: Time(r.Prepared.At), PreparedBy: r.Prepared.By,
		SentAt: Time(r.Sent.At), SentBy: r.Sent.By, ClosedAt: Time(r.Closed.At), ClosedBy: r.Closed.By,
	}
	if !r.Rate.IsZero() {
		refund.Rate = r.Rate.Price()
	}
	if refund.Trouble = string(r.Trouble); r.Payment != nil {
		refund.Confirmations, refund.Required = r.Payment.Confirmations, r.Payment.Required
	}
	if a, known := invoices.KnownAsset(r.Network, r.Asset); known {
		refund.Symbol, refund.NetworkName = a.Symbol, a.AddressNetwork(r.Address)
	}
	return refund
}

// keptSurplus returns the merchant's decision to keep a surplus.
func keptSurplus(inv *invoice.Invoice) api.KeptSurplus {
	k := inv.Kept
	if k.At.IsZero() {
		k.Amount = money.Zero(inv.Terms.Price.Currency())
	}
	return api.KeptSurplus{At: Time(k.At), Actor: k.By, Amount: k.Amount.String(), Reason: k.Reason}
}

// HideStaff removes from the refunds of a resource, and from its decision to keep a surplus, the texts that only the
// merchant may see: names, reasons and links for the merchant's wallet.
func HideStaff(r *api.Resource) {
	r.KeptSurplus.Actor, r.KeptSurplus.Reason = "", ""
	for i := range r.Refunds {
		f := &r.Refunds[i]
		f.AddressBy, f.PaymentURI, f.Reason, f.AskedBy, f.PreparedBy, f.SentBy, f.ClosedBy = "", "", "", "", "", "", ""
	}
}
