package web

import (
	"fmt"
	"net/url"

	"github.com/labstack/echo/v4"

	"chequer/web/present"
)

// simulate asks the service to simulate a payment or an event on the test network, and redirects to the invoice's page. If
// the service refuses, the query of the redirect has the code of the refusal.
func (h *Handler) simulate(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	request, ok := present.SimulateRequest(c.FormValue("action"), c.FormValue("method"))
	if !ok {
		return echo.ErrUnprocessableEntity
	}
	err = h.config.Client.Simulate(c.Request().Context(), id, request)
	code := refusalCode(err, present.SimulationRefusals)
	if err != nil && code == "" {
		return fmt.Errorf("simulate %s: %w", request.Action, err)
	}
	return h.backToMethod(c, id, url.Values{"m": {request.PaymentMethod}, "refused": {code}})
}
