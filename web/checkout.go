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
	"chequer/web/present"
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
	if offer.ForeignID != "" {
		return h.redirect(c, h.reader(c, offer.Language), "/invoice/"+offer.ForeignID)
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return h.renderLink(c, linkStatus(offer), offer, present.Typed{Token: rand.Text()}, nil)
}

// linkStatus returns the status of the page of a link.
func linkStatus(offer api.CheckoutLink) int {
	if offer.OtherID != "" {
		return http.StatusConflict
	}
	return http.StatusOK
}

// backToLink redirects a GET of the address that a link's form posts to, to the link's page.
func (h *Handler) backToLink(c echo.Context) error {
	return h.redirect(c, h.reader(c, ""), "/pay"+linkEnd(c))
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
	r, typed := h.reader(c, offer.Language), typedAmount(c)
	if offer.OtherID != "" {
		return h.renderLink(c, http.StatusConflict, offer, typed, nil)
	}
	id, problem, err := h.useLink(c, r, offer, typed)
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case problem != "":
		return h.renderLink(c, http.StatusUnprocessableEntity, offer, typed, refusal(http.StatusUnprocessableEntity, problem))
	case err == nil:
		return h.redirect(c, r, "/invoice/"+id)
	case ok && refused.Code == api.CodeLinkOrderPaid: // the payment arrived after the offer was read
		return h.checkout(c)
	case ok && linkRefusals[refused.Code] == nil:
		status, problem := h.refusedLinkText(r, offer, refused)
		return h.renderLink(c, status, offer, typed, refusal(status, problem))
	}
	return refusedLink(err)
}

// useLink creates an invoice from a link. It returns the problem with the typed amount if there is one.
func (h *Handler) useLink(c echo.Context, r present.Reader, offer api.CheckoutLink, typed present.Typed) (id, problem string, err error) {
	link, key := linkOf(c), typed.Token
	if offer.Amount == "" {
		if link.Amount, problem = present.ReadAmount(r, typed.Amount); problem != "" {
			return "", problem, nil
		}
		key += "-" + link.Amount
	}
	if link.Slug != "" {
		link.ShownAmount, link.ShownCurrency = c.FormValue("shown_amount"), c.FormValue("shown_currency")
	}
	ctx := c.Request().Context()
	id, err = unlessRunning(ctx, func() (string, error) { return h.config.Client.UseCheckoutLink(ctx, link, key) })
	return id, "", err
}

// refusedLinkText returns the text for the shopper when the service creates no invoice for a link, and the
// status of the page.
func (h *Handler) refusedLinkText(r present.Reader, offer api.CheckoutLink, refused *client.Error) (status int, problem string) {
	if refused.Code == api.CodePriceChanged {
		return http.StatusConflict, r.Text("link.price", "Amount", r.Fiat(offer.Amount, offer.FiatCurrency))
	}
	return h.refused(r, refused)
}

// renderLink renders the page of a link.
func (h *Handler) renderLink(c echo.Context, status int, offer api.CheckoutLink, typed present.Typed, problem *present.Problem) error {
	f := h.themed(c.Request().Context(), h.frame(c, h.reader(c, offer.Language)), offer.Theme)
	f.Query = linkOf(c).Query
	setRetryAfter(c, status)
	return render(c, status, views.CheckoutPage(f.Checkout(offer, linkEnd(c), typed, problem)))
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
