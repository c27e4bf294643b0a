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

// holdRefusals maps the "hold" parameter of an address to the text that says why no new price was
// held. The parameter is the service's error code if it is known here, otherwise refusedOther.
var holdRefusals = map[string]string{
	api.CodeNoRate:   "hold.unpriced",
	refusedAway:      "fault.away.text",
	"too_little_due": "hold.little",
	refusedOther:     "refused.changed",
}

// refusedAway is the "hold" parameter for a service that cannot answer now, for any reason other
// than a missing price.
const refusedAway = "unavailable"

// requote asks for a new price and redirects back to the page. The form contains the number of the
// quote that it was shown for, so that a second click does not ask for another price.
func (h *Handler) requote(c echo.Context) error {
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

// hold returns the form that asks for a new price. The form is empty if no new price is available,
// or if only the shop can see whether money arrived.
func hold(r api.Resource, s scene) views.RequoteForm {
	if !r.MayRequote || byHand(r) || len(r.Quotes) == 0 {
		return views.RequoteForm{}
	}
	return views.RequoteForm{
		Action: s.keep(s.self + "/quote"), Text: s.Text("hold.button"), Method: s.method,
		Quote: strconv.Itoa(r.Quotes[len(r.Quotes)-1].Number),
	}
}
