package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// requote handles POST invoices/{id}/requote. A key of the merchant with the scope admin acts as the
// merchant; other keys act as the shopper.
func (s *server) requote(c echo.Context, k call) error {
	r, err := request[api.RequoteRequest](c, k)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) {
		return s.Invoices.Requote(ctx, inv.ID, decidingActor(k, inv), r.Quote)
	})
}

// requestPayment handles POST invoices/{id}/payment-request. It waits until the provider of the merchant's connection has made
// the payment request, for 10 seconds at most.
func (s *server) requestPayment(c echo.Context, k call) error {
	r, err := request[api.NewPaymentRequest](c, k)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	code := cmp.Or(r.PaymentMethod, api.MethodLightning)
	if err := requestable(inv, code); err != nil {
		return err
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) {
		return s.Invoices.RequestPayment(ctx, inv.ID, code)
	})
}

// requestable returns the error for a method that is not offered, or that needs no payment request.
func requestable(inv *invoice.Invoice, code string) error {
	isOffered := slices.ContainsFunc(inv.Methods, func(m invoice.Method) bool { return m.Asset.Code == code && m.Asset.Requested() })
	if !isOffered {
		return invalid("payment_method", "must be a method of the invoice that needs a payment request")
	}
	return nil
}

// cancel handles POST invoices/{id}/cancel.
func (s *server) cancel(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, _ struct{}) (*invoice.Invoice, error) {
		return s.Invoices.Cancel(ctx, inv.ID, 0) // 0: any version
	})
}

// accept handles POST invoices/{id}/accept.
func (s *server) accept(c echo.Context, k call) error {
	return decideAsMerchant(s, c, k, func(ctx context.Context, inv *invoice.Invoice, _ struct{}) (*invoice.Invoice, error) {
		return s.Invoices.Accept(ctx, inv.ID, k.key.ID, 0) // 0: any version
	})
}

// decideAsMerchant carries out a decision that only the merchant of an invoice may make. do gets the
// request in the body of the call.
func decideAsMerchant[R any](s *server, c echo.Context, k call, do func(context.Context, *invoice.Invoice, R) (*invoice.Invoice, error)) error {
	r, err := request[R](c, k)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	if !owns(k, inv) {
		return errNoInvoice
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) { return do(ctx, inv, r) })
}

// decide uses up the call's nonce, carries out the decision, and writes the resulting invoice.
func (s *server) decide(c echo.Context, k call, do func(context.Context) (*invoice.Invoice, error)) error {
	ctx := c.Request().Context()
	if err := s.useNonce(ctx, k); err != nil {
		return err
	}
	newer, err := do(ctx)
	if err != nil {
		return err
	}
	return s.show(c, k, newer, nil)
}

// decidingActor returns invoice.Merchant if the key belongs to the invoice's merchant and mode and has
// the scope admin, otherwise invoice.Shopper.
func decidingActor(k call, inv *invoice.Invoice) invoice.Decider {
	if owns(k, inv) && k.key.May(merchant.ScopeAdmin) {
		return invoice.Merchant
	}
	return invoice.Shopper
}

// owns reports whether an invoice has the key's merchant and mode.
func owns(k call, inv *invoice.Invoice) bool {
	return inv.MerchantID == k.key.MerchantID && string(inv.Mode) == string(k.key.Mode)
}

// refundAddress handles POST invoices/{id}/refund-address. Only the key of a payment page may name an address, which the
// shopper entered there. The keys of the merchant may not: see CONTRACT, "The invoice resource".
func (s *server) refundAddress(c echo.Context, k call) error {
	r, err := request[api.RefundRequest](c, k)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) {
		newer, err := s.Invoices.SetRefundAddress(ctx, inv.ID, enteredBy(k), r.Currency, r.Address)
		return newer, explainRefund(err)
	})
}

// enteredBy returns the value of invoice.RefundAddress.By for an address that was entered on the pages of
// a key.
func enteredBy(k call) string {
	if k.key.Builtin {
		return string(invoice.Shopper)
	}
	return k.key.ID
}
