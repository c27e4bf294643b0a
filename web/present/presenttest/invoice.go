// Package presenttest provides invoices, a theme and a proof for tests of the pages.
package presenttest

import (
	"strings"

	"chequer/internal/api"
)

// Invoice returns an unpaid invoice with a watched coin and an unwatched token.
func Invoice(id string) api.Resource {
	return api.Resource{
		ForeignID: id, OrderID: "1042", Mode: "live", Version: 1, Status: api.StatusCreated,
		ExpiredAt: "2026-11-27T12:14:32.000Z", SecondsLeft: 872, WatchedUntil: "2026-12-27T12:14:32.000Z",
		ClientAmount: "56.5", ClientCurrency: "EUR", PaidAmount: "0", DueAmount: "56.5", OverpaidAmount: "0",
		MerchantName: "Atelier Nord", Description: "Two prints",
		URLSuccess: "https://shop.example/thanks?order=1042", URLFailure: "https://shop.example/basket",
		PaymentMethods: []api.PaymentMethod{
			{
				CryptoCurrency: "BTC", Symbol: "BTC", Name: "Bitcoin", Network: "bitcoin", NetworkName: "Bitcoin", Watched: true,
				Address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", ExpectedAmount: "0.00065379", DueAmount: "0.00065379", RateEUR: "86420",
				PaymentURI:  "bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.00065379&label=Atelier%20Nord",
				PaymentCode: "BITCOIN:BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4?amount=0.00065379&label=Atelier%20Nord",
			},
			{
				CryptoCurrency: "EURC-BASE", Symbol: "EURC", Name: "Euro Coin", Network: "base", NetworkName: "Base", ChainID: "8453",
				Contract: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", Decimals: 6,
				Address: "0x1111111254EEB25477B68fb85Ed929f73A960582", ExpectedAmount: "56.5", DueAmount: "56.5", RateEUR: "1",
				PaymentURI:  "ethereum:0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42@8453/transfer?address=0x1111111254EEB25477B68fb85Ed929f73A960582&uint256=56500000",
				PaymentCode: "ethereum:0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42@8453/transfer?address=0x1111111254EEB25477B68fb85Ed929f73A960582&uint256=56500000",
				AddressCode: "0x1111111254EEB25477B68fb85Ed929f73A960582",
			},
		},
	}
}

// PaymentRequest is the payment request of a Lightning invoice: an example of BOLT 11.
const PaymentRequest = "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh"

// Lightning returns an unpaid invoice that can also be paid by a payment request, which the method of Bitcoin contains. It is
// modified by change if that is not nil.
func Lightning(change func(*api.Resource)) api.Resource {
	r := Invoice("abc")
	bitcoin := &r.PaymentMethods[0]
	bitcoin.UnifiedURI = bitcoin.PaymentURI + "&lightning=" + PaymentRequest
	bitcoin.UnifiedCode = bitcoin.PaymentCode + "&lightning=" + strings.ToUpper(PaymentRequest)
	r.PaymentMethods = append(r.PaymentMethods, api.PaymentMethod{
		CryptoCurrency: api.MethodLightning, Symbol: "BTC", Name: "Lightning", Network: "lightning", NetworkName: "Lightning", Watched: true,
		Decimals: 8, Address: PaymentRequest, AddressUntil: r.ExpiredAt, ExpectedAmount: "0.00065379", DueAmount: "0.00065379", RateEUR: "86420",
		PaymentURI: "lightning:" + PaymentRequest, PaymentCode: strings.ToUpper("lightning:" + PaymentRequest), Confirmations: 1,
	})
	if change != nil {
		change(&r)
	}
	return r
}

// Unrequested changes an invoice that Lightning returned: it has no payment request, and one can be made.
func Unrequested(r *api.Resource) {
	r.PaymentMethods[0].UnifiedURI, r.PaymentMethods[0].UnifiedCode = "", ""
	m := &r.PaymentMethods[2]
	m.Address, m.AddressUntil, m.PaymentURI, m.PaymentCode, m.MayRequest = "", "", "", "", true
}

// Payment returns a payment of the invoice's whole price.
func Payment(state string) api.Payment {
	return api.Payment{
		ID: "t", CryptoCurrency: "BTC", Amount: "0.00065379", FiatAmount: "56.5", State: state, Confirmations: 1, Required: 2,
		Tx: "4f8e2c1d0b9a887766554433221100ffeeddccbbaa99887766554433b21cb21c", FirstSeenAt: "2026-11-27T12:35:40.000Z",
	}
}

// WrongAsset returns a payment in an asset that the invoice does not offer.
func WrongAsset(code, symbol, network, amount string) api.Payment {
	return api.Payment{
		ID: code, CryptoCurrency: code, Symbol: symbol, NetworkName: network, Amount: amount, FiatAmount: "0",
		State: "wrong_asset", Tx: "0x1", FirstSeenAt: "2026-11-27T12:05:40.000Z",
	}
}

// Paid returns a paid invoice, modified by change.
func Paid(change func(*api.Resource)) api.Resource {
	r := Invoice("abc")
	r.Status, r.DueAmount, r.PaidAmount, r.PaidAt = api.StatusPaid, "0", "56.5", "2026-11-27T12:52:00.000Z"
	r.PaidTx, r.PaidCurrency, r.Payments = Payment("").Tx, "BTC", []api.Payment{Payment("confirmed")}
	change(&r)
	return r
}

// Requotable returns an invoice for which a new quote is available, modified by change if it is not nil.
func Requotable(change func(*api.Resource)) api.Resource {
	r := Invoice("abc")
	r.MayRequote, r.Quotes = true, []api.Quote{{Number: 1}, {Number: 2}}
	if change != nil {
		change(&r)
	}
	return r
}

// Overpaid returns an overpaid invoice.
func Overpaid() api.Resource {
	r := Invoice("abc")
	r.Status, r.DueAmount, r.OverpaidAmount, r.Exceptions = api.StatusPaid, "0", "6.91", []string{api.ExceptionOverpaid}
	r.Payments = []api.Payment{Payment("confirmed")}
	return r
}
