package greenfield

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// methodView is a payment method of an invoice, with its IDs in versions 2 and 1 of the API. Amounts are in the asset.
type methodView struct {
	MethodID   string        `json:"paymentMethodId"`
	Method     string        `json:"paymentMethod"`
	Currency   string        `json:"currency"`
	CryptoCode string        `json:"cryptoCode"`
	Activated  bool          `json:"activated"`
	Address    string        `json:"destination"`
	Link       string        `json:"paymentLink"`
	Rate       string        `json:"rate"` // price of one coin in the currency of the invoice
	MethodPaid string        `json:"paymentMethodPaid"`
	TotalPaid  string        `json:"totalPaid"`
	Due        string        `json:"due"`
	Amount     string        `json:"amount"`
	MethodFee  string        `json:"paymentMethodFee"`
	NetworkFee string        `json:"networkFee"`
	Additional struct{}      `json:"additionalData"`
	Payments   []paymentView `json:"payments"`
}

// paymentView is a payment. Value and Fee are amounts of the asset, ReceivedDate is a Unix time in seconds. One plug-in
// multiplies Value by the rate of the method to get the value in the currency of the invoice.
type paymentView struct {
	ID           string `json:"id"`
	ReceivedDate int64  `json:"receivedDate"`
	Value        string `json:"value"`
	Fee          string `json:"fee"`
	Status       string `json:"status"`
	Address      string `json:"destination"`
}

// listInvoiceMethods handles GET invoices/{id}/payment-methods. If there are payments, it lists only their methods, because
// one plug-in refuses a list with methods of two currencies.
func (s *server) listInvoiceMethods(c echo.Context, k merchant.Key) error {
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	e, all, paid := s.Invoices.Evaluation(inv), []methodView{}, []methodView{}
	for _, m := range inv.Methods {
		v := methodOf(inv, e, m, s.Now())
		all = append(all, v)
		if len(v.Payments) > 0 {
			paid = append(paid, v)
		}
	}
	if len(paid) > 0 {
		return writeJSON(c, http.StatusOK, paid)
	}
	return writeJSON(c, http.StatusOK, all)
}

// methodOf returns the view of a payment method of an invoice with its payments at a time. A method that needs a payment
// request is activated while one is valid.
func methodOf(inv *invoice.Invoice, e *invoice.Evaluation, m invoice.Method, now time.Time) methodView {
	due := e.Remaining(m)
	to, payable := e.Destination(m, now)
	v := methodView{
		MethodID: methodID(m.Asset), Method: formerID(m.Asset), Currency: m.Asset.Symbol, CryptoCode: m.Asset.Symbol, Activated: payable,
		Address: to.Address, Link: m.Asset.Link(to.Address, due, inv.Terms.Merchant).URI,
		Due: due.String(), MethodFee: "0", NetworkFee: "0", Payments: []paymentView{},
	}
	if price, rated := lastPrice(inv, m.Asset.Code); rated {
		v.Rate, v.Amount = price.Rate(inv.Terms.Price.Currency()).Price(), price.Expected.String()
	}
	received := money.Zero(m.Asset.Currency)
	reported, _ := e.ReportedPayments()
	for _, p := range reported {
		if p.Network != m.Asset.Network || p.Asset != m.Asset.Code || !isPayment(p) {
			continue
		}
		v.Payments = append(v.Payments, paymentOf(inv, p))
		if p.State == invoice.PaymentSeen || p.State == invoice.PaymentConfirmed {
			received = received.Add(p.Amount)
		}
	}
	v.MethodPaid, v.TotalPaid = received.String(), received.String()
	return v
}

// lastPrice returns the price of an asset in the newest quote that has one.
func lastPrice(inv *invoice.Invoice, code string) (invoice.Price, bool) {
	for _, q := range slices.Backward(inv.Quotes) {
		if p, rated := q.Price(code); rated {
			return p, true
		}
	}
	return invoice.Price{}, false
}

// isPayment reports whether plug-ins see a transfer: they see all except those that never count.
func isPayment(p invoice.Payment) bool {
	switch p.State {
	case invoice.PaymentWrongAsset, invoice.PaymentOld, invoice.PaymentDust:
		return false
	}
	return true
}

// paymentOf returns the view of a payment of an invoice.
func paymentOf(inv *invoice.Invoice, p invoice.Payment) paymentView {
	to, _ := inv.DestinationOf(p.Transfer)
	v := paymentView{
		ID: strings.ReplaceAll(p.ID, ":", "-"), ReceivedDate: p.FirstSeen.Unix(), Value: p.Amount.String(), Fee: "0", Address: to.Address,
		Status: processing,
	}
	switch {
	case p.State == invoice.PaymentReplaced || p.State == invoice.PaymentReorged:
		v.Status = invalid
	case p.Confirmed():
		v.Status = settled
	}
	return v
}
