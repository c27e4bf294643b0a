package greenfield

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// refundRequest is the body of a request for a refund.
type refundRequest struct {
	Variant            scalar `json:"refundVariant"`
	MethodID           scalar `json:"payoutMethodId"`
	Method             scalar `json:"paymentMethod"` // in version 1
	CustomAmount       scalar `json:"customAmount"`
	CustomCurrency     scalar `json:"customCurrency"`
	SubtractPercentage scalar `json:"subtractPercentage"`
}

// refundView is a refund, in the form of what the API calls a pull payment.
type refundView struct {
	ID       string `json:"id"`
	ViewLink string `json:"viewLink"` // page on which the shopper gives the address
	Currency string `json:"currency"`
	Amount   string `json:"amount"`
	Archived bool   `json:"archived"`
}

// refundInvoice handles POST invoices/{id}/refund: it prepares a refund, for which the shopper gives the address on the page
// of the invoice. The merchant pays it from its own wallet: no call of this API sends money.
func (s *server) refundInvoice(c echo.Context, k merchant.Key) error {
	r, err := decode[refundRequest](c)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	draft, err := s.refundDraft(inv, r)
	if err != nil {
		return err
	}
	refund, err := s.prepareRefund(c, k, inv, draft)
	if err != nil {
		return explainRefund(err, "refundVariant")
	}
	return s.showRefund(c, inv, refund, refund.Amount)
}

// repeatTime is the time within which an equal request of a key for a refund counts as a repeated one. Plug-ins send no
// idempotency key when they, or the merchant, repeat a request that was not answered.
const repeatTime = 2 * time.Minute

// prepareRefund prepares the refund of a draft. Equal refunds are allowed after repeatTime.
func (s *server) prepareRefund(c echo.Context, k merchant.Key, inv *invoice.Invoice, draft invoice.RefundDraft) (invoice.Refund, error) {
	draft.By, draft.Again, draft.RepeatTime = k.ID, true, repeatTime
	_, refund, err := s.Invoices.CreateRefund(c.Request().Context(), inv.ID, draft)
	return refund, err
}

// showRefund answers with a refund and its amount, in coins or in the currency of the request.
func (s *server) showRefund(c echo.Context, inv *invoice.Invoice, r invoice.Refund, amount money.Amount) error {
	return writeJSON(c, http.StatusOK, refundView{
		ID: r.ID, ViewLink: s.BaseURL + "/i/" + inv.ID, Currency: amount.Currency().Code, Amount: amount.String(),
	})
}

// refundDraft returns the refund that a request describes: of the received amount, of the surplus, of the price at the
// current rate, or of an amount in the currency of the invoice.
func (s *server) refundDraft(inv *invoice.Invoice, r refundRequest) (d invoice.RefundDraft, err error) {
	if d.Asset, err = s.refundAsset(inv, r); err != nil {
		return d, err
	}
	if part := strings.TrimSpace(string(r.SubtractPercentage)); part != "" && strings.Trim(part, "0.") != "" {
		return d, &fieldFault{Path: "subtractPercentage", Message: "This server subtracts nothing from a refund: use a custom amount"}
	}
	switch r.Variant {
	case "RateThen":
		d.Kind = invoice.RefundReceived
	case "OverpaidAmount":
		d.Kind = invoice.RefundSurplus
	case "CurrentRate", "Fiat":
		d.Kind, d.Fiat = invoice.RefundPart, inv.Terms.Price
	case "Custom":
		price := inv.Terms.Price.Currency()
		if r.CustomCurrency != "" && !strings.EqualFold(string(r.CustomCurrency), price.Code) {
			return d, &fieldFault{Path: "customCurrency", Message: "The currency must be that of the invoice, " + price.Code}
		}
		d.Kind = invoice.RefundPart
		d.Fiat, err = s.customAmount(string(r.CustomAmount), price)
	default:
		err = &fieldFault{Path: "refundVariant", Message: "The variant must be RateThen, CurrentRate, Fiat, OverpaidAmount or Custom"}
	}
	return d, err
}

// customAmount returns the amount of a refund in the currency of its invoice.
func (s *server) customAmount(text string, c money.Currency) (money.Amount, error) {
	amount, err := s.price(text, c.Code)
	if fault, ok := errors.AsType[*fieldFault](err); ok {
		return amount, &fieldFault{Path: "customAmount", Message: fault.Message}
	}
	return amount, err
}

// refundAsset returns the asset of a refund: that of the request or, without one, the first in which the invoice received
// money.
func (s *server) refundAsset(inv *invoice.Invoice, r refundRequest) (code string, err error) {
	id := string(r.MethodID)
	if id == "" {
		id = string(r.Method)
	}
	balances := s.Invoices.Evaluation(inv).Balances()
	if id != "" {
		code, known := s.codeOf(inv.Mode, id)
		if !known {
			return "", &fieldFault{Path: "payoutMethodId", Message: "The payment method is unknown"}
		}
		if asset, received := refundedBy(balances, []string{code}); received {
			return asset, nil
		}
		return code, nil // the domain names the fault
	}
	if len(balances) == 0 {
		return "", explainRefund(invoice.ErrNothingReceived, "refundVariant")
	}
	return balances[0].Asset, nil
}

// codeBitcoin is the code of Bitcoin.
const codeBitcoin = "BTC"

// refundedBy returns the asset of the first balance that can be refunded by one of the payment methods with the codes.
// Bitcoin that arrived over Lightning can be sent to a Bitcoin address.
func refundedBy(balances []invoice.Balance, codes []string) (asset string, ok bool) {
	isReceived := func(b invoice.Balance) bool { return slices.Contains(codes, b.Asset) }
	isSendable := func(b invoice.Balance) bool {
		return b.Asset == chain.CodeLightning && slices.Contains(codes, codeBitcoin)
	}
	for _, fits := range []func(invoice.Balance) bool{isReceived, isSendable} {
		if i := slices.IndexFunc(balances, fits); i >= 0 {
			return balances[i].Asset, true
		}
	}
	return "", false
}

// refundFaults are the faults of requests for a refund.
var refundFaults = []struct {
	err     error
	message string
}{
	{invoice.ErrNothingReceived, "The invoice received nothing that can be refunded"},
	{invoice.ErrRefundAsset, "The invoice received nothing by this payment method"},
	{invoice.ErrNoSurplus, "The invoice received nothing above its price"},
	{invoice.ErrOverRefund, "The refund is, at the current rate, more than the confirmed amount that is not refunded yet"},
	{invoice.ErrTooLittle, "The refund is less than the network can transfer"},
	{invoice.ErrState, "The money of the invoice counts for it, and it is not paid yet: cancel it or wait"},
}

// explainRefund returns the answer for an error about a refund, as the fault of a field.
func explainRefund(err error, path string) error {
	for _, f := range refundFaults {
		if errors.Is(err, f.err) {
			return &fieldFault{Path: path, Message: f.message}
		}
	}
	return err
}
