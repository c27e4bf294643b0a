package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// checkout is the content of a checkout link: a link of a merchant, a signed link, or a terminal.
type checkout struct {
	namespace  string // of the idempotency keys of its forms
	source     string // identifies the link, for the tokens of its forms
	origin     invoice.Origin
	merchantID string
	mode       merchant.Mode
	price      requestedPrice // no digits when the shopper chooses the amount
	terms      invoice.Terms
	methods    merchant.Methods
	use        invoice.LinkUse
	order      invoice.Order
	expires    time.Time        // expiry of the link; zero: none
	existing   *invoice.Invoice // invoice to which the order leads; nil if one must be created
	class      limitClass
	earlierID  string           // ended invoice of the order that received a payment
	differing  *invoice.Invoice // invoice of the order with another price and a payment
	changed    bool             // the page showed a price or a currency that differs from the current one
	replaces   string           // invoice of the order with another price and no payment
}

// errOrderPaid refuses a link whose order has a payment at another price.
var errOrderPaid = &problem{
	status: http.StatusConflict, code: api.CodeLinkOrderPaid, message: "A payment was seen for this order, at another price",
}

var errNoTerminal = &problem{status: http.StatusNotFound, code: api.CodeTerminalNotFound, message: "There is no such terminal, or it was removed"}

// readCheckoutLink handles POST links/read: the content of a link. It creates no invoice.
func (s *server) readCheckoutLink(c echo.Context, k call) error {
	link, _, err := s.checkout(c, k)
	if err != nil {
		return err
	}
	if link.use.Max > 0 {
		uses, err := s.Links.LinkUses(c.Request().Context(), link.use.Slug)
		if err != nil {
			return err
		}
		if uses >= link.use.Max {
			return errLinkUsed
		}
	}
	m, err := s.Merchants.Merchant(c.Request().Context(), link.merchantID)
	if err != nil {
		return err
	}
	style, err := s.themeOf(c.Request().Context(), link.merchantID)
	if err != nil {
		return err
	}
	answer := api.CheckoutLink{
		MerchantID: m.ID, MerchantName: m.Name, Theme: style, Mode: string(link.mode), Amount: link.price.digits, FiatCurrency: link.price.code,
		OrderID: link.terms.OrderID, Description: link.terms.Description, Language: link.terms.Language, EarlierID: link.earlierID,
	}
	if link.existing != nil {
		answer.ForeignID = link.existing.ID
	}
	if other := link.differing; other != nil {
		answer.OtherID, answer.OtherStatus = other.ID, string(other.State.Status)
		answer.OtherAmount, answer.OtherCurrency = other.Terms.Price.String(), other.Terms.Price.Currency().Code
		answer.OtherReceived = other.State.Paid.String()
	}
	return writeJSON(c, http.StatusOK, answer)
}

// useCheckoutLink handles POST links/pay: the invoice of a link, which is created if there is none. A link
// with an order has one invoice. Other links have one invoice per idempotency key.
func (s *server) useCheckoutLink(c echo.Context, k call) error {
	link, chosen, err := s.checkout(c, k)
	if err != nil {
		return err
	}
	switch {
	case link.changed:
		return errPriceChanged
	case link.differing != nil:
		return errOrderPaid
	case link.existing != nil:
		return writeJSON(c, http.StatusOK, api.CheckoutInvoice{ForeignID: link.existing.ID})
	case chosen == "" && link.price.digits == "":
		return invalid("amount", "is required")
	case chosen != "" && link.price.digits != "":
		return invalid("amount", "is set by the link and cannot be chosen")
	case chosen != "":
		link.price.digits = chosen
	}
	r := invoice.CreateRequest{
		MerchantID: link.merchantID, Mode: invoice.Mode(link.mode), Terms: link.terms, Order: link.order, DefaultMethods: link.methods.Codes(), Link: link.use, Origin: link.origin,
	}
	if link.order.IsZero() {
		if r.Key, err = link.key(c.Request()); err != nil {
			return err
		}
	}
	if err := s.withdraw(c.Request().Context(), link.replaces); err != nil {
		return err
	}
	inv, err := s.create(c.Request().Context(), k, r, link.price, link.class)
	if err != nil {
		return err
	}
	if !link.order.IsZero() && !inv.Terms.Price.Equal(link.order.Price) { // created by a concurrent request
		return errRunning
	}
	return writeJSON(c, http.StatusOK, api.CheckoutInvoice{ForeignID: inv.ID})
}

// key returns the idempotency key of a request to pay by a link without an order. The price is part
// of the key, so that a link with another price creates another invoice.
func (c checkout) key(r *http.Request) (invoice.IdempotencyKey, error) {
	token, err := idempotencyKey(r)
	if err != nil {
		return invoice.IdempotencyKey{}, err
	}
	if token == "" {
		return invoice.IdempotencyKey{}, badRequest("invalid_idempotency_key", "Idempotency-Key is required for a link without an order")
	}
	return namespaced(c.namespace, invoice.Mode(c.mode), fmt.Sprintf("%s:%s %s:%s", c.source, c.price.digits, c.price.code, token)), nil
}

// withdraw declines the invoice with the given ID, which a new invoice of the same order replaces. It
// does nothing if id is empty.
func (s *server) withdraw(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	_, err := s.Invoices.Withdraw(ctx, id)
	if errors.Is(err, invoice.ErrState) { // a payment was seen after the link was read
		return errOrderPaid
	}
	return err
}

// checkout returns the content of the link that a page asks about, and the amount that the shopper
// chose, if any.
func (s *server) checkout(c echo.Context, k call) (link checkout, chosen string, err error) {
	r, err := request[api.CheckoutRequest](c, k)
	if err != nil {
		return link, "", err
	}
	ctx := c.Request().Context()
	identifiers := 0
	for _, identifier := range []string{r.Slug, r.Query, r.Terminal} {
		if identifier != "" {
			identifiers++
		}
	}
	switch {
	case identifiers != 1:
		return link, "", badRequest("invalid_link", "Exactly one of slug, query and terminal is required")
	case r.Terminal == "" && r.OrderID != "":
		return link, "", invalid("order_id", "is accepted for a terminal only")
	case r.Terminal == "" && r.Note != "":
		return link, "", invalid("note", "is accepted for a terminal only")
	case r.Terminal != "":
		link, err = s.terminalCheckout(ctx, k, r)
		link.changed = err == nil && s.priceChanged(link, r)
	case r.Slug != "":
		link, err = s.slugCheckout(ctx, k, r.Slug)
		link.changed = err == nil && s.priceChanged(link, r)
	default:
		link, err = s.signedCheckout(ctx, k, r.Query)
	}
	return link, r.Amount, err
}

// priceChanged reports whether the page of a link showed a price that differs from the current price, or a form for an amount
// in a currency that differs from the current one.
func (s *server) priceChanged(link checkout, r api.CheckoutRequest) bool {
	if r.ShownAmount == "" {
		return r.ShownCurrency != "" && (link.price.digits != "" || r.ShownCurrency != link.price.code)
	}
	shown, err := s.Prices.Parse(r.ShownAmount, r.ShownCurrency)
	if err != nil || link.price.digits == "" {
		return true
	}
	now, err := s.Prices.Parse(link.price.digits, link.price.code)
	return err != nil || !shown.Equal(now)
}

// slugCheckout returns the content of a merchant's link.
func (s *server) slugCheckout(ctx context.Context, k call, slug string) (checkout, error) {
	l, err := s.Links.Find(ctx, slug)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !k.serves(l.MerchantID) {
		return checkout{}, errNoLink
	}
	if err == nil && l.Ended(s.Now()) {
		return checkout{}, errLinkExpired
	}
	return checkout{
		methods: l.Methods, use: invoice.LinkUse{Slug: l.Slug, Max: l.MaxUses},
		namespace: linkKeys, source: "slug " + l.Slug, origin: invoice.Origin{Kind: invoice.FromLink, ID: l.Slug}, class: published, merchantID: l.MerchantID, mode: l.Mode, price: requestedPrice{digits: l.Amount, code: l.Currency},
		terms: invoice.Terms{
			Description: l.Description, Language: l.Language, URLSuccess: l.URLSuccess, URLFailure: l.URLFailure,
		},
	}, err
}

// followOrder sets the fields of link that depend on the newest invoice of its order. A new invoice may be
// created if that invoice has expired or was declined, or if it has another price and no payment.
func (s *server) followOrder(ctx context.Context, link *checkout) error {
	if link.order.IsZero() {
		return nil
	}
	newest, err := s.Invoices.Ordered(ctx, link.order)
	if errors.Is(err, invoice.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	hasEnded := newest.State.Status == invoice.Expired || newest.State.Status == invoice.Declined
	hasPayment := newest.State.Status != invoice.Created || len(newest.Payments()) > 0
	switch {
	case hasEnded:
		link.order.After = newest.ID
		if len(newest.Payments()) > 0 {
			link.earlierID = newest.ID
		}
	case newest.Terms.Price.Equal(link.order.Price):
		link.existing = newest
	case hasPayment:
		link.differing = newest
	default:
		link.order.After, link.replaces = newest.ID, newest.ID
	}
	return nil
}

// terminalCheckout returns the content of the link of a terminal, where the seller enters the amount.
func (s *server) terminalCheckout(ctx context.Context, k call, r api.CheckoutRequest) (checkout, error) {
	t, err := s.Terminals.Find(ctx, r.Terminal)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !k.serves(t.MerchantID) {
		return checkout{}, errNoTerminal
	}
	metadata := map[string]string{api.MetadataTerminal: t.ID}
	if r.Note != "" {
		metadata[api.MetadataNote] = r.Note
	}
	return checkout{
		namespace: terminalKeys, source: t.ID, origin: invoice.Origin{Kind: invoice.FromTerminal, ID: t.ID}, merchantID: t.MerchantID, mode: t.Mode, methods: t.Methods, price: requestedPrice{code: t.Currency},
		terms: invoice.Terms{Description: t.Name, OrderID: r.OrderID, Metadata: metadata},
	}, err
}
