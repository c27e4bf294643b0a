package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

var (
	errTerminalNotFound      = &pageRefusal{status: http.StatusNotFound, texts: fault{"terminal.gone", "terminal.gone.text"}}
	errTerminalSecretMissing = &pageRefusal{status: http.StatusNotFound, texts: fault{"terminal.which", "terminal.which.text"}}
)

// terminalSecretMissing answers a request for /pos without the secret of a terminal.
func (h *Handler) terminalSecretMissing(echo.Context) error { return errTerminalSecretMissing }

// terminal returns the terminal that the secret in the request's path names. It records the terminal's merchant in
// the echo.Context.
func (h *Handler) terminal(c echo.Context) (api.CheckoutLink, error) {
	secret := c.Param("secret")
	if !tokenPattern.MatchString(secret) {
		return api.CheckoutLink{}, errTerminalNotFound
	}
	terminal, err := h.config.Client.ReadCheckoutLink(c.Request().Context(), api.CheckoutRequest{Terminal: secret})
	c.Set(merchantKey, terminal.MerchantID)
	apiErr, ok := errors.AsType[*client.Error](err)
	if ok && apiErr.Code == api.CodeTerminalNotFound || errors.Is(err, client.ErrUnsupported) {
		return terminal, errTerminalNotFound
	}
	return terminal, err
}

// allowManifest lets a page load its manifest, so that a phone can install it as an app.
func allowManifest(c echo.Context) {
	c.Response().Header().Set("Content-Security-Policy", policy("'none'")+"; manifest-src 'self'")
}

// pos shows the form of a terminal. Unlike the storefront, it is not cached by the browser: when the
// seller goes back, the form must not contain the values of the previous payment.
func (h *Handler) pos(c echo.Context) error {
	terminal, err := h.terminal(c)
	if err != nil {
		return err
	}
	return h.renderTerminal(c, terminal, present.Typed{Token: rand.Text()}, nil)
}

// charge creates an invoice at a terminal and redirects to its page at the terminal.
func (h *Handler) charge(c echo.Context) error {
	terminal, err := h.terminal(c)
	if err != nil {
		return err
	}
	r, typed := h.reader(c, ""), typedAmount(c)
	typed.Reference, typed.Note = present.CleanText(c.FormValue("order_id"), false), present.CleanText(c.FormValue("note"), true)
	amount, problem := present.ReadAmount(r, typed)
	if problem != nil {
		return h.renderTerminal(c, terminal, typed, problem)
	}
	id, err := h.createAtTerminal(c, amount, typed)
	if apiErr, ok := errors.AsType[*client.Error](err); ok {
		switch apiErr.Code {
		case api.CodeTerminalNotFound:
			return errTerminalNotFound
		case api.CodePriceChanged:
			return h.renderTerminal(c, terminal, typed, present.ChangedCurrency(r))
		}
	}
	if problem = h.problem(r, err); problem != nil {
		return h.renderTerminal(c, terminal, typed, problem)
	}
	if err != nil {
		return err
	}
	return h.showCreated(c, r, terminal, typed, id)
}

// createAtTerminal creates an invoice at the terminal that the request's path names.
func (h *Handler) createAtTerminal(c echo.Context, amount string, typed present.Typed) (id string, err error) {
	request := api.CheckoutRequest{Terminal: c.Param("secret"), Amount: amount, OrderID: typed.Reference, Note: typed.Note, ShownCurrency: typed.Currency}
	key := typed.Token + "-" + fingerprint("%s\n%q\n%q", amount, request.OrderID, request.Note)
	ctx := c.Request().Context()
	return createWithRetry(ctx, func() (string, error) { return h.config.Client.UseCheckoutLink(ctx, request, key) })
}

// showCreated redirects to an invoice's page at the terminal. If the status of the invoice is no longer
// created, the form was sent again after an earlier payment, and is rendered with a new token.
func (h *Handler) showCreated(c echo.Context, r present.Reader, terminal api.CheckoutLink, typed present.Typed, id string) error {
	if snapshot, err := h.config.Client.Invoice(c.Request().Context(), id); err == nil && snapshot.Resource.Status != api.StatusCreated {
		typed.Token = rand.Text()
		return h.renderTerminal(c, terminal, typed, &present.Problem{Status: http.StatusConflict, Text: r.Text("terminal.before")})
	}
	return h.redirect(c, r, "/pos/"+c.Param("secret")+"/"+id)
}

// renderTerminal renders the form of a terminal.
func (h *Handler) renderTerminal(c echo.Context, terminal api.CheckoutLink, typed present.Typed, problem *present.Problem) error {
	ctx := c.Request().Context()
	f := h.forMerchant(ctx, h.withTheme(ctx, h.frame(c, h.reader(c, "")), terminal.Theme), terminal.MerchantID)
	allowManifest(c)
	return render(c, formStatus(c, problem), views.TerminalPage(f.Terminal(terminal, c.Param("secret"), typed, problem)))
}

// terminalPayment shows the page of an invoice on a terminal.
func (h *Handler) terminalPayment(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	if _, err := h.terminal(c); err != nil {
		return err
	}
	snapshot, err := h.config.Client.Invoice(c.Request().Context(), id)
	if err != nil {
		return fmt.Errorf("read invoice: %w", err)
	}
	allowManifest(c)
	f := h.invoiceFrame(c, snapshot)
	page := f.TerminalPayment(snapshot, c.Param("secret"), c.QueryParam("m"))
	page.Refusal = refusal(f.Reader, c, snapshot)
	return render(c, http.StatusOK, views.TerminalPaymentPage(page))
}
