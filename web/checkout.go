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

// pageRefusal is the error for a checkout link, a product or a terminal that cannot be used. The error page shows
// its texts, which are texts of this program: a third party may have written the texts in a link.
type pageRefusal struct {
	status int
	texts  fault
	detail string // the service's message to the merchant that made a link; empty for other refusals
}

// Error implements error.
func (r *pageRefusal) Error() string { return "page refused: " + r.texts.heading }

// errLinkChanged refuses a link that differs from the one that the shop made.
var errLinkChanged = &pageRefusal{status: http.StatusForbidden, texts: fault{"link.changed.heading", "link.changed.text"}}

// linkRefusals maps the service's error codes to refusals.
var linkRefusals = map[string]*pageRefusal{
	api.CodeLinkNotFound:  {status: http.StatusNotFound, texts: fault{"link.gone.heading", "link.gone.text"}},
	api.CodeLinkExpired:   {status: http.StatusGone, texts: fault{"link.lapsed.heading", "link.lapsed.text"}},
	api.CodeLinkChanged:   errLinkChanged,
	api.CodeLinkUnknown:   {status: http.StatusBadRequest, texts: fault{"link.changed.heading", "link.changed.added"}},
	api.CodeLinkRepeated:  {status: http.StatusBadRequest, texts: fault{"link.changed.heading", "link.changed.twice"}},
	api.CodeLinkMissing:   {status: http.StatusBadRequest, texts: fault{"link.cut.heading", "link.cut.text"}},
	api.CodeLinkMalformed: {status: http.StatusBadRequest, texts: errLinkChanged.texts},
	api.CodeLinkKey:       {status: http.StatusForbidden, texts: fault{"link.barred.heading", "link.barred.text"}},
}

// linkError returns the pageRefusal for an error that the service returned for a link, or the error itself if
// the service did not refuse the link. A refused parameter of a signed link includes the service's message,
// because the signature shows that the merchant made the link.
func linkError(err error) error {
	apiErr, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if known, ok := linkRefusals[apiErr.Code]; ok {
		return known
	}
	if apiErr.Status == http.StatusBadRequest {
		return &pageRefusal{status: http.StatusBadRequest, texts: fault{"link.wrong.heading", "link.wrong.text"}, detail: apiErr.Message}
	}
	return err
}

// slugParam returns the slug in a request's path in lower case, as slugs are stored, because shoppers type
// printed addresses in upper or lower case.
func slugParam(c echo.Context) string { return strings.ToLower(c.Param("slug")) }

// requestedLink returns the link in a request's address.
func requestedLink(c echo.Context) api.CheckoutRequest {
	if slug := slugParam(c); slug != "" {
		return api.CheckoutRequest{Slug: slug}
	}
	return api.CheckoutRequest{Query: signature.LinkQuery(c.QueryString())}
}

// checkout shows the page of a link, or redirects to the invoice that the link's order already has. It
// creates nothing, because mail scanners and link previews open links. The browser may cache the page
// privately, like the storefront.
func (h *Handler) checkout(c echo.Context) error {
	content, err := h.checkoutLink(c)
	if err != nil {
		return err
	}
	if content.ForeignID != "" { // the order has an invoice already
		return h.redirect(c, h.reader(c, content.Language), "/invoice/"+content.ForeignID)
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return h.renderLink(c, content, present.Typed{Token: rand.Text()}, nil)
}

// checkoutLink returns the content of the link in a request's address. It records the link's merchant in the
// echo.Context.
func (h *Handler) checkoutLink(c echo.Context) (api.CheckoutLink, error) {
	link := requestedLink(c)
	if link == (api.CheckoutRequest{}) {
		return api.CheckoutLink{}, linkRefusals[api.CodeLinkMissing]
	}
	content, err := h.config.Client.ReadCheckoutLink(c.Request().Context(), link)
	c.Set(merchantKey, content.MerchantID)
	return content, linkError(err)
}

// pay creates an invoice from a link and redirects to the invoice's page.
func (h *Handler) pay(c echo.Context) error {
	content, err := h.checkoutLink(c)
	if err != nil {
		return err
	}
	r, typed := h.reader(c, content.Language), typedAmount(c)
	link, key, problem := typedLink(c, r, content, typed)
	if problem != nil || content.OtherID != "" { // the order has an invoice with another price
		return h.renderLink(c, content, typed, problem)
	}
	ctx := c.Request().Context()
	id, err := createWithRetry(ctx, func() (string, error) { return h.config.Client.UseCheckoutLink(ctx, link, key) })
	apiErr, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return h.redirect(c, r, "/invoice/"+id)
	case ok && apiErr.Code == api.CodeLinkOrderPaid: // the payment arrived after the link was read
		return h.checkout(c)
	case ok && apiErr.Code == api.CodePriceChanged && content.Amount == "":
		return h.renderLink(c, content, typed, present.ChangedCurrency(r))
	case ok && apiErr.Code == api.CodePriceChanged:
		problem = &present.Problem{Status: http.StatusConflict, Text: r.Text("link.price", "Amount", r.Fiat(content.Amount, content.FiatCurrency))}
		return h.renderLink(c, content, typed, problem)
	case ok && linkRefusals[apiErr.Code] == nil:
		return h.renderLink(c, content, typed, h.problem(r, err))
	}
	return linkError(err)
}

// typedLink returns the request that creates an invoice from a link, and its idempotency key, or the problem with
// the typed amount.
func typedLink(c echo.Context, r present.Reader, content api.CheckoutLink, typed present.Typed) (link api.CheckoutRequest, key string, problem *present.Problem) {
	link, key = requestedLink(c), typed.Token
	if link.Slug != "" {
		link.ShownAmount, link.ShownCurrency = c.FormValue("shown_amount"), typed.Currency
	}
	if content.Amount == "" && content.OtherID == "" {
		link.Amount, problem = present.ReadAmount(r, typed)
		key += "-" + link.Amount
	}
	return link, key, problem
}

// renderLink renders the page of a link, with the reason why no invoice was created unless problem is nil.
func (h *Handler) renderLink(c echo.Context, content api.CheckoutLink, typed present.Typed, problem *present.Problem) error {
	ctx := c.Request().Context()
	f, status := h.withTheme(ctx, h.frame(c, h.reader(c, content.Language)), content.Theme), formStatus(c, problem)
	f = h.forMerchant(ctx, f, content.MerchantID)
	f.Query = requestedLink(c).Query
	if content.OtherID != "" {
		status = http.StatusConflict
	}
	return render(c, status, views.CheckoutPage(f.Checkout(content, linkSuffix(c), typed, problem)))
}

// linkSuffix returns the part of a request's address that identifies its link: the slug or the query.
func linkSuffix(c echo.Context) string {
	if slug := slugParam(c); slug != "" {
		return "/" + slug
	}
	if query := requestedLink(c).Query; query != "" {
		return "?" + query
	}
	return ""
}
