package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// requote handles POST invoices/{id}/requote. A key of the merchant with the scope admin acts as the
// merchant; other keys act as the shopper.
func (s *server) requote(c echo.Context, k call) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	var seen int
	if err := decode(k.body, map[string]field{"quote": {set: wholeNumber(&seen)}}); err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) {
		return s.invoices.Requote(ctx, inv.ID, roleOf(k, inv), seen)
	})
}

// cancel handles POST invoices/{id}/cancel.
func (s *server) cancel(c echo.Context, k call) error { return s.order(c, k, s.invoices.Cancel) }

// accept handles POST invoices/{id}/accept.
func (s *server) accept(c echo.Context, k call) error {
	return s.order(c, k, func(ctx context.Context, id string) (*invoice.Invoice, error) {
		return s.invoices.Accept(ctx, id, k.key.ID)
	})
}

// order carries out the merchant's decision about one of its own invoices.
func (s *server) order(c echo.Context, k call, do func(context.Context, string) (*invoice.Invoice, error)) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	if err := decode(k.body, nil); err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	if !owns(k, inv) {
		return errNoInvoice
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) { return do(ctx, inv.ID) })
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

// roleOf returns the role in which a call decides: merchant or shopper.
func roleOf(k call, inv *invoice.Invoice) invoice.Actor {
	if owns(k, inv) && k.key.May(merchant.ScopeAdmin) {
		return invoice.Seller
	}
	return invoice.Shopper
}

// owns reports whether an invoice is of the key's merchant and mode.
func owns(k call, inv *invoice.Invoice) bool {
	return inv.MerchantID == k.key.MerchantID && string(inv.Mode) == string(k.key.Mode)
}

// wholeNumber parses a positive whole number.
func wholeNumber(into *int) func(any) error {
	return func(value any) error {
		number, _ := value.(json.Number)
		n, err := strconv.Atoi(number.String())
		if err != nil || n < 1 {
			return errors.New("must be a whole number from 1 on")
		}
		*into = n
		return nil
	}
}
