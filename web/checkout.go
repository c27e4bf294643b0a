package web

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
)

// linkRefusal is why a checkout link leads nowhere, in words of ours: those of a
// link may be anybody's.
type linkRefusal struct {
	status int
	words  fault
}

// Error implements error.
func (r *linkRefusal) Error() string { return r.words.heading }

// changedLink is for who comes by a link that is not as the shop made it.
var changedLink = fault{"This link was changed", "It is not as the shop made it, so nothing was ordered. Open the link from where you got it, or go back to the shop and start again."}

// linkRefusals are by the service's code.
var linkRefusals = map[string]*linkRefusal{
	api.CodeLinkNotFound:  {http.StatusNotFound, fault{"There is no such link", "Check that you have the whole link. The shop may have ended it: ask there for another."}},
	api.CodeLinkExpired:   {http.StatusGone, fault{"This link has expired", "Nothing was ordered. Go back to the shop and start again."}},
	api.CodeLinkChanged:   {http.StatusForbidden, changedLink},
	api.CodeLinkUnknown:   {http.StatusBadRequest, fault{changedLink.heading, "Something was added to it, so nothing was ordered. Open the link from where you got it, or go back to the shop and start again."}},
	api.CodeLinkRepeated:  {http.StatusBadRequest, fault{changedLink.heading, "It says something twice, so nothing was ordered. Open the link from where you got it, or go back to the shop and start again."}},
	api.CodeLinkMissing:   {http.StatusBadRequest, fault{"This link is not whole", "Check that you have all of it. If you came from a shop, go back there and start again."}},
	api.CodeLinkMalformed: {http.StatusBadRequest, changedLink},
	api.CodeLinkKey:       {http.StatusForbidden, fault{"The shop may not make this link", "Its key has not the right to. Nothing was ordered; tell the shop."}},
}

// refusedLink makes words of the service's refusal of a link. What only its maker
// can have done wrong is told as the service says it: the signature holds.
func refusedLink(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if known, ok := linkRefusals[refused.Code]; ok {
		return known
	}
	if refused.Status == http.StatusBadRequest {
		return &linkRefusal{http.StatusBadRequest, fault{"The shop made this link wrongly", "Nothing was ordered. Tell the shop: " + refused.Message + "."}}
	}
	return err
}

// linkOf is the link that a request came by.
func linkOf(c echo.Context) api.OfferRequest {
	if slug := c.Param("slug"); slug != "" {
		return api.OfferRequest{Slug: slug}
	}
	return api.OfferRequest{Query: c.QueryString()}
}

// checkout shows what a link asks for, or the invoice that its order has. It makes
// nothing: mail scanners and previews open links. The browser may keep it, as it
// may the storefront.
func (h *Handler) checkout(c echo.Context) error {
	offer, err := h.offer(c)
	if err != nil {
		return err
	}
	if offer.ForeignID != "" {
		return c.Redirect(http.StatusSeeOther, h.path("/invoice/"+offer.ForeignID))
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.CheckoutPage(h.checkoutPage(c, offer, "", rand.Text())))
}

// backToLink is for who looks at the address that a link's form is sent to.
func (h *Handler) backToLink(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.path("/pay"+linkEnd(c)))
}

// offer is what the link of a request asks for.
func (h *Handler) offer(c echo.Context) (api.Offer, error) {
	link := linkOf(c)
	if link == (api.OfferRequest{}) {
		return api.Offer{}, linkRefusals[api.CodeLinkMissing]
	}
	offer, err := h.config.Client.ReadOffer(c.Request().Context(), link)
	return offer, refusedLink(err)
}

// pay makes an invoice by a link and leads to its page.
func (h *Handler) pay(c echo.Context) error {
	offer, err := h.offer(c)
	if err != nil {
		return err
	}
	typed, token := strings.TrimSpace(c.FormValue("amount")), c.FormValue("token")
	if !tokenForm.MatchString(token) {
		token = rand.Text()
	}
	page, link, key := h.checkoutPage(c, offer, typed, token), linkOf(c), token
	if offer.Amount == "" {
		var problem string
		if link.Amount, problem = readAmount(typed); problem != "" {
			return h.refuseLink(c, page, http.StatusUnprocessableEntity, problem)
		}
		key += "-" + link.Amount
	}
	ctx := c.Request().Context()
	id, err := unlessRunning(ctx, func() (string, error) { return h.config.Client.PayOffer(ctx, link, key) })
	if refused, ok := errors.AsType[*client.Error](err); ok && linkRefusals[refused.Code] == nil {
		return h.refuseLink(c, page, refusedStatus(refused.Status), refused.Message)
	}
	if err != nil {
		return refusedLink(err)
	}
	return c.Redirect(http.StatusSeeOther, h.path("/invoice/"+id))
}

// refuseLink shows the page of a link again with what is wrong: at the field where
// there is one.
func (h *Handler) refuseLink(c echo.Context, page views.Checkout, status int, problem string) error {
	h.blame(c, &page.Form, status, problem)
	if page.Price != "" && page.Error != "" {
		page.Error, page.Fault = "", "The shop cannot be paid this amount: "+problem+"."
	}
	page.Title = "Error: " + page.Title
	return render(c, status, views.CheckoutPage(page))
}

func (h *Handler) checkoutPage(c echo.Context, offer api.Offer, typed, token string) views.Checkout {
	frame := h.page("")
	if style := h.wear(c.Request().Context(), &frame, offer.Look, "store.css"); style.Name != "" {
		offer.MerchantName = style.Name
	}
	frame.Title = "Pay " + h.shopName(offer.MerchantName)
	page := views.Checkout{
		Page: frame, Description: offer.Description, Order: offer.OrderID,
		Form: newForm(offer.FiatCurrency, typed, token),
	}
	page.Shop, page.Action = h.shopName(offer.MerchantName), h.path("/order/pay"+linkEnd(c))
	h.framed(&page.Page)
	if offer.Amount != "" {
		page.Price = views.Fiat(offer.Amount, offer.FiatCurrency)
	}
	if offer.EarlierID != "" {
		page.Earlier = h.path("/invoice/" + offer.EarlierID)
	}
	if offer.Mode == "test" {
		page.Trial = "Test link. No real money moves."
	}
	return page
}

// linkEnd is what tells a request's link from others, after the path of all.
func linkEnd(c echo.Context) string {
	if slug := c.Param("slug"); slug != "" {
		return "/" + slug
	}
	if query := c.QueryString(); query != "" {
		return "?" + query
	}
	return ""
}
