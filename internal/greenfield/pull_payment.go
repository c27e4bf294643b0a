package greenfield

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// pullPaymentRequest is the body of a request for what the API calls a pull payment.
type pullPaymentRequest struct {
	Name          scalar   `json:"name"`
	Description   scalar   `json:"description"`
	Amount        scalar   `json:"amount"`
	Currency      scalar   `json:"currency"`
	PayoutMethods []scalar `json:"payoutMethods"`
	Methods       []scalar `json:"paymentMethods"` // in version 1
}

// createPullPayment handles POST stores/{store}/pull-payments: it prepares a refund of an order, like refundInvoice. The
// request names no invoice. The plug-in for WooCommerce sends it for the refund of an order, and writes the order ID at the
// end of the name, which it truncates.
func (s *server) createPullPayment(c echo.Context, k merchant.Key) error {
	r, err := decode[pullPaymentRequest](c)
	if err != nil {
		return err
	}
	amount, err := s.price(string(r.Amount), string(r.Currency))
	if err != nil {
		return err
	}
	inv, err := s.orderToRefund(c.Request().Context(), k, r)
	if err != nil {
		return err
	}
	if price := inv.Terms.Price.Currency(); price != amount.Currency() {
		return &fieldFault{Path: "currency", Message: "The currency must be that of the invoice, " + price.Code}
	}
	draft := invoice.RefundDraft{Kind: invoice.RefundPart, Fiat: amount}
	if draft.Asset, err = s.payoutAsset(inv, slices.Concat(r.PayoutMethods, r.Methods)); err != nil {
		return err
	}
	refund, err := s.prepareRefund(c, k, inv, draft)
	if err != nil {
		return explainRefund(err, "amount")
	}
	return s.showRefund(c, inv, refund, amount)
}

// payoutAsset returns the code of the first asset in which an invoice received money and which can be refunded by one of the
// payment methods. Without payment methods it returns the first asset in which the invoice received money.
func (s *server) payoutAsset(inv *invoice.Invoice, methods []scalar) (code string, err error) {
	balances := s.Invoices.Evaluation(inv).Balances()
	if len(balances) == 0 {
		return "", explainRefund(invoice.ErrNothingReceived, "amount")
	}
	if len(methods) == 0 {
		return balances[0].Asset, nil
	}
	var codes []string
	for _, id := range methods {
		if code, known := s.codeOf(inv.Mode, string(id)); known {
			codes = append(codes, code)
		}
	}
	asset, received := refundedBy(balances, codes)
	if !received {
		return "", explainRefund(invoice.ErrRefundAsset, "payoutMethods")
	}
	return asset, nil
}

// maxNameLength is the length in bytes to which the plug-in for WooCommerce truncates the name.
const maxNameLength = 50

// maxOrderWords is the largest number of words in an order ID that orderIDsIn returns.
const maxOrderWords = 6

// orderIDsIn returns the order IDs that the name of a refund may state, the longest first: the last words before the
// first semicolon. A name without a semicolon that may be truncated states none.
func orderIDsIn(name string) (ids []string) {
	text, _, complete := strings.Cut(name, ";")
	if !complete && len(name) >= maxNameLength {
		return nil
	}
	words := strings.Fields(text)
	for i := max(len(words)-maxOrderWords, 0); i < len(words); i++ {
		if id := strings.Join(words[i:], " "); isOrderID(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// orderToRefund returns the invoice to refund of the order that a request names; see chooseInvoice.
func (s *server) orderToRefund(ctx context.Context, k merchant.Key, r pullPaymentRequest) (*invoice.Invoice, error) {
	for _, id := range append(orderIDsIn(string(r.Name)), orderIDsIn(string(r.Description))...) {
		f := invoice.Filter{MerchantID: k.MerchantID, Mode: invoice.Mode(k.Mode), Origin: invoice.Origin{Kind: invoice.FromAPI}, OrderID: id}
		found, err := invoice.ReadPages(ctx, s.Invoices.Invoices, f, invoice.Position{}, maxOrderInvoices)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return s.chooseInvoice(found, id)
		}
	}
	return nil, &fieldFault{Path: "name", Message: "There is no invoice with the order ID in the name: refund the order at the desk"}
}

// maxOrderInvoices is the largest number of invoices of an order from which one is chosen.
const maxOrderInvoices = 50

// chooseInvoice returns the invoice to refund among those of an order: the only paid one that has a balance or, without a single
// paid one, the only one that has a balance.
func (s *server) chooseInvoice(all []*invoice.Invoice, orderID string) (*invoice.Invoice, error) {
	var funded, paid []*invoice.Invoice
	for _, inv := range all {
		if len(s.Invoices.Evaluation(inv).Balances()) == 0 {
			continue
		}
		funded = append(funded, inv)
		if inv.State.Status == invoice.Paid {
			paid = append(paid, inv)
		}
	}
	switch {
	case len(paid) == 1:
		return paid[0], nil
	case len(funded) == 1:
		return funded[0], nil
	case len(funded) == 0:
		return nil, &fieldFault{Path: "name", Message: fmt.Sprintf("The invoices of the order %q received nothing that can be refunded", orderID)}
	}
	return nil, &fieldFault{Path: "name", Message: fmt.Sprintf("Several invoices of the order %q received money: refund them at the desk", orderID)}
}
