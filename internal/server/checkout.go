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
	from       origin
	earlierID  string           // ended invoice of the order that received a payment
	differing  *invoice.Invoice // invoice of the order with another price and a payment
	changed    bool             // the page showed another price
	replaces   string           // invoice of the order with another price and no payment
}

// errOrderPaid refuses a link whose order has a payment at another price.
var errOrderPaid = &problem{
	status: http.StatusConflict, code: api.CodeLinkOrderPaid, message: "A payment was seen for this order, at another price",
}

var errNoTerminal = &problem{status: http.StatusNotFound, code: api.CodeTerminalNotFound, message: "There is no such terminal, or it was removed"}

// readCheckoutLink handles POST links/read: the content of a link. It creates no invoice.
func (s *server) readCheckoutLink(c echo.Context, k call) error {
	o, _, err := s.checkout(c, k)
	if err != nil {
		return err
	}
	if o.use.Max > 0 {
		uses, err := s.Links.LinkUses(c.Request().Context(), o.use.Slug)
		if err != nil {
			return err
		}
		if uses >= o.use.Max {
			return errLinkUsed
		}
	}
	m, err := s.Merchants.Merchant(c.Request().Context(), o.merchantID)
	if err != nil {
		return err
	}
	style, err := s.themeOf(c.Request().Context(), o.merchantID)
	if err != nil {
		return err
	}
	answer := api.CheckoutLink{
		MerchantID: m.ID, MerchantName: m.Name, Theme: style, Mode: string(o.mode), Amount: o.price.digits, FiatCurrency: o.price.code,
		OrderID: o.terms.OrderID, Description: o.terms.Description, Language: o.terms.Language, EarlierID: o.earlierID,
	}
	if o.existing != nil {
		answer.ForeignID = o.existing.ID
	}
	if other := o.differing; other != nil {
		answer.OtherID, answer.OtherStatus = other.ID, string(other.State.Status)
		answer.OtherAmount, answer.OtherCurrency = other.Terms.Price.String(), other.Terms.Price.Currency().Code
		answer.OtherReceived = other.State.Paid.String()
	}
	return writeJSON(c, http.StatusOK, answer)
}

// useCheckoutLink handles POST links/pay: the invoice of a link, which is created if there is none. A link
// with an order has one invoice. Other links have one invoice per idempotency key.
func (s *server) useCheckoutLink(c echo.Context, k call) error {
	o, chosen, err := s.checkout(c, k)
	if err != nil {
		return err
	}
	switch {
	case o.changed:
		return errPriceChanged
	case o.differing != nil:
		return errOrderPaid
	case o.existing != nil:
		return writeJSON(c, http.StatusOK, api.CheckoutInvoice{ForeignID: o.existing.ID})
	case chosen == "" && o.price.digits == "":
		return invalid("amount", "is required")
	case chosen != "" && o.price.digits != "":
		return invalid("amount", "is set by the link and cannot be chosen")
	case chosen != "":
		o.price.digits = chosen
	}
	r := invoice.CreateRequest{
		MerchantID: o.merchantID, Mode: invoice.Mode(o.mode), Terms: o.terms, Order: o.order, DefaultMethods: o.methods.Codes(), Link: o.use, Origin: o.origin,
	}
	if o.order.IsZero() {
		if r.Key, err = o.key(c.Request()); err != nil {
			return err
		}
	}
	if err := s.withdraw(c.Request().Context(), o.replaces); err != nil {
		return err
	}
	inv, err := s.create(c.Request().Context(), k, r, o.price, o.from)
	if err != nil {
		return err
	}
	if !o.order.IsZero() && !inv.Terms.Price.Equal(o.order.Price) { // created by a concurrent request
		return errRunning
	}
	return writeJSON(c, http.StatusOK, api.CheckoutInvoice{ForeignID: inv.ID})
}

// key returns the idempotency key of a request to pay by a link without an order. The price is part
// of it, so that a link with another price creates another invoice.
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
func (s *server) checkout(c echo.Context, k call) (o checkout, chosen string, err error) {
	r, err := request[api.CheckoutRequest](c, k)
	if err != nil {
		return o, "", err
	}
	ctx := c.Request().Context()
	identifiers := 0
	for _, link := range []string{r.Slug, r.Query, r.Terminal} {
		if link != "" {
			identifiers++
		}
	}
	switch {
	case identifiers != 1:
		return o, "", badRequest("invalid_link", "Exactly one of slug, query and terminal is required")
	case r.Terminal == "" && r.OrderID != "":
		return o, "", invalid("order_id", "is accepted for a terminal only")
	case r.Terminal == "" && r.Note != "":
		return o, "", invalid("note", "is accepted for a terminal only")
	case r.Terminal != "":
		o, err = s.terminalCheckout(ctx, k, r)
	case r.Slug != "":
		o, err = s.slugCheckout(ctx, k, r.Slug)
		o.changed = err == nil && s.priceChanged(o, r)
	default:
		o, err = s.signedCheckout(ctx, k, r.Query)
	}
	return o, r.Amount, err
}

// priceChanged reports whether the page of a link showed a price that differs from the current price.
func (s *server) priceChanged(o checkout, r api.CheckoutRequest) bool {
	if r.ShownAmount == "" {
		return false
	}
	shown, err := s.Prices.Parse(r.ShownAmount, r.ShownCurrency)
	if err != nil || o.price.digits == "" {
		return true
	}
	now, err := s.Prices.Parse(o.price.digits, o.price.code)
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
		namespace: linkKeys, source: "slug " + l.Slug, origin: invoice.Origin{Kind: invoice.FromLink, ID: l.Slug}, from: published, merchantID: l.MerchantID, mode: l.Mode, price: requestedPrice{digits: l.Amount, code: l.Currency},
		terms: invoice.Terms{
			Description: l.Description, Language: l.Language, URLSuccess: l.URLSuccess, URLFailure: l.URLFailure,
		},
	}, err
}

// followOrder sets the fields of o that depend on the newest invoice of its order. A new invoice may be
// created if that invoice has expired or was declined, or if it has another price and no payment.
func (s *server) followOrder(ctx context.Context, o *checkout) error {
	if o.order.IsZero() {
		return nil
	}
	newest, err := s.Invoices.Ordered(ctx, o.order)
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
		o.order.After = newest.ID
		if len(newest.Payments()) > 0 {
			o.earlierID = newest.ID
		}
	case newest.Terms.Price.Equal(o.order.Price):
		o.existing = newest
	case hasPayment:
		o.differing = newest
	default:
		o.order.After, o.replaces = newest.ID, newest.ID
	}
	return nil
}

// terminalCheckout returns the content of the link of a terminal, whose user enters the amount.
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
