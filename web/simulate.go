package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
)

// simulate makes the test network show something, and leads back to the page.
func (h *Handler) simulate(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	request := api.SimulateRequest{Action: c.FormValue("action"), PaymentMethod: c.FormValue("method")}
	if !slices.Contains(api.SimulateActions, request.Action) {
		return echo.ErrUnprocessableEntity
	}
	if err := h.config.Client.Simulate(c.Request().Context(), id, request); err != nil {
		return fmt.Errorf("simulate %s: %w", request.Action, err)
	}
	back := h.path("/invoice/" + id)
	if request.PaymentMethod != "" {
		back += "?m=" + url.QueryEscape(request.PaymentMethod)
	}
	return c.Redirect(http.StatusSeeOther, back)
}
