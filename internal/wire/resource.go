// Package wire translates between the domain and the types of package api: views of invoices, events
// and what merchants manage, and the changes that requests describe.
package wire

import (
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// Resource returns Chequer's own view of an invoice in its current state. The list behind names the
// networks that were not scanned recently.
func Resource(invoices *invoice.Service, inv *invoice.Invoice, behind []chain.ID) api.Resource {
	now := invoices.Now()
	t, state := inv.Terms, inv.State
	evaluation := invoices.Evaluation(inv)
	reported, omitted := evaluation.ReportedPayments()
	quoteTime := inv.Quote().Until.Sub(inv.Quote().From)
	remaining := min(inv.ExpiresAt().Sub(now.Add(inv.Clock)), quoteTime) // the machine's clock may have been set back
	r := api.Resource{
		ForeignID: inv.ID, OrderID: t.OrderID, Mode: string(inv.Mode), Version: inv.Version,
		Status: string(state.Status), Exceptions: texts(state.Exceptions), NeedsDecision: inv.NeedsDecision(),
		CreatedAt: Time(inv.CreatedAt), ExpiredAt: Time(inv.ExpiresAt()),
		PaidAt: Time(state.PaidAt), PaidCurrency: state.PaidAsset, PaidTx: state.PaidTx,
		ClientAmount: t.Price.String(), ClientCurrency: t.Price.Currency().Code, VATRate: t.VAT.String(),
		PaidAmount: state.Paid.String(), DueAmount: state.Due.String(), OverpaidAmount: state.Overpaid.String(),
		ToleranceAmount: t.Rules.Tolerance.String(), PaidCount: inv.PaidCount, FirstPaidAt: Time(inv.FirstPaidAt), Accepted: acceptance(inv),
		AllowPaidExpired: t.AllowPaidExpired, DisableConvert: t.DisableSale,
		SecondsLeft:    secondsLeft(remaining),
		PaymentMethods: paymentMethods(invoices, inv, evaluation, behind), Payments: payments(inv, reported), MorePayments: omitted, Conversions: sales(inv), Quotes: quotes(inv),
		RateSource: inv.Quote().Source, MerchantName: t.Merchant, Description: t.Description, Metadata: t.Metadata,
		Language: t.Language, URLSuccess: t.URLSuccess, URLFailure: t.URLFailure, StayOnPage: t.StayOnPage, RefundCurrency: inv.RefundAddress.Asset, RefundAddress: inv.RefundAddress.Address,
		Refunds: Refunds(invoices, inv), KeptSurplus: keptSurplus(inv), PersonalDataRemovedAt: Time(inv.Removal.At), PersonalDataRemoved: removedKinds(inv),
		WatchedUntil: Time(inv.ExpiresAt().Add(invoice.WatchPeriod)), MayRequote: evaluation.MayRequote(invoice.Shopper, now),
	}
	for i, p := range reported {
		r.Payments[i].Contested = p.Contested
		if a, known := invoices.KnownAsset(p.Network, p.Asset); known {
			r.Payments[i].Symbol, r.Payments[i].NetworkName = a.Symbol, a.NetworkName
		}
	}
	if t.VAT.Stated() {
		net, vat := t.VAT.Split(t.Price)
		r.NetAmount, r.VATAmount = net.String(), vat.String()
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	if state.Status != invoice.Paid {
		r.PaidCurrency, r.PaidTx = "", ""
	}
	return r
}

// acceptance returns the merchant's decision to accept the invoice. Events and resources contain no name of an account.
func acceptance(inv *invoice.Invoice) api.Acceptance {
	actor := inv.AcceptedBy
	if actor != "" && actor != "command" && !strings.HasPrefix(actor, merchant.KeyPrefix) {
		actor = "account"
	}
	return api.Acceptance{At: Time(inv.AcceptedAt), Actor: actor, Shortfall: inv.Shortfall().String()}
}

// secondsLeft returns a duration in whole seconds, rounded up, so that it is at least 1 until the
// duration is over.
func secondsLeft(remaining time.Duration) int64 {
	if remaining > 0 {
		remaining += time.Second - 1
	}
	return int64(remaining / time.Second)
}

// quotes returns the quotes of an invoice, without their evidence.
func quotes(inv *invoice.Invoice) []api.Quote {
	list := []api.Quote{}
	for _, q := range inv.Quotes {
		quote := api.Quote{
			Number: q.Number, From: Time(q.From), Until: Time(q.Until), DueAmount: q.Due.String(),
			Prices: []api.QuotedPrice{},
		}
		for _, p := range q.Prices {
			quote.Prices = append(quote.Prices, api.QuotedPrice{
				CryptoCurrency: p.Asset, ExpectedAmount: p.Expected.String(), RateEUR: p.EUR.Price(), RateUSD: p.USD.Price(),
				RateClient: p.Rate(q.Due.Currency()).Price(),
			})
		}
		list = append(list, quote)
	}
	return list
}

// removedKinds returns the kinds of the personal data that were removed from an invoice.
func removedKinds(inv *invoice.Invoice) []string {
	kinds := []string{}
	for _, k := range inv.Removal.Kinds {
		kinds = append(kinds, string(k))
	}
	return kinds
}
