package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

// storefront shows the form. Unlike a payment page, the browser may cache it privately: going back
// then shows the same token, and sending the form again leads to the same invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return h.renderStorefront(c, http.StatusOK, h.typedOrder(c, present.Typed{Token: rand.Text()}), nil)
}

// backToForm redirects a GET of the address that the form posts to, to the storefront.
func (h *Handler) backToForm(c echo.Context) error {
	return h.redirect(c, h.reader(c, ""), "/")
}

// about redirects to the shop's products, or shows a page that says what this site is.
func (h *Handler) about(c echo.Context) error {
	r := h.reader(c, "")
	if sells, _ := h.askProducts(c.Request().Context()); sells {
		return h.redirect(c, r, "/shop")
	}
	return render(c, http.StatusOK, views.AboutPage(h.ownFrame(c, r).About()))
}

// order creates an invoice for the amount and redirects to its page. It asks the service for nothing else
// unless it has to render the form again.
func (h *Handler) order(c echo.Context) error {
	r, typed := h.reader(c, ""), h.typedOrder(c, typedAmount(c))
	amount, problem := present.ReadAmount(r, typed.Amount)
	if problem != "" || typed.IsTooLong() {
		return h.refuse(c, typed, http.StatusUnprocessableEntity, problem)
	}
	id, err := h.create(c.Request().Context(), h.invoiceRequest(amount, typed), typed.Token)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		status, problem := h.refused(r, refused)
		return h.refuse(c, typed, status, problem)
	}
	if err != nil {
		return err
	}
	return h.redirect(c, r, "/invoice/"+id)
}

// typedOrder adds the typed reference and note. A service that implements only the specification takes
// neither. It is asked only if it did not take them the last time: its form has no fields for them.
func (h *Handler) typedOrder(c echo.Context, typed present.Typed) present.Typed {
	reference, note := present.Tidy(c.FormValue(api.MetadataOrderReference), false), present.Tidy(c.FormValue(api.MetadataNote), true)
	if reference+note != "" && h.plain.Load() {
		if _, isPlain := h.askProducts(c.Request().Context()); isPlain {
			return typed
		}
	}
	typed.Reference, typed.Note = reference, note
	return typed
}

// askProducts reports whether the shop has products for sale, and whether the service implements only the
// specification, which has no products.
func (h *Handler) askProducts(ctx context.Context) (sells, isPlain bool) {
	offers, err := h.config.Client.ReadProducts(ctx, api.ProductsRequest{})
	isPlain = errors.Is(err, client.ErrUnsupported)
	h.plain.Store(isPlain)
	return err == nil && len(offers.Products) > 0, isPlain
}

// invoiceRequest returns the request for an invoice. The reference does not become the order_id, which shops
// trust: any shopper can type any order here.
func (h *Handler) invoiceRequest(amount string, typed present.Typed) api.InvoiceRequest {
	r := api.InvoiceRequest{Amount: json.Number(amount), FiatCurrency: h.config.Currency, Description: typed.Reference}
	for name, value := range map[string]string{api.MetadataOrderReference: typed.Reference, api.MetadataNote: typed.Note} {
		if value == "" {
			continue
		}
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		r.Metadata[name] = value
	}
	return r
}

// formKeys is the prefix of the storefront's idempotency keys. A storefront in a process of its own
// signs with a key of the merchant, so its idempotency keys must differ from those that the
// merchant's shop chooses.
const formKeys = "storefront-form:"

// create asks for the invoice. The idempotency key contains the price and the typed texts: going back
// and changing them creates another invoice, sending the form twice does not.
func (h *Handler) create(ctx context.Context, r api.InvoiceRequest, token string) (string, error) {
	key := formKeys + token + "-" + r.Amount.String() + "-" + r.FiatCurrency
	if len(r.Metadata) > 0 {
		key += "-" + fingerprint("%q", r.Metadata) // fmt sorts a map by its keys
	}
	return unlessRunning(ctx, func() (string, error) { return h.config.Client.CreateInvoice(ctx, r, key) })
}

// refuse renders the form again with the problem.
func (h *Handler) refuse(c echo.Context, typed present.Typed, status int, problem string) error {
	return h.renderStorefront(c, status, typed, refusal(status, problem))
}

// renderStorefront renders the form.
func (h *Handler) renderStorefront(c echo.Context, status int, typed present.Typed, problem *present.Problem) error {
	f := h.ownFrame(c, h.reader(c, ""))
	sells, isPlain := h.askProducts(c.Request().Context())
	setRetryAfter(c, status)
	return render(c, status, views.StorefrontPage(f.Storefront(h.config.Currency, typed, problem, sells, !isPlain)))
}
