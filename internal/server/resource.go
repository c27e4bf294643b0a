package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// Resource returns our own view of an invoice in its current state. Behind are the networks that
// were not scanned recently.
func Resource(invoices *invoice.Service, inv *invoice.Invoice, behind []chain.ID) api.Resource {
	now := invoices.Now()
	t, stands := inv.Terms, inv.State
	count := invoices.Evaluation(inv)
	told, more := count.ReportedPayments()
	r := api.Resource{
		ForeignID: inv.ID, OrderID: t.OrderID, Mode: string(inv.Mode), Version: inv.Version,
		Status: string(stands.Status), Exceptions: exceptions(inv),
		CreatedAt: timestamp(inv.CreatedAt), ExpiredAt: timestamp(inv.ExpiresAt()),
		PaidAt: timestamp(stands.PaidAt), PaidCurrency: stands.PaidAsset, PaidTx: stands.PaidTx,
		ClientAmount: t.Price.String(), ClientCurrency: t.Price.Currency().Code,
		PaidAmount: stands.Paid.String(), DueAmount: stands.Due.String(), OverpaidAmount: stands.Overpaid.String(),
		ToleranceAmount: t.Rules.Tolerance.String(), PaidCount: inv.PaidCount, FirstPaidAt: timestamp(inv.FirstPaidAt), Accepted: acceptance(inv),
		AllowPaidExpired: t.AllowPaidExpired, DisableConvert: t.DisableSale,
		SecondsLeft:    secondsLeft(min(inv.ExpiresAt().Sub(now.Add(inv.Clock)), inv.Quote().Until.Sub(inv.Quote().From))),
		PaymentMethods: paymentMethods(invoices, inv, count, behind), Payments: payments(inv, told), MorePayments: more, Conversions: conversions(inv), Quotes: quotes(inv),
		RateSource: inv.Quote().Source, MerchantName: t.Merchant, Description: t.Description, Metadata: t.Metadata,
		Language: t.Language, URLSuccess: t.URLSuccess, URLFailure: t.URLFailure, RefundCurrency: inv.Refund.Asset, RefundAddress: inv.Refund.Address,
		WatchedUntil: timestamp(inv.ExpiresAt().Add(invoice.WatchPeriod)), MayRequote: count.MayRequote(invoice.Shopper, now),
	}
	for i, p := range told {
		if a, known := invoices.KnownAsset(p.Network, p.Asset); known {
			r.Payments[i].Symbol, r.Payments[i].NetworkName = a.Symbol, a.NetworkName
		}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	if stands.Status != invoice.Paid {
		r.PaidCurrency, r.PaidTx = "", ""
	}
	return r
}

// show writes our own view of an invoice. The evidence of its prices, and its sales, are only for
// keys of the merchant: pages do not need them.
func (s *server) show(c echo.Context, k call, inv *invoice.Invoice, behind []chain.ID) error {
	r := Resource(s.invoices, inv, behind)
	if k.key.May(merchant.ScopeRead) || k.key.May(merchant.ScopeAdmin) {
		for i, q := range inv.Quotes {
			text, err := s.invoices.Evidence(c.Request().Context(), q.Evidence)
			if err != nil && !errors.Is(err, invoice.ErrNotFound) {
				return err
			}
			if text != "" {
				r.Quotes[i].Evidence = json.RawMessage(text)
			}
		}
	} else {
		r.Conversions, r.ToleranceAmount, r.Accepted.Actor = []api.Sale{}, "", ""
	}
	var err error
	if r.Proof, err = s.prove(c.Request().Context(), r); err != nil {
		return err
	}
	style, err := s.themeOf(c.Request().Context(), inv.MerchantID)
	if err != nil {
		return err
	}
	if style != "" {
		c.Response().Header().Set(api.HeaderTheme, style)
	}
	s.setInvoiceHeaders(c, inv, inv.Version)
	c.Response().Header().Set("ETag", tagOf(inv, behind))
	return writeJSON(c, http.StatusOK, r)
}

// acceptance returns the merchant's decision to accept the invoice.
func acceptance(inv *invoice.Invoice) api.Acceptance {
	return api.Acceptance{At: timestamp(inv.AcceptedAt), Actor: inv.AcceptedBy, Shortfall: inv.Shortfall().String()}
}

// secondsLeft returns a duration in whole seconds, rounded up, so that it is at least one until the
// end.
func secondsLeft(left time.Duration) int64 {
	if left > 0 {
		left += time.Second - 1
	}
	return int64(left / time.Second)
}

func exceptions(inv *invoice.Invoice) []string {
	list := []string{}
	for _, e := range inv.State.Exceptions {
		list = append(list, string(e))
	}
	return list
}

// paymentMethods returns the methods with a price in the newest quote: a method without one can no
// longer be paid.
func paymentMethods(invoices *invoice.Service, inv *invoice.Invoice, count *invoice.Evaluation, behind []chain.ID) []api.PaymentMethod {
	list := []api.PaymentMethod{}
	for _, m := range inv.Methods {
		if p, offered := inv.Quote().Price(m.Asset.Code); offered {
			method := paymentMethod(inv, count, m, p)
			method.Behind = slices.Contains(behind, m.Asset.Network)
			method.Bridged = invoices.BridgedSymbols(m.Asset)
			list = append(list, method)
		}
	}
	return list
}

func paymentMethod(inv *invoice.Invoice, count *invoice.Evaluation, m invoice.Method, p invoice.Price) api.PaymentMethod {
	a, due := m.Asset, count.Rest(m)
	ask := due
	if ask.IsZero() { // nothing is due: the link has the whole price
		ask = p.Expected
	}
	link := a.Link(m.Destination.Address, ask, inv.Terms.Merchant)
	method := api.PaymentMethod{
		CryptoCurrency: a.Code, Symbol: a.Symbol, Name: a.Name, Network: string(a.Network), NetworkName: a.NetworkName,
		Contract: a.Contract, Decimals: a.Currency.Decimals, Address: m.Destination.Address,
		ExpectedAmount: p.Expected.String(), DueAmount: due.String(), SmallestAmount: a.Dust.String(),
		RateEUR: p.EUR.Price(), RateUSD: p.USD.Price(), RateClient: p.Rate(inv.Terms.Price.Currency()).Price(),
		PaymentURI: link.URI, PaymentCode: link.Code, AddressCode: link.Bare,
		Confirmations: inv.Confirmations(m), Watched: m.Watched,
	}
	if a.ChainID != 0 {
		method.ChainID = strconv.FormatUint(a.ChainID, 10)
	}
	return method
}

func payments(inv *invoice.Invoice, told []invoice.Payment) []api.Payment {
	list := []api.Payment{}
	for _, p := range told {
		address, required := destination(inv, p.Transfer)
		if p.Required > 0 {
			required = p.Required
		}
		worth := p.Value
		if p.State == invoice.PaymentLate && p.Market != nil { // it does not count, but the merchant has received it
			worth = *p.Market
		}
		list = append(list, api.Payment{
			ID: p.ID, CryptoCurrency: p.Asset, Address: address, Amount: p.Amount.String(), FiatAmount: worth.String(),
			Tx: p.Tx, Confirmations: p.Confirmations, Required: required, State: string(p.State),
			FirstSeenAt: timestamp(p.FirstSeen),
		})
	}
	return list
}

// destination returns the address of a transfer, and the confirmations that are required for a
// payment of the whole invoice to it.
func destination(inv *invoice.Invoice, t invoice.Transfer) (address string, confirmations int) {
	if m, known := inv.Method(t.Network, t.Asset); known && m.Destination.Script == t.Script {
		return m.Destination.Address, inv.Confirmations(m)
	}
	for _, m := range inv.Methods { // a wrong asset, sent to an address of this invoice
		if m.Asset.Network == t.Network && m.Destination.Script == t.Script {
			return m.Destination.Address, 0
		}
	}
	return "", 0
}

func quotes(inv *invoice.Invoice) []api.Quote {
	list := []api.Quote{}
	for _, q := range inv.Quotes {
		quote := api.Quote{
			Number: q.Number, From: timestamp(q.From), Until: timestamp(q.Until), DueAmount: q.Due.String(),
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
