package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// errNoRate is the error for an amount in fiat while there is no rate.
var errNoRate = &problem{status: http.StatusServiceUnavailable, code: api.CodeNoRate, message: "The amount cannot be converted now", retry: 30}

// refundProblems are the error answers of calls about refunds that differ from those of other calls.
var refundProblems = problems{
	invoice.ErrTooLittle:       invalid("amount", "is less than the network can transfer"),
	invoice.ErrNoRate:          errNoRate,
	invoice.ErrTransaction:     invalid("tx", "is no transaction identifier of the network of the refund"),
	invoice.ErrPaymentHash:     invalid("tx", "is neither the payment hash nor the preimage of the refund: want 64 hexadecimal digits"),
	invoice.ErrRequestAmount:   &problem{status: http.StatusConflict, code: "wrong_state", message: "The payment request of the refund asks for another amount"},
	invoice.ErrOwnTransaction:  invalid("tx", "is a payment of the invoice"),
	invoice.ErrUsedTransaction: invalid("tx", "is the transaction of another refund to the same address in the same currency"),
}

// refundRoutes registers the routes of refunds.
func (s *server) refundRoutes(g *echo.Group) {
	route := s.administered(refundProblems)
	invoicePath := api.PathInvoices + "/:id"
	g.Match(readMethods, invoicePath+"/refunds", s.signed(requestSigned(merchant.ScopeRead), s.listRefunds))
	g.POST(invoicePath+"/refunds", route(s.createRefund))
	g.POST(invoicePath+"/refunds/:refund/sent", route(s.sendRefund))
	g.POST(invoicePath+"/refunds/:refund/cancel", route(s.cancelRefund))
	g.POST(invoicePath+"/refunds/:refund/renew", route(s.renewRefund))
	g.POST(invoicePath+"/decline-refund", route(s.declineRefund))
	g.POST(invoicePath+"/keep-surplus", route(s.keepSurplus))
	g.POST(invoicePath+"/release-surplus", route(s.releaseSurplus))
}

// listRefunds handles GET invoices/{id}/refunds.
func (s *server) listRefunds(c echo.Context, k call) error {
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.RefundList{Refunds: wire.Refunds(s.Invoices, inv)})
}

// createRefund handles POST invoices/{id}/refunds.
func (s *server) createRefund(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.NewRefund) (*invoice.Invoice, error) {
		d, err := s.draft(inv, r)
		if err != nil {
			return nil, err
		}
		d.By = k.key.ID
		newer, _, err := s.Invoices.CreateRefund(ctx, inv.ID, d)
		return newer, explainRefund(err)
	})
}

// draft returns the refund that a request describes.
func (s *server) draft(inv *invoice.Invoice, r api.NewRefund) (d invoice.RefundDraft, err error) {
	d = invoice.RefundDraft{Kind: invoice.RefundKind(r.Kind), Asset: r.Currency, Again: r.Again, Seen: r.Version}
	isPart, given := d.Kind == invoice.RefundPart, r.Amount != "" || r.FiatAmount != ""
	b, received := s.Invoices.Evaluation(inv).Balance(r.Currency)
	switch {
	case !slices.Contains(invoice.RefundKinds, d.Kind):
		return d, invalid("kind", "must be received, surplus or part")
	case !isPart && given:
		return d, invalid("kind", "must be part if there is an amount")
	case isPart && (!given || r.Amount != "" && r.FiatAmount != ""):
		return d, invalid("kind", "needs either amount or fiat_amount if it is part")
	case !received:
		return d, invoice.ErrRefundAsset
	}
	if r.Amount != "" {
		if d.Amount, err = money.Parse(r.Amount, b.Received.Currency()); err != nil {
			return d, invalid("amount", "must be an amount of the currency: "+err.Error())
		}
	}
	if r.FiatAmount != "" {
		if d.Fiat, err = money.Parse(r.FiatAmount, inv.Terms.Price.Currency()); err != nil {
			return d, invalid("fiat_amount", "must be an amount in the currency of the invoice: "+err.Error())
		}
	}
	return d, nil
}

// sendRefund handles POST invoices/{id}/refunds/{refund}/sent.
func (s *server) sendRefund(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.RefundTransaction) (*invoice.Invoice, error) {
		return s.Invoices.SendRefund(ctx, inv.ID, c.Param("refund"), r.Tx, k.key.ID, r.Version)
	})
}

// cancelRefund handles POST invoices/{id}/refunds/{refund}/cancel.
func (s *server) cancelRefund(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.RefundDecision) (*invoice.Invoice, error) {
		return s.Invoices.CancelRefund(ctx, inv.ID, c.Param("refund"), k.key.ID, r.Reason, r.Version)
	})
}

// renewRefund handles POST invoices/{id}/refunds/{refund}/renew.
func (s *server) renewRefund(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.SeenVersion) (*invoice.Invoice, error) {
		return s.Invoices.RenewRefund(ctx, inv.ID, c.Param("refund"), k.key.ID, r.Version)
	})
}

// declineRefund handles POST invoices/{id}/decline-refund.
func (s *server) declineRefund(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.RefundDecision) (*invoice.Invoice, error) {
		return s.Invoices.DeclineRefund(ctx, inv.ID, k.key.ID, r.Reason, r.Version)
	})
}

// keepSurplus handles POST invoices/{id}/keep-surplus.
func (s *server) keepSurplus(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.RefundDecision) (*invoice.Invoice, error) {
		return s.Invoices.KeepSurplus(ctx, inv.ID, k.key.ID, r.Reason, r.Version)
	})
}

// releaseSurplus handles POST invoices/{id}/release-surplus.
func (s *server) releaseSurplus(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, r api.SeenVersion) (*invoice.Invoice, error) {
		return s.Invoices.ReleaseSurplus(ctx, inv.ID, r.Version)
	})
}

// explainRefund returns the error answer for a refund address. It does not repeat the text of the
// request.
func explainRefund(err error) error {
	switch {
	case errors.Is(err, keys.ErrPrivateKey):
		return badRequest("private_key", "address is a private key or a recovery phrase: never share it, and move its coins to a new wallet")
	case errors.Is(err, invoice.ErrPaymentAddress):
		return invalid("address", "is a payment address of an invoice: enter an address of your own wallet")
	case errors.Is(err, invoice.ErrTokenContract):
		return invalid("address", "is the contract of a token, or an address that no wallet has: enter an address of your own wallet")
	case errors.Is(err, keys.ErrAddress), errors.Is(err, keys.ErrNetwork):
		return invalid("address", "is "+err.Error())
	}
	return err
}
