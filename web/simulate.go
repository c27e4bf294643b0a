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

// simulate makes the test network show something, and leads back to the page. So
// does a refusal, with the word for it.
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
	word := refusalOf(err)
	if err != nil && word == "" {
		return fmt.Errorf("simulate %s: %w", request.Action, err)
	}
	back, query := h.path("/invoice/"+id), url.Values{}
	if request.PaymentMethod != "" {
		query.Set("m", request.PaymentMethod)
	}
	if word != "" {
		query.Set("refused", word)
	}
	if len(query) > 0 {
		back += "?" + query.Encode()
	}
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(back))
}

// refusalOf is the word for a refusal that the page can say; empty for any other
// error and for none.
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
