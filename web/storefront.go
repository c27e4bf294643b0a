package web

import (
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

// first shows the form of the storefront, or describes the shop if the storefront is off.
func (h *Handler) first(c echo.Context) error {
	if h.settings(c).Storefront {
		return h.storefront(c)
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

// front is the storefront to which a request belongs.
type front struct {
	Shop
	root string // of its pages, "" at the root of the site
}

// frontKey is the key of the front in an echo.Context.
const frontKey = "front"

// ofShop finds the shop of a request. It answers a request for a shop that does not exist.
func (h *Handler) ofShop(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		f, err := h.findFront(c.Request().Context(), c.Param("shop"))
		if errors.Is(err, ErrNoShop) {
			return echo.ErrNotFound
		}
		if err != nil {
			return err
		}
		c.Set(frontKey, f)
		return next(c)
	}
}

// findFront returns the storefront of the shop with an ID, or that at the root if id is "".
func (h *Handler) findFront(ctx context.Context, id string) (front, error) {
	if h.config.Shop == nil {
		return front{Shop: Shop{Name: h.config.ShopName, Client: h.config.Client}}, nil
	}
	s, err := h.config.Shop(ctx, id)
	if err != nil {
		return front{}, err
	}
	f := front{Shop: s}
	if id != "" {
		f.root = shopsRoot + id
	}
	return f, nil
}

// front returns the storefront of a request, that of the merchant of the object that the page is about, or that
// at the root of the site.
func (h *Handler) front(c echo.Context) front {
	if f, ok := c.Get(frontKey).(front); ok {
		return f
	}
	ctx := c.Request().Context()
	f, err := h.findFront(ctx, "")
	if id, _ := c.Get(merchantKey).(string); err == nil && id != "" && f.ID != "" && id != f.ID {
		f, err = h.findFront(ctx, id)
	}
	if err != nil { // the service does not answer: pages must not depend on it
		return front{Shop: Shop{Name: h.config.ShopName, Client: h.config.Client}}
	}
	return f
}

// merchantKey is the key, in an echo.Context, of the ID of the merchant of the object that a page is about.
const merchantKey = "merchant"

// settings returns the settings of the shop of a page.
func (h *Handler) settings(c echo.Context) Current {
	id, _ := c.Get(merchantKey).(string)
	if f, ok := c.Get(frontKey).(front); ok {
		id = f.ID
	}
	return h.config.Current(c.Request().Context(), id)
}

// findShop finds the shop of the page at a request's address, for a page that is shown in place of it.
func (h *Handler) findShop(c echo.Context) {
	if h.config.Shop == nil {
		return
	}
	switch path := strings.TrimPrefix(c.Path(), h.config.BasePath); {
	case c.Param("shop") != "":
		if f, err := h.findFront(c.Request().Context(), c.Param("shop")); err == nil {
			c.Set(frontKey, f)
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
	return h.front(c).within(h.frame(c, r))
}

// within returns the frame of a page of a storefront.
func (f front) within(page present.Frame) present.Frame {
	site := *page.Site
	site.Root, site.ShopName = f.root, f.Name
	page.Site = &site
	return page
}

// ofMerchant returns the frame of a page about an object of the merchant with an ID, such as an invoice: its
// links lead to the storefront of this merchant. An empty ID is that of a service that does not name it.
func (h *Handler) ofMerchant(ctx context.Context, page present.Frame, merchantID string) present.Frame {
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

// storefront shows the form. Unlike a payment page, the browser may cache it privately. After a step back
// the form then has the same token, and sending it again leads to the same invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return h.renderStorefront(c, h.typedOrder(c, present.Typed{Token: rand.Text()}), nil)
}

// about redirects to the shop's products, or shows a page that describes this site.
func (h *Handler) about(c echo.Context) error {
	r := h.reader(c, "")
	if hasProducts, _ := h.askProducts(c); hasProducts {
		return h.redirect(c, r, h.front(c).root+"/shop")
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
	id, err := h.create(c, amount, typed)
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
		if _, isPlain := h.askProducts(c); isPlain {
			return typed
		}
	}
	typed.Reference, typed.Note = reference, note
	return typed
}

// askProducts reports whether the shop has products for sale, and whether the service implements only the
// specification, which has no products.
func (h *Handler) askProducts(c echo.Context) (hasProducts, isPlain bool) {
	offers, err := h.front(c).Client.ReadProducts(c.Request().Context(), api.ProductsRequest{})
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
func (h *Handler) create(c echo.Context, amount string, typed present.Typed) (id string, err error) {
	ctx, service := c.Request().Context(), h.front(c).Client
	r := api.InvoiceRequest{Amount: json.Number(amount), FiatCurrency: h.config.Currency, Description: typed.Reference}
	key := formKeys + typed.Token + "-" + amount + "-" + r.FiatCurrency
	metadata := map[string]string{api.MetadataOrderReference: typed.Reference, api.MetadataNote: typed.Note}
	maps.DeleteFunc(metadata, func(_, value string) bool { return value == "" })
	if len(metadata) > 0 {
		r.Metadata = metadata
		key += "-" + fingerprint("%q", metadata) // fmt sorts a map by its keys
	}
	return unlessRunning(ctx, func() (string, error) { return service.CreateInvoice(ctx, r, key) })
}

// renderStorefront renders the form.
func (h *Handler) renderStorefront(c echo.Context, typed present.Typed, problem *present.Problem) error {
	f := h.ownFrame(c, h.reader(c, ""))
	hasProducts, isPlain := h.askProducts(c)
	return render(c, formStatus(c, problem), views.StorefrontPage(f.StorefrontForm(typed, problem, hasProducts, !isPlain)))
}
