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
	"chequer/web/present"
)

// requote asks for a new quote and redirects back to the page. The form contains the number of the newest
// quote on its page, so that a second click does not ask for another quote.
func (h *Handler) requote(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	seen, err := strconv.Atoi(c.FormValue("quote"))
	if err != nil || seen < 1 {
		return echo.ErrUnprocessableEntity
	}
	err = h.config.Client.Requote(c.Request().Context(), id, api.RequoteRequest{Quote: seen})
	code := refusalCode(err, present.RequoteRefusals)
	if err != nil && code == "" {
		return fmt.Errorf("requote: %w", err)
	}
	return h.backToMethod(c, id, url.Values{"m": {c.FormValue("m")}, "requote_refused": {code}})
}

// refusalCode returns the code in known for the reason why the service refused an action: the service's error
// code if known has a text for it, or else a general code for the status of its answer. It returns "" if known has no text for that status.
func refusalCode(err error, known present.Refusals) string {
	apiErr, ok := errors.AsType[*client.Error](err)
	if !ok {
		return ""
	}
	if _, hasText := known[apiErr.Code]; hasText {
		return apiErr.Code
	}
	general := map[int]string{http.StatusConflict: present.RefusedOther, http.StatusServiceUnavailable: present.RefusedUnavailable}[apiErr.Status]
	if _, hasText := known[general]; !hasText {
		return ""
	}
	return general
}

// backToMethod redirects to an invoice's page. It adds the parameters of query that are not empty.
func (h *Handler) backToMethod(c echo.Context, id string, query url.Values) error {
	return h.toInvoice(c, withQuery("/invoice/"+id, query))
}

// withQuery returns a path with the parameters of query that are not empty.
func withQuery(path string, query url.Values) string {
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// requestPayment lets the merchant's wallet make a payment request, and redirects back to the page, which shows it. The page at
// a terminal has its own address.
func (h *Handler) requestPayment(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	if c.Param("secret") != "" {
		if _, err := h.terminal(c); err != nil {
			return err
		}
	}
	code := c.FormValue("m")
	err = h.config.Client.RequestPayment(c.Request().Context(), id, api.NewPaymentRequest{PaymentMethod: code})
	refused := refusalCode(err, present.RequestRefusals)
	if err != nil && refused == "" {
		return fmt.Errorf("request payment: %w", err)
	}
	query := url.Values{"m": {code}, "request_refused": {refused}}
	if secret := c.Param("secret"); secret != "" {
		return h.redirect(c, readerFromAddress(c), withQuery("/pos/"+secret+"/"+id, query))
	}
	return h.backToMethod(c, id, query)
}

// refusal returns the text that says why the action was refused that led to the page.
func refusal(r present.Reader, c echo.Context, snapshot client.Snapshot) string {
	if text := present.RequoteRefusals.Text(r, c.QueryParam("requote_refused")); text != "" {
		return text
	}
	if !present.MayRequestPayment(snapshot.Resource) { // the page has the request now, or needs none
		return ""
	}
	return present.RequestRefusals.Text(r, c.QueryParam("request_refused"))
}
