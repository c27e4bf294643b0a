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

// requote is POST invoices/{id}/requote: the page and a key that creates ask as
// the shopper, a key of the merchant's that may do everything as the merchant.
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
		return s.invoices.Requote(ctx, inv.ID, person(k, inv), seen)
	})
}

// cancel is POST invoices/{id}/cancel.
func (s *server) cancel(c echo.Context, k call) error { return s.order(c, k, s.invoices.Cancel) }

// accept is POST invoices/{id}/accept.
func (s *server) accept(c echo.Context, k call) error {
	return s.order(c, k, func(ctx context.Context, id string) (*invoice.Invoice, error) {
		return s.invoices.Accept(ctx, id, k.key.ID)
	})
}

// order carries out what the merchant says about an invoice of his own.
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

// decide uses the call's nonce up, does what is to be done once, and shows what
// came of it.
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

// person is as whom a call decides.
func person(k call, inv *invoice.Invoice) invoice.Person {
	if owns(k, inv) && k.key.May(merchant.ScopeAdmin) {
		return invoice.Seller
	}
	return invoice.Shopper
}

// owns tells whether an invoice is of the key's merchant and mode.
func owns(k call, inv *invoice.Invoice) bool {
	return inv.MerchantID == k.key.MerchantID && string(inv.Mode) == string(k.key.Mode)
}

// wholeNumber takes a whole number from 1 on.
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
