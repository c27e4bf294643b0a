package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

// errNoAddress is the error for a form without an address.
var errNoAddress = &client.Error{Status: http.StatusBadRequest, Code: present.CodeNoAddress}

// refund stores the address that the shopper wants refunds at, and redirects to the page. If the
// address is invalid, it renders the form again with the address and the problem.
func (h *Handler) refund(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	typed := api.RefundRequest{Currency: c.FormValue("currency"), Address: strings.TrimSpace(c.FormValue("address"))}
	err = errNoAddress
	if typed.Address != "" {
		err = h.config.Client.SetRefundAddress(c.Request().Context(), id, typed)
	}
	apiErr, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return h.toInvoice(c, "/invoice/"+id+"#refund")
	case !ok || apiErr.Status != http.StatusBadRequest && apiErr.Status != http.StatusConflict:
		return fmt.Errorf("set refund address: %w", err)
	}
	return h.refuseRefund(c, id, apiErr, typed)
}

// refuseRefund renders the form for a refund address again.
func (h *Handler) refuseRefund(c echo.Context, id string, apiErr *client.Error, typed api.RefundRequest) error {
	ctx := c.Request().Context()
	snapshot, err := h.config.Client.Invoice(ctx, id)
	if err != nil {
		return fmt.Errorf("read invoice: %w", err)
	}
	f := h.invoiceFrame(c, snapshot)
	h.allowShop(c, &f, snapshot)
	f.Query = present.ViewQuery(f.Modal) // not that of the address that the form posts to
	page := f.Payment(snapshot, "", false)
	f.RefuseRefund(&page, apiErr, typed)
	return render(c, pageStatus(apiErr.Status), views.PaymentPage(page))
}

// backToInvoice serves a GET of the address that a form of an invoice's page posts to, and the addresses of an invoice
// that shop plug-ins make. It redirects to the page, and keeps the view in a frame.
func (h *Handler) backToInvoice(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	return h.toInvoice(c, "/invoice/"+id)
}
