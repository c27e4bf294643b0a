package wire

import (
	"slices"
	"strconv"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// paymentMethods returns the methods with a price in the newest quote: a method without a price can no
// longer be paid.
func paymentMethods(invoices *invoice.Service, inv *invoice.Invoice, evaluation *invoice.Evaluation, behind []chain.ID) []api.PaymentMethod {
	list := []api.PaymentMethod{}
	now := invoices.Now()
	for _, m := range inv.Methods {
		if p, offered := inv.Quote().Price(m.Asset.Code); offered {
			method := paymentMethod(inv, evaluation, m, p, now)
			method.Behind = slices.Contains(behind, m.Asset.Network)
			method.Bridged = invoices.BridgedSymbols(m.Asset)
			list = append(list, method)
		}
	}
	return list
}

// paymentMethod returns the API's view of a method with its price in the newest quote at a time.
func paymentMethod(inv *invoice.Invoice, evaluation *invoice.Evaluation, m invoice.Method, p invoice.Price, now time.Time) api.PaymentMethod {
	a, due := m.Asset, evaluation.Remaining(m)
	to, _ := evaluation.Destination(m, now)
	requested := due
	if requested.IsZero() { // nothing is due: the link has the whole price
		requested = p.Expected
	}
	link := a.Link(to.Address, requested, inv.Terms.Merchant)
	method := api.PaymentMethod{
		CryptoCurrency: a.Code, Symbol: a.Symbol, Name: a.Name, Network: Network(a.Network), NetworkName: a.NetworkName,
		Contract: a.Contract, Decimals: a.Currency.Decimals, Address: to.Address,
		ExpectedAmount: p.Expected.String(), DueAmount: due.String(), SmallestAmount: a.Dust.String(),
		RateEUR: p.EUR.Price(), RateUSD: p.USD.Price(), RateClient: p.Rate(inv.Terms.Price.Currency()).Price(),
		PaymentURI: link.URI, PaymentCode: link.Code, AddressCode: link.Address,
		Confirmations: inv.Confirmations(m), Watched: m.Watched, MayRequest: evaluation.MayRequest(m, now),
	}
	if r, ok := evaluation.Request(m, now); ok {
		method.AddressUntil = Time(r.Until)
	}
	if r, ok := unifiedRequest(inv, evaluation, m, now); ok {
		unified := link.WithRequest(r.Address)
		method.UnifiedURI, method.UnifiedCode = unified.URI, unified.Code
	}
	if a.ChainID != 0 {
		method.ChainID = strconv.FormatUint(a.ChainID, 10)
	}
	return method
}

// unifiedRequest returns the payment request that the payment link of a method contains at a time: a valid one for the same amount,
// while nothing was paid, if the merchant wants it.
func unifiedRequest(inv *invoice.Invoice, e *invoice.Evaluation, m invoice.Method, now time.Time) (invoice.PaymentRequest, bool) {
	if !m.Asset.TakesRequest() || !inv.Terms.Lightning.Unified || len(inv.Transfers) > 0 {
		return invoice.PaymentRequest{}, false
	}
	for _, other := range inv.Methods {
		if r, ok := e.Request(other, now); ok && r.Amount.Equal(e.Remaining(m)) {
			return r, true
		}
	}
	return invoice.PaymentRequest{}, false
}

// Network returns the identifier of a network in the API. For a connection it is "lightning", without the wallet's ID, which
// only the merchant knows.
func Network(id chain.ID) string {
	if id.IsLightning() {
		return chain.SchemeLightning
	}
	return string(id)
}
