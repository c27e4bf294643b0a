package server

import (
	"net/http"
	"regexp"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// idPattern matches an invoice's identifier; other texts are never looked up.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// status handles GET invoice/status: the specification's answer for the newest quote. It ignores the
// request's headers, because some clients send none.
func (s *server) status(c echo.Context) error {
	id := c.QueryParam("id")
	if !idPattern.MatchString(id) {
		return errNoInvoice
	}
	inv, err := s.invoices.Invoice(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return s.writeInvoice(c, inv)
}

// writeInvoice writes the specification's view of an invoice in its current state.
func (s *server) writeInvoice(c echo.Context, inv *invoice.Invoice) error {
	s.setInvoiceHeaders(c, inv, inv.Version)
	setPaidHeaders(c.Response().Header(), inv)
	return writeJSON(c, http.StatusOK, wire.Invoice(inv))
}

// setInvoiceHeaders sets the headers that name the version of the invoice and the address of its page.
func (s *server) setInvoiceHeaders(c echo.Context, inv *invoice.Invoice, version int64) {
	header := c.Response().Header()
	header.Set("Location", s.baseURL+"/invoice/"+inv.ID)
	header.Set("ETag", etag(version))
}

// setPaidHeaders sets the headers that describe the payment, for which the specification's answer has no
// field.
func setPaidHeaders(header http.Header, inv *invoice.Invoice) {
	if inv.State.Status != invoice.Paid {
		return
	}
	header.Set(api.HeaderPaidAt, wire.Time(inv.State.PaidAt))
	header.Set(api.HeaderPaidCurrency, inv.State.PaidAsset)
	header.Set(api.HeaderPaidTx, inv.State.PaidTx)
}

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }
