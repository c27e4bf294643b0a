package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// offer is what a checkout link asks for, whoever vouches for it.
type offer struct {
	source     string // names the link among all, for the tokens of its forms
	merchantID string
	mode       merchant.Mode
	price      asked // no digits when the shopper says the amount
	terms      invoice.Terms
	order      invoice.Order
	expires    time.Time        // of the link; zero never
	has        *invoice.Invoice // that the order leads to; nil when one is to be made
	from       origin
	earlier    string // one that ended, although money came
}

// readOffer is POST links/read: what a link asks for. Nothing is made.
func (s *server) readOffer(c echo.Context, k call) error {
	o, _, err := s.offer(c, k)
	if err != nil {
		return err
	}
	m, err := s.merchants.Merchant(c.Request().Context(), o.merchantID)
	if err != nil {
		return err
	}
	style, err := s.lookOf(c.Request().Context(), o.merchantID)
	if err != nil {
		return err
	}
	answer := api.Offer{
		MerchantName: m.Name, Look: style, Mode: string(o.mode), Amount: o.price.digits, FiatCurrency: o.price.code,
		OrderID: o.terms.OrderID, Description: o.terms.Description, Language: o.terms.Language, EarlierID: o.earlier,
	}
	if o.has != nil {
		answer.ForeignID = o.has.ID
	}
	return writeJSON(c, http.StatusOK, answer)
}

// payOffer is POST links/pay: the invoice that a link leads to, made when there is
// none. Links that name an order have one; others have one per idempotency key.
func (s *server) payOffer(c echo.Context, k call) error {
	o, chosen, err := s.offer(c, k)
	if err != nil {
		return err
	}
	if o.has != nil {
		return writeJSON(c, http.StatusOK, api.OfferMade{ForeignID: o.has.ID})
	}
	switch {
	case chosen == "" && o.price.digits == "":
		return invalid("amount", "is required")
	case chosen != "" && o.price.digits != "":
		return invalid("amount", "is the link's, and cannot be chosen")
	case chosen != "":
		o.price.digits = chosen
	}
	r := invoice.CreateRequest{
		MerchantID: o.merchantID, Mode: invoice.Mode(o.mode), Terms: o.terms, ExpiresIn: defaultHold, Order: o.order,
	}
	if o.order.IsZero() {
		token, err := idempotencyKey(c.Request())
		if err != nil {
			return err
		}
		if token == "" {
			return badRequest("invalid_idempotency_key", "Idempotency-Key is required for a link without an order")
		}
		r.IdempotencyKey = string(o.mode) + "-link:" + o.source + ":" + token
	}
	inv, err := s.create(c.Request().Context(), k, r, o.price, o.from)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.OfferMade{ForeignID: inv.ID})
}

// offer finds the link that a page asks about, with the amount that the shopper
// chose, if any.
func (s *server) offer(c echo.Context, k call) (o offer, chosen string, err error) {
	if err := requireJSON(c); err != nil {
		return o, "", err
	}
	var r api.OfferRequest
	err = decode(k.body, map[string]field{
		"slug": {set: text(&r.Slug, 64)}, "query": {set: text(&r.Query, maxQuery)}, "terminal": {set: text(&r.Terminal, 64)},
		"amount": {set: amount(&chosen)}, "order_id": {set: line(&r.OrderID, api.MaxShopperOrderID)}, "note": {set: paragraph(&r.Note, api.MaxShopperNote)},
	})
	if err != nil {
		return o, "", err
	}
	ctx := c.Request().Context()
	given := 0
	for _, way := range []string{r.Slug, r.Query, r.Terminal} {
		if way != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return o, "", badRequest("invalid_link", "Either slug, query or terminal is required")
	case r.Terminal == "" && r.OrderID != "":
		return o, "", invalid("order_id", "is for a terminal only")
	case r.Terminal == "" && r.Note != "":
		return o, "", invalid("note", "is for a terminal only")
	case r.Terminal != "":
		o, err = s.terminalOffer(ctx, r)
	case r.Slug != "":
		o, err = s.slugOffer(ctx, r.Slug)
	default:
		o, err = s.signedOffer(ctx, r.Query)
	}
	return o, chosen, err
}

// slugOffer is what a link asks for that a merchant made.
func (s *server) slugOffer(ctx context.Context, slug string) (offer, error) {
	if !slugPattern.MatchString(slug) {
		return offer{}, errNoLink
	}
	l, err := s.links.Link(ctx, slug)
	if errors.Is(err, merchant.ErrNotFound) {
		return offer{}, errNoLink
	}
	return offer{
		source: "slug " + l.Slug, from: published, merchantID: l.MerchantID, mode: l.Mode, price: asked{digits: l.Amount, code: l.Currency},
		terms: invoice.Terms{
			Description: l.Description, Language: l.Language, URLSuccess: l.URLSuccess, URLFailure: l.URLFailure,
		},
	}, err
}

// follow finds the invoice that an order has. Only one that expired or was
// declined may have a follower.
func (s *server) follow(ctx context.Context, o *offer) error {
	if o.order.IsZero() {
		return nil
	}
	leads, err := s.invoices.Ordered(ctx, o.order)
	switch {
	case errors.Is(err, invoice.ErrNotFound):
		return nil
	case err != nil:
		return err
	case leads.Standing.Status != invoice.Expired && leads.Standing.Status != invoice.Declined:
		o.has = leads
		return nil
	}
	o.order.After = leads.ID
	if len(leads.Payments()) > 0 {
		o.earlier = leads.ID
	}
	return nil
}
