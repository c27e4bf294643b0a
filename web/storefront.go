package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

// firstPage shows the form of the storefront, or describes the shop if the storefront is off.
func (h *Handler) firstPage(c echo.Context) error {
	if h.settings(c).Storefront {
		return h.storefrontForm(c)
	}
	return h.about(c)
}

// ifStorefront returns a handler that answers with an error while the storefront is off.
func (h *Handler) ifStorefront(next echo.HandlerFunc, off error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !h.settings(c).Storefront {
			return off
		}
		return next(c)
	}
}

// ErrNoShop means that there is no shop with an ID.
var ErrNoShop = errors.New("no such shop")

// Shop is a shop with a storefront on this site.
type Shop struct {
	ID     string
	Name   string
	Client Client // calls the service with a key of the shop
}

// shopsRoot begins the root of a shop's pages.
const shopsRoot = "/s/"

// storefront is the storefront of a shop, to which a request belongs.
type storefront struct {
	Shop
	root string // path of its pages below the base path; "" at the root of the site
}

// storefrontKey is the key of the storefront in an echo.Context.
const storefrontKey = "storefront"

// setStorefront finds the storefront of the shop that a request's path names, and records it in the echo.Context. If
// there is no such shop, the answer is 404.
func (h *Handler) setStorefront(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		f, err := h.findStorefront(c.Request().Context(), c.Param("shop"))
		if errors.Is(err, ErrNoShop) {
			return echo.ErrNotFound
		}
		if err != nil {
			return err
		}
		c.Set(storefrontKey, f)
		return next(c)
	}
}

// findStorefront returns the storefront of the shop with an ID, or that at the root if id is "".
func (h *Handler) findStorefront(ctx context.Context, id string) (storefront, error) {
	if h.config.Shop == nil {
		return storefront{Shop: Shop{Name: h.config.ShopName, Client: h.config.Client}}, nil
	}
	s, err := h.config.Shop(ctx, id)
	if err != nil {
		return storefront{}, err
	}
	f := storefront{Shop: s}
	if id != "" {
		f.root = shopsRoot + id
	}
	return f, nil
}

// requestStorefront returns the storefront of the shop that the request's path names. Without one, it returns the
// storefront of the merchant of the object that the page is about or, if that is not known, the storefront at the
// root of the site.
func (h *Handler) requestStorefront(c echo.Context) storefront {
	if f, ok := c.Get(storefrontKey).(storefront); ok {
		return f
	}
	ctx := c.Request().Context()
	f, err := h.findStorefront(ctx, "")
	if id, _ := c.Get(merchantKey).(string); err == nil && id != "" && f.ID != "" && id != f.ID {
		f, err = h.findStorefront(ctx, id)
	}
	if err != nil { // the page is shown even if the shop cannot be read
		return storefront{Shop: Shop{Name: h.config.ShopName, Client: h.config.Client}}
	}
	return f
}

// merchantKey is the key, in an echo.Context, of the ID of the merchant of the object that a page is about.
const merchantKey = "merchant"

// settings returns the settings of the shop of a page.
func (h *Handler) settings(c echo.Context) ShopSettings {
	id, _ := c.Get(merchantKey).(string)
	if f, ok := c.Get(storefrontKey).(storefront); ok {
		id = f.ID
	}
	return h.config.ShopSettings(c.Request().Context(), id)
}

// findShop finds the shop of the page at a request's address, and records it in the echo.Context. The page that
// lists the languages is shown instead of that page, and shows the name and the languages of the same shop.
func (h *Handler) findShop(c echo.Context) {
	if h.config.Shop == nil {
		return
	}
	switch path := strings.TrimPrefix(c.Path(), h.config.BasePath); { // checkoutLink and terminal record the merchant
	case c.Param("shop") != "":
		if f, err := h.findStorefront(c.Request().Context(), c.Param("shop")); err == nil {
			c.Set(storefrontKey, f)
		}
	case strings.HasPrefix(path, "/pay"):
		_, _ = h.checkoutLink(c)
	case strings.HasPrefix(path, "/pos/:secret"):
		_, _ = h.terminal(c)
	case strings.HasPrefix(path, "/invoice/:id"):
		if snapshot, err := h.invoice(c); err == nil {
			c.Set(merchantKey, snapshot.MerchantID)
		}
	}
}

// shopFrame returns the frame of a page of the shop of a request, in the default theme.
func (h *Handler) shopFrame(c echo.Context, r present.Reader) present.Frame {
	return h.requestStorefront(c).applyTo(h.frame(c, r))
}

// applyTo returns the frame of a page with the name of the shop and with links to its storefront.
func (f storefront) applyTo(page present.Frame) present.Frame {
	site := *page.Site
	site.Root, site.ShopName = f.root, f.Name
	page.Site = &site
	return page
}

// forMerchant returns the frame of a page about an object of the merchant with an ID, such as an invoice. Its
// links lead to the storefront of this merchant. The ID is empty if the service does not return it.
func (h *Handler) forMerchant(ctx context.Context, page present.Frame, merchantID string) present.Frame {
	if h.config.Shop == nil || merchantID == "" {
		return page
	}
	if s, err := h.config.Shop(ctx, ""); err == nil && s.ID != merchantID {
		site := *page.Site
		site.Root, site.ShopID = shopsRoot+merchantID, merchantID
		page.Site = &site
	}
	return page
}

// storefrontForm shows the form. Unlike a payment page, the browser may cache it privately. After a step back
// the form then has the same token, and sending it again leads to the same invoice.
func (h *Handler) storefrontForm(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return h.renderStorefront(c, h.typedOrder(c, present.Typed{Token: rand.Text()}), nil) // the address may have values of the form
}

// about redirects to the shop's products or, if there are none, shows a page that describes this site.
func (h *Handler) about(c echo.Context) error {
	r := h.reader(c, "")
	if hasProducts, _ := h.askProducts(c); hasProducts {
		return h.redirect(c, r, h.requestStorefront(c).root+"/shop")
	}
	return render(c, http.StatusOK, views.AboutPage(h.themedShopFrame(c, r).About()))
}

// order creates an invoice for the amount and redirects to its page. It makes no other call to the service
// unless it has to render the form again.
func (h *Handler) order(c echo.Context) error {
	r, typed := h.reader(c, ""), h.typedOrder(c, typedAmount(c))
	amount, problem := present.ReadAmount(r, typed)
	if problem == nil && typed.Currency != "" && typed.Currency != h.currency(c) {
		problem = present.ChangedCurrency(r)
	}
	if problem != nil {
		return h.renderStorefront(c, typed, problem)
	}
	id, err := h.create(c, amount, typed)
	if problem = h.problem(r, err); problem != nil {
		return h.renderStorefront(c, typed, problem)
	}
	if err != nil {
		return err
	}
	return h.redirect(c, r, "/invoice/"+id)
}

// typedOrder adds the typed reference and note. A service that implements only the specification of the API
// accepts neither, and the form then has no fields for them. If the last answer came from such a service,
// typedOrder asks whether the service still is one.
func (h *Handler) typedOrder(c echo.Context, typed present.Typed) present.Typed {
	reference, note := present.CleanText(c.FormValue(api.MetadataOrderReference), false), present.CleanText(c.FormValue(api.MetadataNote), true)
	if reference+note != "" && h.onlySpecification.Load() {
		if _, onlySpecification := h.askProducts(c); onlySpecification {
			return typed
		}
	}
	typed.Reference, typed.Note = reference, note
	return typed
}

// askProducts asks the service for the shop's products. It reports whether the shop has products for sale, and
// whether the service implements only the specification of the API, which has no products.
func (h *Handler) askProducts(c echo.Context) (hasProducts, onlySpecification bool) {
	offers, err := h.requestStorefront(c).Client.ReadProducts(c.Request().Context(), api.ProductsRequest{})
	onlySpecification = errors.Is(err, client.ErrUnsupported)
	h.onlySpecification.Store(onlySpecification)
	return err == nil && len(offers.Products) > 0, onlySpecification
}

// formKeyPrefix is the prefix of the storefront's idempotency keys. A storefront in a separate process signs
// with an API key of the merchant, so its idempotency keys must differ from those of the merchant's shop.
const formKeyPrefix = "storefront-form:"

// currency returns the currency of the storefront.
func (h *Handler) currency(c echo.Context) string {
	return cmp.Or(h.settings(c).Currency, h.config.Currency)
}

// create creates the invoice. The idempotency key contains the price and the typed texts, so that changing
// a value and sending the form again creates another invoice, but sending the same values twice does not.
// The typed reference is not sent as order_id, because shops trust the order_id and a shopper can type the
// number of any order.
func (h *Handler) create(c echo.Context, amount string, typed present.Typed) (id string, err error) {
	ctx, service := c.Request().Context(), h.requestStorefront(c).Client
	r := api.InvoiceRequest{Amount: json.Number(amount), FiatCurrency: h.currency(c), Description: typed.Reference}
	key := formKeyPrefix + typed.Token + "-" + amount + "-" + r.FiatCurrency
	metadata := map[string]string{api.MetadataOrderReference: typed.Reference, api.MetadataNote: typed.Note}
	maps.DeleteFunc(metadata, func(_, value string) bool { return value == "" })
	if len(metadata) > 0 {
		r.Metadata = metadata
		key += "-" + fingerprint("%q", metadata) // fmt sorts a map by its keys
	}
	return createWithRetry(ctx, func() (string, error) { return service.CreateInvoice(ctx, r, key) })
}

// renderStorefront renders the form.
func (h *Handler) renderStorefront(c echo.Context, typed present.Typed, problem *present.Problem) error {
	f := h.themedShopFrame(c, h.reader(c, ""))
	hasProducts, onlySpecification := h.askProducts(c)
	return render(c, formStatus(c, problem), views.StorefrontPage(f.StorefrontForm(typed, problem, hasProducts, !onlySpecification)))
}
