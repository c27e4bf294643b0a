package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/static"
	"chequer/views"
)

var (
	noTerminal = &linkRefusal{status: http.StatusNotFound, words: fault{"pos.gone", "pos.gone.text"}}
	noSecret   = &linkRefusal{status: http.StatusNotFound, words: fault{"pos.which", "pos.which.text"}}
)

// whichTerminal answers a request for /pos without the secret of a terminal.
func (h *Handler) whichTerminal(echo.Context) error { return noSecret }

// terminal returns the terminal that the secret in the request's path names.
func (h *Handler) terminal(c echo.Context) (api.CheckoutLink, error) {
	secret := c.Param("secret")
	if !tokenForm.MatchString(secret) {
		return api.CheckoutLink{}, noTerminal
	}
	offer, err := h.config.Client.ReadCheckoutLink(c.Request().Context(), api.CheckoutRequest{Terminal: secret})
	refused, ok := errors.AsType[*client.Error](err)
	if ok && refused.Code == api.CodeTerminalNotFound || errors.Is(err, client.ErrUnsupported) {
		return offer, noTerminal
	}
	return offer, err
}

// installable adds the manifest and the icon to a page, so that a phone can install it as an app.
func (h *Handler) installable(c echo.Context, page *views.Page) {
	c.Response().Header().Set("Content-Security-Policy", policy("'none'")+"; manifest-src 'self'")
	page.Manifest, page.Touch = h.path("/pos/"+c.Param("secret")+"/app.webmanifest"), h.path("/pos/icon-192.png")
}

// pos shows the form of a sale. Unlike the storefront, the browser may not cache it: the merchant
// who goes back at a counter serves the next shopper, and must not find the previous sale's form.
func (h *Handler) pos(c echo.Context) error {
	offer, err := h.terminal(c)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.TerminalPage(h.posPage(c, offer, "", rand.Text(), nil)))
}

// backToPOS redirects a GET of the address that a terminal's form posts to, to the terminal.
func (h *Handler) backToPOS(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/pos/"+c.Param("secret"))))
}

// charge creates an invoice at a terminal and redirects to its page at the terminal.
func (h *Handler) charge(c echo.Context) error {
	offer, err := h.terminal(c)
	if err != nil {
		return err
	}
	typed, token := strings.TrimSpace(c.FormValue("amount")), c.FormValue("token")
	if !tokenForm.MatchString(token) {
		token = rand.Text()
	}
	words := map[string]string{"order_id": tidy(c.FormValue("order_id"), false), "note": tidy(c.FormValue("note"), true)}
	page := h.posPage(c, offer, typed, token, words)
	reader := h.reader(c, "")
	amount, problem := readAmount(reader, typed)
	if problem != "" {
		return h.refusePOS(c, page, http.StatusUnprocessableEntity, problem)
	}
	if len(page.Faults()) > 0 {
		page.Title = reader.Text("error.title", "Title", page.Title)
		return render(c, http.StatusUnprocessableEntity, views.TerminalPage(page))
	}
	request := api.CheckoutRequest{Terminal: c.Param("secret"), Amount: amount, OrderID: words["order_id"], Note: words["note"]}
	key := token + "-" + fingerprint("%s\n%q\n%q", amount, request.OrderID, request.Note)
	ctx := c.Request().Context()
	id, err := unlessRunning(ctx, func() (string, error) { return h.config.Client.UseCheckoutLink(ctx, request, key) })
	if refused, ok := errors.AsType[*client.Error](err); ok {
		if refused.Code == api.CodeTerminalNotFound {
			return noTerminal
		}
		status, problem := h.refused(reader, refused)
		return h.refusePOS(c, page, status, problem)
	}
	if err != nil {
		return err
	}
	if snapshot, err := h.config.Client.Invoice(ctx, id); err == nil && snapshot.Resource.Status != api.StatusCreated {
		// The form was sent from the cached page of an earlier sale, whose invoice has changed.
		again := h.posPage(c, offer, typed, rand.Text(), words)
		again.Title, again.Fault = reader.Text("error.title", "Title", again.Title), reader.Text("pos.before")
		return render(c, http.StatusConflict, views.TerminalPage(again))
	}
	return c.Redirect(http.StatusSeeOther, reader.keep(h.path("/pos/"+c.Param("secret")+"/"+id)))
}

func (h *Handler) refusePOS(c echo.Context, page views.Terminal, status int, problem string) error {
	reader := h.reader(c, "")
	page.Title = reader.Text("error.title", "Title", page.Title)
	h.blame(c, &page.Form, status, problem)
	return render(c, status, views.TerminalPage(page))
}

func (h *Handler) posPage(c echo.Context, offer api.CheckoutLink, typed, token string, words map[string]string) views.Terminal {
	r := h.reader(c, "")
	page := views.Terminal{
		Page: h.page(r, ""), Form: newForm(r, offer.FiatCurrency, typed, token), Name: undirected(offer.Description),
	}
	page.Shop, page.Action = h.shopName(r, undirected(offer.MerchantName)), r.keep(h.path("/order/pos/"+c.Param("secret")))
	page.Style, page.Script = h.path(static.Path("pos.css")), h.path(static.Path("pos.js"))
	h.applyTheme(c.Request().Context(), r, &page.Page, offer.Theme, "pos.css")
	page.Title = r.Text("pos.title", "Shop", page.Shop)
	h.installable(c, &page.Page)
	if offer.Mode == "test" {
		page.Trial = r.Text("pos.test")
	}
	page.Asked = []views.TextField{
		{Name: "order_id", Label: r.Text("sale.reference"), Value: words["order_id"], Error: r.tooLong(words["order_id"], "sale.reference.long", api.MaxShopperOrderID)},
		{Name: "note", Label: r.Text("pos.note"), Value: words["note"], Lines: true, Error: r.tooLong(words["note"], "sale.note.long", api.MaxShopperNote)},
	}
	return page
}

// counter shows the page of an invoice on a terminal.
func (h *Handler) counter(c echo.Context) error {
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
	reader := h.reader(c, snapshot.Resource.Language)
	page := views.TerminalPayment{
		Payment: h.paymentPage(c.Request().Context(), reader, snapshot, c.QueryParam("m"), false),
		Next:    views.Link{Text: reader.Text("pos.next"), URL: reader.keep(h.path("/pos/" + c.Param("secret")))},
	}
	page.Speak = ""
	page.Frame, page.Leave, page.Back = "", false, views.Link{}
	page.Check.URL, page.Auto = h.path("/pos/"+c.Param("secret")+"/"+id+"?m="), views.Link{}
	page.Style, page.Script, page.Scripts = h.path(static.Path("counter.css")), h.path(static.Path("pay.js")), []string{h.path(static.Path("pos.js"))}
	h.applyTheme(c.Request().Context(), reader, &page.Page, snapshot.Theme, "counter.css")
	h.installable(c, &page.Page)
	return render(c, http.StatusOK, views.TerminalPaymentPage(page))
}
