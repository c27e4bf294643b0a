package wire

import (
	"encoding/json"
	"time"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// Invoice returns the specification's view of an invoice, with the newest quote: six fields, five
// per address. It omits methods that need a payment request and have no valid one.
func Invoice(invoices *invoice.Service, inv *invoice.Invoice) api.Invoice {
	q := inv.Quote()
	answer := api.Invoice{
		ForeignID: inv.ID, Status: string(inv.State.Status), ExpiredAt: Time(q.Until),
		ClientAmount: number(inv.Terms.Price), ClientCurrency: inv.Terms.Price.Currency().Code,
		Addresses: []api.Address{},
	}
	for _, m := range inv.Methods {
		p, offered := q.Price(m.Asset.Code)
		if !offered {
			continue
		}
		to := m.Destination
		if m.Asset.Requested() {
			if to, offered = invoices.Evaluation(inv).Destination(m, invoices.Now()); !offered {
				continue
			}
		}
		answer.Addresses = append(answer.Addresses, api.Address{
			Address: to.Address, ExpectedAmount: number(p.Expected), CryptoCurrency: m.Asset.Code,
			RateUSD: json.Number(p.USD.Price()), RateEUR: json.Number(p.EUR.Price()),
		})
	}
	return answer
}

func number(a money.Amount) json.Number { return json.Number(a.String()) }

// CreateRequest returns a request for an invoice, without its price.
func CreateRequest(r api.InvoiceRequest) invoice.CreateRequest {
	return invoice.CreateRequest{
		Terms: invoice.Terms{
			URLSuccess: r.URLSuccess, URLFailure: r.URLFailure, DisableSale: r.DisableConvert,
			OrderID: r.OrderID, Description: r.Description, Metadata: r.Metadata, Language: r.Language,
		},
		AllowPaidExpired: r.AllowPaidExpired, ExpiresIn: time.Duration(r.ExpiresIn) * time.Second, PaymentMethods: r.PaymentMethods,
	}
}
