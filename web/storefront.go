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

// root shows the form of the storefront, or describes the site if the storefront is off.
func (h *Handler) root(c echo.Context) error {
	if h.config.Current(c.Request().Context()).Storefront {
		return h.storefront(c)
	}
	return h.about(c)
}

// ifStorefront returns a handler that answers with an error while the storefront is off.
func (h *Handler) ifStorefront(next echo.HandlerFunc, off error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !h.config.Current(c.Request().Context()).Storefront {
			return off
		}
		return next(c)
	}
}

// storefront shows the form. Unlike a payment page, the browser may cache it privately. After a step back
// the form then has the same token, and sending it again leads to the same invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return h.renderStorefront(c, h.typedOrder(c, present.Typed{Token: rand.Text()}), nil)
}

// about redirects to the shop's products, or shows a page that describes this site.
func (h *Handler) about(c echo.Context) error {
	r := h.reader(c, "")
	if hasProducts, _ := h.askProducts(c.Request().Context()); hasProducts {
		return h.redirect(c, r, "/shop")
	}
	return render(c, http.StatusOK, views.AboutPage(h.ownFrame(c, r).About()))
}

// order creates an invoice for the amount and redirects to its page. It makes no other call to the service
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

// typedOrder adds the typed reference and note. A service that implements only the specification accepts
// neither. The service is asked again only if it implemented only the specification the last time, because
// the form then has no fields for them.
func (h *Handler) typedOrder(c echo.Context, typed present.Typed) present.Typed {
	reference, note := present.CleanText(c.FormValue(api.MetadataOrderReference), false), present.CleanText(c.FormValue(api.MetadataNote), true)
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
func (h *Handler) askProducts(ctx context.Context) (hasProducts, isPlain bool) {
	offers, err := h.config.Client.ReadProducts(ctx, api.ProductsRequest{})
	isPlain = errors.Is(err, client.ErrUnsupported)
	h.plain.Store(isPlain)
	return err == nil && len(offers.Products) > 0, isPlain
}

// formKeys is the prefix of the storefront's idempotency keys. A storefront in a separate process signs
// with an API key of the merchant, so its idempotency keys must differ from those of the merchant's shop.
const formKeys = "storefront-form:"

// create creates the invoice. The idempotency key contains the price and the typed texts, so that changing
// a value and sending the form again creates another invoice, but sending the same values twice does not.
// The reference does not become the order_id, which shops trust, because a shopper can type the number of
// any order.
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
	hasProducts, isPlain := h.askProducts(c.Request().Context())
	return render(c, formStatus(c, problem), views.StorefrontPage(f.StorefrontForm(typed, problem, hasProducts, !isPlain)))
}
