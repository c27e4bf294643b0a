package server

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"chequer/internal/invoice"
	"chequer/internal/keys"
)

// maxRefundText bounds a refund address in characters. The text may be a payment link with an
// amount and a label.
const maxRefundText = 1024

// refundAddress handles POST invoices/{id}/refund-address.
func (s *server) refundAddress(c echo.Context, k call) error {
	if err := requireJSON(c); err != nil {
		return err
	}
	var currency, address string
	err := decode(k.body, map[string]field{
		"currency": {required: true, set: text(&currency, 32)},
		"address":  {required: true, set: text(&address, maxRefundText)},
	})
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	return s.decide(c, k, func(ctx context.Context) (*invoice.Invoice, error) {
		newer, err := s.invoices.SetRefund(ctx, inv.ID, roleOf(k, inv), currency, address)
		return newer, explainRefund(err)
	})
}

// explainRefund returns the error answer for a refund address. It never repeats the text that was
// sent.
func explainRefund(err error) error {
	switch {
	case errors.Is(err, keys.ErrPrivateKey):
		return badRequest("private_key", "address is a private key or the words of a wallet: never give it to anybody, and move what is on it to a new wallet")
	case errors.Is(err, invoice.ErrOurAddress):
		return invalid("address", "is one that invoices are paid to: give one of your own wallet")
	case errors.Is(err, keys.ErrAddress), errors.Is(err, keys.ErrNetwork):
		return invalid("address", "is "+err.Error())
	}
	return err
}
