package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
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
	return h.renderStorefront(c, h.typedOrder(c, present.Typed{Token: rand.Text()}), nil)
}

// about redirects to the shop's products, or shows a page that describes this site.
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
	amount, problem := present.ReadAmount(r, typed)
	if problem != nil {
		return h.renderStorefront(c, typed, problem)
	}
	id, err := h.create(c.Request().Context(), amount, typed)
	if problem = h.problem(r, err); problem != nil {
		return h.renderStorefront(c, typed, problem)
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

// formKeys is the prefix of the storefront's idempotency keys. A storefront in a process of its own
// signs with a key of the merchant, so its idempotency keys must differ from those that the
// merchant's shop chooses.
const formKeys = "storefront-form:"

// create asks for the invoice. The idempotency key contains the price and the typed texts: going back
// and changing them creates another invoice, sending the form twice does not. The reference does not become
// the order_id, which shops trust: any shopper can type any order here.
func (h *Handler) create(ctx context.Context, amount string, typed present.Typed) (id string, err error) {
	r := api.InvoiceRequest{Amount: json.Number(amount), FiatCurrency: h.config.Currency, Description: typed.Reference}
	key := formKeys + typed.Token + "-" + amount + "-" + r.FiatCurrency
	metadata := map[string]string{api.MetadataOrderReference: typed.Reference, api.MetadataNote: typed.Note}
	maps.DeleteFunc(metadata, func(_, value string) bool { return value == "" })
	if len(metadata) > 0 {
		r.Metadata = metadata
		key += "-" + fingerprint("%q", metadata) // fmt sorts a map by its keys
	}
	return unlessRunning(ctx, func() (string, error) { return h.config.Client.CreateInvoice(ctx, r, key) })
}

// renderStorefront renders the form.
func (h *Handler) renderStorefront(c echo.Context, typed present.Typed, problem *present.Problem) error {
	f := h.ownFrame(c, h.reader(c, ""))
	sells, isPlain := h.askProducts(c.Request().Context())
	return render(c, formStatus(c, problem), views.StorefrontPage(f.StorefrontForm(typed, problem, sells, !isPlain)))
}
