package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
)

// simulate makes the test network show a payment or an event, and redirects to the page. After a
// refusal the address contains its code.
func (h *Handler) simulate(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	request := api.SimulateRequest{Action: c.FormValue("action"), PaymentMethod: c.FormValue("method")}
	if span, ok := spans[request.Action]; ok {
		request.Action, request.Seconds = api.SimulateClock, int64(span/time.Second)
	}
	if !slices.Contains(api.SimulateActions, request.Action) || (request.Action == api.SimulateClock) != (request.Seconds > 0) {
		return echo.ErrUnprocessableEntity
	}
	err = h.config.Client.Simulate(c.Request().Context(), id, request)
	code := refusalOf(err)
	if err != nil && code == "" {
		return fmt.Errorf("simulate %s: %w", request.Action, err)
	}
	back, query := h.path("/invoice/"+id), url.Values{}
	if request.PaymentMethod != "" {
		query.Set("m", request.PaymentMethod)
	}
	if code != "" {
		query.Set("refused", code)
	}
	if len(query) > 0 {
		back += "?" + query.Encode()
	}
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(back))
}

// refusalOf returns the code for a refusal that the page can show; empty for any other error and for
// nil.
func refusalOf(err error) string {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.Status != http.StatusConflict {
		return ""
	}
	if _, known := refusals[refused.Code]; known {
		return refused.Code
	}
	return refusedOther
}
