package web

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/signature"
	"chequer/views"
)

// linkRefusal is the error for a checkout link that cannot be used. It holds the texts of this
// package, because a third party may have written the texts in a link.
type linkRefusal struct {
	status int
	words  fault
	detail string // the service's message to the merchant that made the link
}

// Error implements error.
func (r *linkRefusal) Error() string { return "link refused: " + r.words.heading }

// changedLink refuses a link that differs from the one that the shop made.
var changedLink = &linkRefusal{status: http.StatusForbidden, words: fault{"link.changed.heading", "link.changed.text"}}

// linkRefusals maps the service's error codes to refusals.
var linkRefusals = map[string]*linkRefusal{
	api.CodeLinkNotFound:  {status: http.StatusNotFound, words: fault{"link.gone.heading", "link.gone.text"}},
	api.CodeLinkExpired:   {status: http.StatusGone, words: fault{"link.lapsed.heading", "link.lapsed.text"}},
	api.CodeLinkChanged:   changedLink,
	api.CodeLinkUnknown:   {status: http.StatusBadRequest, words: fault{"link.changed.heading", "link.changed.added"}},
	api.CodeLinkRepeated:  {status: http.StatusBadRequest, words: fault{"link.changed.heading", "link.changed.twice"}},
	api.CodeLinkMissing:   {status: http.StatusBadRequest, words: fault{"link.cut.heading", "link.cut.text"}},
	api.CodeLinkMalformed: {status: http.StatusBadRequest, words: changedLink.words},
	api.CodeLinkKey:       {status: http.StatusForbidden, words: fault{"link.barred.heading", "link.barred.text"}},
}

// refusedLink returns the linkRefusal for an error that the service returned for a link. An
// error that only the maker of the link can have caused includes the service's message: the
// signature is valid, so the maker wrote the link.
func refusedLink(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if known, ok := linkRefusals[refused.Code]; ok {
		return known
	}
	if refused.Status == http.StatusBadRequest {
		return &linkRefusal{status: http.StatusBadRequest, words: fault{"link.wrong.heading", "link.wrong.text"}, detail: refused.Message}
	}
	return err
}

// slugOf returns the slug in a request's path, in lower case like every stored slug: shoppers type
// printed addresses in any case.
func slugOf(c echo.Context) string { return strings.ToLower(c.Param("slug")) }

// linkOf returns the link in a request's address.
func linkOf(c echo.Context) api.CheckoutRequest {
	if slug := slugOf(c); slug != "" {
		return api.CheckoutRequest{Slug: slug}
	}
	return api.CheckoutRequest{Query: signature.LinkQuery(c.QueryString())}
}

// checkout shows the offer of a link, or redirects to the invoice that the link's order already
// has. It creates nothing, because mail scanners and link previews open links. The browser may
// cache the page privately, as it may cache the storefront.
func (h *Handler) checkout(c echo.Context) error {
	offer, err := h.offer(c)
	if err != nil {
		return err
	}
	reader := h.reader(c, offer.Language)
	if offer.ForeignID != "" {
		return c.Redirect(http.StatusSeeOther, reader.keep(h.path("/invoice/"+offer.ForeignID)))
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	page, status := h.checkoutPage(c, reader, offer, "", rand.Text()), http.StatusOK
	if offer.OtherID != "" {
		status = http.StatusConflict
	}
	return render(c, status, views.CheckoutPage(page))
}

// backToLink redirects a GET of the address that a link's form posts to, to the link's page.
func (h *Handler) backToLink(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/pay"+linkEnd(c))))
}

// offer returns the offer of the link in a request's address.
func (h *Handler) offer(c echo.Context) (api.CheckoutLink, error) {
	link := linkOf(c)
	if link == (api.CheckoutRequest{}) {
		return api.CheckoutLink{}, linkRefusals[api.CodeLinkMissing]
	}
	offer, err := h.config.Client.ReadCheckoutLink(c.Request().Context(), link)
	return offer, refusedLink(err)
}

// pay creates an invoice from a link and redirects to the invoice's page.
func (h *Handler) pay(c echo.Context) error {
	offer, err := h.offer(c)
	if err != nil {
		return err
	}
	typed, token := strings.TrimSpace(c.FormValue("amount")), c.FormValue("token")
	if !tokenForm.MatchString(token) {
		token = rand.Text()
	}
	reader := h.reader(c, offer.Language)
	page, link, key := h.checkoutPage(c, reader, offer, typed, token), linkOf(c), token
	if offer.OtherID != "" {
		return render(c, http.StatusConflict, views.CheckoutPage(page))
	}
	if offer.Amount == "" {
		var problem string
		if link.Amount, problem = readAmount(reader, typed); problem != "" {
			return h.refuseLink(c, reader, page, http.StatusUnprocessableEntity, problem)
		}
		key += "-" + link.Amount
	}
	if link.Slug != "" {
		link.ShownAmount, link.ShownCurrency = c.FormValue("shown_amount"), c.FormValue("shown_currency")
	}
	ctx := c.Request().Context()
	id, err := unlessRunning(ctx, func() (string, error) { return h.config.Client.UseCheckoutLink(ctx, link, key) })
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.CodePriceChanged {
		return h.refuseLink(c, reader, page, http.StatusConflict, reader.Text("link.price", "Amount", page.Price))
	}
	if orderPaid(err) { // the payment arrived after the offer was read
		return h.checkout(c)
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && linkRefusals[refused.Code] == nil {
		status, problem := h.refused(reader, refused)
		return h.refuseLink(c, reader, page, status, problem)
	}
	if err != nil {
		return refusedLink(err)
	}
	return c.Redirect(http.StatusSeeOther, reader.keep(h.path("/invoice/"+id)))
}

// orderPaid reports whether the service refused a link because a payment at another price was
// seen for its order.
func orderPaid(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Code == api.CodeLinkOrderPaid
}

// refuseLink renders the page of a link again with the problem, shown at the amount field if the
// page has one.
func (h *Handler) refuseLink(c echo.Context, reader reader, page views.Checkout, status int, problem string) error {
	h.blame(c, &page.Form, status, problem)
	if page.Price != "" && page.Error != "" {
		page.Error, page.Fault = "", reader.Text("amount.unpayable", "Detail", problem)
	}
	page.Title = reader.Text("error.title", "Title", page.Title)
	return render(c, status, views.CheckoutPage(page))
}

func (h *Handler) checkoutPage(c echo.Context, reader reader, offer api.CheckoutLink, typed, token string) views.Checkout {
	frame := h.page(reader, "")
	if style := h.applyTheme(c.Request().Context(), reader, &frame, offer.Theme, "store.css"); style.Name != "" {
		offer.MerchantName = style.Name
	}
	frame.Title = reader.Text("pay.title", "Shop", h.shopName(reader, offer.MerchantName))
	page := views.Checkout{
		Page: frame, Description: offer.Description, Order: offer.OrderID,
		Form: newForm(reader, offer.FiatCurrency, typed, token),
	}
	page.Shop, page.Action = h.shopName(reader, offer.MerchantName), reader.keep(h.path("/order/pay"+linkEnd(c)))
	h.choice(&page.Page, linkOf(c).Query)
	h.framed(&page.Page)
	if offer.Amount != "" {
		if linkOf(c).Slug != "" {
			page.Shown = views.Shown{Amount: offer.Amount, Currency: offer.FiatCurrency}
		}
		page.Price = reader.Fiat(offer.Amount, offer.FiatCurrency)
	}
	if offer.OtherID != "" {
		page.Other = h.otherPrice(reader, offer)
		page.Title = page.Other.Heading
	}
	if offer.EarlierID != "" {
		page.Earlier = reader.keep(h.path("/invoice/" + offer.EarlierID))
	}
	if offer.Mode == "test" {
		page.Trial = reader.Text("test.link")
	}
	return page
}

// otherPrice returns the notice that an order was paid, or partly paid, at a price other than
// that of its link.
func (h *Handler) otherPrice(r reader, o api.CheckoutLink) views.Notice {
	heading := r.Text("other.seen")
	if o.OtherStatus == api.StatusPaid {
		heading = r.Text("other.paid")
	}
	return views.Notice{Heading: heading, Text: r.opening(
		"other.text", "Received", r.Fiat(o.OtherReceived, o.OtherCurrency), "Price", r.Fiat(o.OtherAmount, o.OtherCurrency),
		"Amount", r.Fiat(o.Amount, o.FiatCurrency), "Shop", h.shopInSentence(r, o.MerchantName), "Reference", views.Reference(o.OtherID),
	)}
}

// linkEnd returns the part of a request's address that identifies its link: the slug or the query.
func linkEnd(c echo.Context) string {
	if slug := slugOf(c); slug != "" {
		return "/" + slug
	}
	if query := linkOf(c).Query; query != "" {
		return "?" + query
	}
	return ""
}
