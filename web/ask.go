package web

import (
	"fmt"
	"net/url"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/web/present"
)

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
	err = h.config.Client.RequestPayment(c.Request().Context(), id, api.AskRequest{PaymentMethod: code})
	refused := refusalCode(err, present.AskRefusals)
	if err != nil && refused == "" {
		return fmt.Errorf("request payment: %w", err)
	}
	query := url.Values{"m": {code}, "ask_refused": {refused}}
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
	if !present.MayAsk(snapshot.Resource) { // the page has the request now, or needs none
		return ""
	}
	return present.AskRefusals.Text(r, c.QueryParam("ask_refused"))
}
