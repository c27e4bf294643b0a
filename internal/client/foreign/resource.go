package foreign

import (
	"cmp"
	"slices"
	"time"

	"chequer/internal/api"
	"chequer/internal/money"
)

var (
	statuses   = []string{api.StatusCreated, api.StatusPending, api.StatusPaid, api.StatusExpired, api.StatusDeclined}
	exceptions = []string{
		api.ExceptionUnderpaid, api.ExceptionOverpaid, api.ExceptionLate, api.ExceptionReplaced,
		api.ExceptionReorged, api.ExceptionWrongAsset, api.ExceptionOld, api.ExceptionDelayed, api.ExceptionRefundTrouble,
	}
	paymentStates = []string{"seen", "confirmed", "late", "replaced", "reorged", "dust", "old", "wrong_asset"}
	refundKinds   = []string{"received", "surplus", "part"}
	refundStates  = []string{"asked", "ready", "sent", "confirmed", "cancelled", "declined"}
	modes         = []string{"", "live", "test"}
)

// checkCreated checks the answer to a request that creates an invoice. Missing fields are accepted, because the invoice is
// read later.
func checkCreated(inv *api.Invoice) error {
	var c check
	c.id("foreign_id", inv.ForeignID)
	c.require("status", inv.Status == "" || slices.Contains(statuses, inv.Status))
	c.moment("expired_at", &inv.ExpiredAt)
	c.number("client_amount", inv.ClientAmount)
	c.word("client_currency", inv.ClientCurrency, maxWord)
	inv.Addresses = first(inv.Addresses, maxMethods)
	for _, a := range inv.Addresses {
		c.word("addresses.address", a.Address, maxAddress)
		c.number("addresses.expected_amount", a.ExpectedAmount)
		c.word("addresses.crypto_currency", a.CryptoCurrency, maxWord)
		c.number("addresses.rate_usd", a.RateUSD)
		c.number("addresses.rate_eur", a.RateEUR)
	}
	return c.err()
}

// checkResource checks a resource, which may be built from the specification's answer.
func checkResource(r *api.Resource, id string) error {
	var c check
	c.id("foreign_id", r.ForeignID)
	c.require("foreign_id", r.ForeignID == id)
	c.text(&r.OrderID, maxOrder)
	c.oneOf("mode", r.Mode, modes)
	c.counter("version", r.Version)
	c.oneOf("status", r.Status, statuses)
	c.require("exceptions", len(r.Exceptions) <= len(exceptions))
	for _, e := range first(r.Exceptions, len(exceptions)) {
		c.oneOf("exceptions", e, exceptions)
	}
	c.moment("created_at", &r.CreatedAt)
	c.moment("expired_at", &r.ExpiredAt)
	c.moment("paid_at", &r.PaidAt)
	c.moment("watched_until", &r.WatchedUntil)
	c.word("paid_currency", r.PaidCurrency, maxWord)
	c.word("paid_tx", r.PaidTx, maxAddress)
	c.amount("client_amount", r.ClientAmount)
	c.word("client_currency", r.ClientCurrency, maxWord)
	c.vat(r)
	c.amount("paid_amount", r.PaidAmount)
	c.amount("due_amount", r.DueAmount)
	c.amount("overpaid_amount", r.OverpaidAmount)
	r.ToleranceAmount = cmp.Or(r.ToleranceAmount, "0") // older servers, and servers that are called with the key of a payment page, do not send it
	c.amount("tolerance_amount", r.ToleranceAmount)
	c.counter("paid_count", r.PaidCount)
	c.moment("first_paid_at", &r.FirstPaidAt)
	c.moment("accepted.at", &r.Accepted.At)
	c.word("accepted.actor", r.Accepted.Actor, maxWord)
	r.Accepted.Shortfall = cmp.Or(r.Accepted.Shortfall, "0")
	c.amount("accepted.shortfall", r.Accepted.Shortfall)
	const limit = int64(maxOffset / time.Second)
	r.SecondsLeft = max(-limit, min(r.SecondsLeft, limit))
	c.text(&r.RateSource, maxWord)
	c.text(&r.MerchantName, maxMerchant)
	c.text(&r.Description, maxSentence)
	c.word("language", r.Language, maxWord)
	c.url("url_success", r.URLSuccess)
	c.url("url_failure", r.URLFailure)
	c.word("refund_currency", r.RefundCurrency, maxWord)
	c.word("refund_address", r.RefundAddress, maxAddress)
	r.Refunds = last(r.Refunds, maxRefunds)
	for i := range r.Refunds {
		c.refund(&r.Refunds[i])
	}
	c.moment("kept_surplus.at", &r.KeptSurplus.At)
	c.moment("personal_data_removed_at", &r.PersonalDataRemovedAt)
	r.PersonalDataRemoved = last(r.PersonalDataRemoved, maxKinds)
	for _, kind := range r.PersonalDataRemoved {
		c.word("personal_data_removed", kind, maxWord)
	}
	c.text(&r.KeptSurplus.Actor, maxMerchant)
	r.KeptSurplus.Amount = cmp.Or(r.KeptSurplus.Amount, "0")
	c.amount("kept_surplus.amount", r.KeptSurplus.Amount)
	c.text(&r.KeptSurplus.Reason, maxSentence)
	c.lines("proof", r.Proof, maxProof)
	r.Metadata = c.metadata(r.Metadata)

	r.PaymentMethods = first(r.PaymentMethods, maxMethods)
	for i := range r.PaymentMethods {
		c.method(&r.PaymentMethods[i])
	}
	r.Payments = last(r.Payments, maxPayments)
	for i := range r.Payments {
		c.payment(&r.Payments[i])
	}
	r.Quotes = last(r.Quotes, maxQuotes)
	for i := range r.Quotes {
		c.quote(&r.Quotes[i])
	}
	return c.err()
}

// vat checks the optional VAT rate with its amounts.
func (c *check) vat(r *api.Resource) {
	if r.VATRate == "" { // older servers do not send it
		r.NetAmount, r.VATAmount = "", ""
		return
	}
	_, err := money.ParseVATRate(r.VATRate)
	c.require("vat_rate", err == nil)
	c.amount("net_amount", r.NetAmount)
	c.amount("vat_amount", r.VATAmount)
}

func (c *check) method(m *api.PaymentMethod) {
	c.require("payment_methods.crypto_currency", m.CryptoCurrency != "")
	c.word("payment_methods.crypto_currency", m.CryptoCurrency, maxWord)
	c.text(&m.Symbol, maxWord)
	c.text(&m.Name, maxWord)
	c.word("payment_methods.network", m.Network, maxWord)
	c.text(&m.NetworkName, maxWord)
	c.word("payment_methods.contract", m.Contract, maxAddress)
	c.word("payment_methods.chain_id", m.ChainID, maxWord)
	c.require("payment_methods.decimals", m.Decimals >= 0 && m.Decimals <= maxDecimals)
	c.require("payment_methods.address", m.Address != "")
	c.word("payment_methods.address", m.Address, maxAddress)
	c.amount("payment_methods.expected_amount", m.ExpectedAmount)
	c.amount("payment_methods.due_amount", m.DueAmount)
	c.amount("payment_methods.smallest_amount", m.SmallestAmount)
	c.rate("payment_methods.rate_eur", m.RateEUR)
	c.rate("payment_methods.rate_usd", m.RateUSD)
	c.rate("payment_methods.rate_client", m.RateClient)
	c.word("payment_methods.payment_uri", m.PaymentURI, maxURI)
	c.word("payment_methods.payment_code", m.PaymentCode, maxURI)
	c.word("payment_methods.address_code", m.AddressCode, maxURI)
	c.counter("payment_methods.confirmations", int64(m.Confirmations))
	m.Bridged = first(m.Bridged, maxBridged)
	for i := range m.Bridged {
		c.text(&m.Bridged[i], maxWord)
	}
}

func (c *check) refund(r *api.Refund) {
	c.word("refunds.id", r.ID, maxAddress)
	c.oneOf("refunds.kind", r.Kind, refundKinds)
	c.oneOf("refunds.state", r.State, refundStates)
	c.word("refunds.crypto_currency", r.CryptoCurrency, maxWord)
	c.text(&r.Symbol, maxWord)
	c.text(&r.NetworkName, maxWord)
	c.amount("refunds.amount", r.Amount)
	c.amount("refunds.fiat_amount", r.FiatAmount)
	c.rate("refunds.rate", r.Rate)
	c.word("refunds.address", r.Address, maxAddress)
	c.word("refunds.payment_uri", r.PaymentURI, maxURI)
	c.word("refunds.tx", r.Tx, maxAddress)
	c.counter("refunds.confirmations", int64(r.Confirmations))
	c.counter("refunds.required", int64(r.Required))
	c.word("refunds.trouble", r.Trouble, maxWord)
	for _, text := range []*string{&r.AddressBy, &r.AskedBy, &r.PreparedBy, &r.SentBy, &r.ClosedBy} {
		c.text(text, maxMerchant)
	}
	c.text(&r.Reason, maxSentence)
	c.moment("refunds.held_until", &r.HeldUntil)
	c.moment("refunds.asked_at", &r.AskedAt)
	c.moment("refunds.prepared_at", &r.PreparedAt)
	c.moment("refunds.sent_at", &r.SentAt)
	c.moment("refunds.closed_at", &r.ClosedAt)
}

func (c *check) payment(p *api.Payment) {
	c.word("payments.id", p.ID, maxAddress)
	c.word("payments.crypto_currency", p.CryptoCurrency, maxWord)
	c.word("payments.address", p.Address, maxAddress)
	c.amount("payments.amount", p.Amount)
	c.amount("payments.fiat_amount", p.FiatAmount)
	c.word("payments.tx", p.Tx, maxAddress)
	c.counter("payments.confirmations", int64(p.Confirmations))
	c.counter("payments.required", int64(p.Required))
	c.oneOf("payments.state", p.State, paymentStates)
	c.moment("payments.first_seen_at", &p.FirstSeenAt)
	c.text(&p.Symbol, maxWord)
	c.text(&p.NetworkName, maxWord)
}

func (c *check) quote(q *api.Quote) {
	c.counter("quotes.number", int64(q.Number))
	c.moment("quotes.from", &q.From)
	c.moment("quotes.until", &q.Until)
	c.amount("quotes.due_amount", q.DueAmount)
	q.Evidence = nil // for merchants only, and of any size
	q.Prices = first(q.Prices, maxMethods)
	for _, p := range q.Prices {
		c.word("quotes.prices.crypto_currency", p.CryptoCurrency, maxWord)
		c.amount("quotes.prices.expected_amount", p.ExpectedAmount)
		c.rate("quotes.prices.rate_eur", p.RateEUR)
		c.rate("quotes.prices.rate_usd", p.RateUSD)
		c.rate("quotes.prices.rate_client", p.RateClient)
	}
}
