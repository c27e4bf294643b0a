package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/money"
	"chequer/views"
	"chequer/web/present"
)

var (
	errNoProducts      = &pageRefusal{status: http.StatusNotFound, texts: fault{"product.nothing", "product.nothing.text"}}
	errProductNotFound = &pageRefusal{status: http.StatusNotFound, texts: fault{"product.unsold", "product.unsold.text"}}
)

// shop shows the list of the merchant's products.
func (h *Handler) shop(c echo.Context) error {
	offers, err := h.products(c, "")
	if err != nil {
		return err
	}
	if len(offers.Products) == 0 {
		return errNoProducts
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.ShopPage(h.themedShopFrame(c, h.reader(c, "")).Shop(offers)))
}

// products returns the products that the merchant sells or, if slug is not empty, the product with that
// slug.
func (h *Handler) products(c echo.Context, slug string) (api.ProductOffers, error) {
	offers, err := h.requestStorefront(c).Client.ReadProducts(c.Request().Context(), api.ProductsRequest{Slug: slug})
	if apiErr, ok := errors.AsType[*client.Error](err); ok && apiErr.Code == api.CodeProductNotFound {
		return offers, errProductNotFound
	}
	if errors.Is(err, client.ErrUnsupported) {
		return offers, errNoProducts
	}
	return offers, err
}

// product shows one product and creates nothing. The address may contain values of the form. The browser
// may cache the page privately, like the storefront.
func (h *Handler) product(c echo.Context) error {
	o, err := h.typedProduct(c)
	if err != nil {
		return err
	}
	o.Token = rand.Text()
	f := h.themedShopFrame(c, h.reader(c, ""))
	n, problem := o.Count(f.Reader)
	if problem != "" { // n is 1
		o.Quantity = "1"
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.ProductPage(f.Product(o, n)))
}

// typedProduct returns the typed values of the form, and the product that the request's path names, read from the
// service.
func (h *Handler) typedProduct(c echo.Context) (present.Order, error) {
	slug := slugParam(c)
	if !idPattern.MatchString(slug) {
		return present.Order{}, errProductNotFound
	}
	offers, err := h.products(c, slug)
	if err != nil {
		return present.Order{}, err
	}
	if len(offers.Products) != 1 {
		return present.Order{}, errProductNotFound
	}
	p := offers.Products[0]
	if _, known := money.Fiat(p.FiatCurrency); !known {
		return present.Order{}, fmt.Errorf("product %s in %q: %w", p.Slug, p.FiatCurrency, client.ErrInvalidAnswer)
	}
	return readOrder(c, p, offers.MerchantName), nil
}

// readOrder returns the typed values of the form of a product.
func readOrder(c echo.Context, p api.ProductOffer, merchant string) present.Order {
	o := present.Order{
		Product: p, Merchant: merchant, Token: c.FormValue("token"), Quantity: strings.TrimSpace(c.FormValue("quantity")),
		UnitPrice: c.FormValue("price"), Amount: c.FormValue("amount"), Currency: c.FormValue("currency"),
	}
	if p.MaxQuantity == 1 && o.Quantity == "" {
		o.Quantity = "1"
	}
	if p.AskOrderID != api.AskNo {
		o.OrderID = present.CleanText(c.FormValue("order_id"), false)
	}
	if p.AskNote != api.AskNo {
		o.Note = present.CleanText(c.FormValue("note"), true)
	}
	return o
}

// orderProduct creates an invoice for a product and redirects to its page. The invoice never charges
// a total that the previous page did not show.
func (h *Handler) orderProduct(c echo.Context) error {
	o, err := h.typedProduct(c)
	if err != nil {
		return err
	}
	o.Token = validToken(o.Token)
	r, update := h.reader(c, ""), c.FormValue("update") != ""
	n, problem := o.Count(r)
	switch {
	case problem != "" && o.Product.MaxQuantity <= 1:
		return errProductNotFound // the page has no field for the quantity
	case problem != "" || !update && !o.IsComplete(r):
		return render(c, http.StatusUnprocessableEntity, views.ProductPage(h.themedShopFrame(c, r).CheckedProduct(o, n, problem)))
	case update:
		return h.redirect(c, r, h.requestStorefront(c).root+o.Path())
	case !o.ShowedTotal(n):
		return h.showTotal(c, o, n)
	}
	id, err := orderOnce(c.Request().Context(), h.requestStorefront(c).Client, o, n)
	if err != nil {
		return h.refuseProduct(c, o, n, err)
	}
	return h.redirect(c, r, "/invoice/"+id)
}

// orderOnce creates the invoice for n items. The idempotency key contains every typed value, so that changing a value
// and sending the form again creates another invoice, but sending the same values twice does not.
func orderOnce(ctx context.Context, service Client, o present.Order, n int) (string, error) {
	order := api.ProductOrder{
		Slug: o.Product.Slug, Quantity: n, Amount: o.Amount, FiatCurrency: o.Currency, OrderID: o.OrderID, Note: o.Note,
	}
	key := o.Token + "-" + fingerprint("%d\n%s\n%s\n%q\n%q", n, o.Amount, o.Currency, o.OrderID, o.Note)
	return createWithRetry(ctx, func() (string, error) { return service.OrderProduct(ctx, order, key) })
}

// showTotal shows a total that the previous page did not show, for the shopper to agree to.
func (h *Handler) showTotal(c echo.Context, o present.Order, n int) error {
	f := h.themedShopFrame(c, h.reader(c, ""))
	return render(c, http.StatusUnprocessableEntity, views.ProductPage(f.NewTotal(o, n)))
}

// refuseProduct renders the page of a product again with the reason why no invoice was created. If the
// price has changed since the form was sent, the page shows the new one.
func (h *Handler) refuseProduct(c echo.Context, o present.Order, n int, err error) error {
	apiErr, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return err
	case apiErr.Code == api.CodeProductNotFound:
		return errProductNotFound
	case apiErr.Code == api.CodePriceChanged:
		token := o.Token
		if o, err = h.typedProduct(c); err != nil {
			return err
		}
		o.Token = token
		return h.showTotal(c, o, n)
	}
	f := h.themedShopFrame(c, h.reader(c, ""))
	problem := h.problem(f.Reader, err)
	return render(c, formStatus(c, problem), views.ProductPage(f.RefusedProduct(o, n, problem)))
}
