package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
)

// holdRefusals are the texts of why no new price was held, by the word that stands for it in
// an address: the service's code where we know that, else refusedOther.
var holdRefusals = map[string]string{
	api.CodeNoRate:   "hold.unpriced",
	refusedAway:      "fault.away.text",
	"too_little_due": "hold.little",
	refusedOther:     "refused.changed",
}

// refusedAway stands in an address for a service that cannot answer now, for any reason
// but that there is no price.
const refusedAway = "unavailable"

// holdAgain asks for a new price, and leads back to the page. The form says which
// price it was for, so that a second click finds it done.
func (h *Handler) holdAgain(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	seen, err := strconv.Atoi(c.FormValue("quote"))
	if err != nil || seen < 1 {
		return echo.ErrUnprocessableEntity
	}
	query := url.Values{}
	if method := c.FormValue("m"); method != "" {
		query.Set("m", method)
	}
	err = h.config.Client.Requote(c.Request().Context(), id, api.RequoteRequest{Quote: seen})
	if refused, ok := errors.AsType[*client.Error](err); ok && (refused.Status == http.StatusConflict || refused.Status == http.StatusServiceUnavailable) {
		query.Set("hold", refusedOther)
		if refused.Status == http.StatusServiceUnavailable {
			query.Set("hold", refusedAway)
		}
		if _, known := holdRefusals[refused.Code]; known {
			query.Set("hold", refused.Code)
		}
	} else if err != nil {
		return fmt.Errorf("hold price again: %w", err)
	}
	back := h.path("/invoice/" + id)
	if len(query) > 0 {
		back += "?" + query.Encode()
	}
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(back))
}

// hold is the form that asks for a new price; none where there is none to be had,
// or where nobody but the shop can tell whether money came.
func hold(r api.Resource, s scene) views.Hold {
	if !r.MayRequote || byHand(r) || len(r.Quotes) == 0 {
		return views.Hold{}
	}
	return views.Hold{
		Action: s.keep(s.self + "/quote"), Text: s.Text("hold.button"), Method: s.method,
		Quote: strconv.Itoa(r.Quotes[len(r.Quotes)-1].Number),
	}
}
