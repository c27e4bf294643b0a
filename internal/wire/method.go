package wire

import (
	"slices"
	"strconv"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// paymentMethods returns the methods with a price in the newest quote: a method without a price can no
// longer be paid.
func paymentMethods(invoices *invoice.Service, inv *invoice.Invoice, evaluation *invoice.Evaluation, behind []chain.ID) []api.PaymentMethod {
	list := []api.PaymentMethod{}
	for _, m := range inv.Methods {
		if p, offered := inv.Quote().Price(m.Asset.Code); offered {
			method := paymentMethod(inv, evaluation, m, p)
			method.Behind = slices.Contains(behind, m.Asset.Network)
			method.Bridged = invoices.BridgedSymbols(m.Asset)
			list = append(list, method)
		}
	}
	return list
}

// paymentMethod returns the API's view of a method with its price in the newest quote.
func paymentMethod(inv *invoice.Invoice, evaluation *invoice.Evaluation, m invoice.Method, p invoice.Price) api.PaymentMethod {
	a, due := m.Asset, evaluation.Remaining(m)
	requested := due
	if requested.IsZero() { // nothing is due: the link has the whole price
		requested = p.Expected
	}
	link := a.Link(m.Destination.Address, requested, inv.Terms.Merchant)
	method := api.PaymentMethod{
		CryptoCurrency: a.Code, Symbol: a.Symbol, Name: a.Name, Network: string(a.Network), NetworkName: a.NetworkName,
		Contract: a.Contract, Decimals: a.Currency.Decimals, Address: m.Destination.Address,
		ExpectedAmount: p.Expected.String(), DueAmount: due.String(), SmallestAmount: a.Dust.String(),
		RateEUR: p.EUR.Price(), RateUSD: p.USD.Price(), RateClient: p.Rate(inv.Terms.Price.Currency()).Price(),
		PaymentURI: link.URI, PaymentCode: link.Code, AddressCode: link.Address,
		Confirmations: inv.Confirmations(m), Watched: m.Watched,
	}
	if a.ChainID != 0 {
		method.ChainID = strconv.FormatUint(a.ChainID, 10)
	}
	return method
}
