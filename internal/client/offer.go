package client

import (
	"context"
	"encoding/json"
	"net/http"

	"chequer/internal/api"
)

// ReadCheckoutLink returns the content of a checkout link. A refusal is an *Error; it returns
// ErrUnsupported if the service has no links.
func (c *Client) ReadCheckoutLink(ctx context.Context, r api.CheckoutRequest) (api.CheckoutLink, error) {
	var o api.CheckoutLink
	err := c.ofLink(ctx, api.PathLinks+"/read", r, "", &o)
	if err == nil {
		err = checkOffer(&o)
	}
	return o, wrap("read link", err)
}

// UseCheckoutLink returns the invoice of a checkout link, which is created if there is none. A call with
// the same key returns the same invoice.
func (c *Client) UseCheckoutLink(ctx context.Context, r api.CheckoutRequest, idempotencyKey string) (id string, err error) {
	var made api.CheckoutInvoice
	err = c.ofLink(ctx, api.PathLinks+"/pay", r, idempotencyKey, &made)
	if err == nil {
		var fault check
		fault.id("foreign_id", made.ForeignID)
		err = fault.err()
	}
	return made.ForeignID, wrap("pay by link", err)
}

// ofLink makes a call about a checkout link or a product.
func (c *Client) ofLink(ctx context.Context, path string, what any, idempotencyKey string, into any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	header := map[string]string{"Content-Type": "application/json"}
	if idempotencyKey != "" {
		header[api.HeaderIdempotencyKey] = idempotencyKey
	}
	a, err := c.do(ctx, request{method: http.MethodPost, path: path, header: header, body: body, own: true})
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK && decode(a.body, into) == nil:
		return nil
	case !a.isOurs() && !a.isTemporary():
		return ErrUnsupported
	}
	return a.failure()
}

// checkOffer checks the content of a link.
func checkOffer(o *api.CheckoutLink) error {
	var c check
	c.text(&o.MerchantName, maxMerchant)
	o.Theme = checkedTheme(o.Theme)
	c.oneOf("mode", o.Mode, modes)
	c.rate("amount", o.Amount) // may be empty
	c.require("fiat_currency", o.FiatCurrency != "")
	c.word("fiat_currency", o.FiatCurrency, maxWord)
	c.text(&o.OrderID, maxOrder)
	c.text(&o.Description, maxSentence)
	c.word("language", o.Language, maxWord)
	if o.ForeignID != "" {
		c.id("foreign_id", o.ForeignID)
	}
	if o.EarlierID != "" {
		c.id("earlier_id", o.EarlierID)
	}
	if o.OtherID != "" {
		c.id("other_id", o.OtherID)
		c.amount("other_amount", o.OtherAmount)
		c.amount("other_received", o.OtherReceived)
		c.require("other_currency", o.OtherCurrency != "")
		c.word("other_currency", o.OtherCurrency, maxWord)
	}
	return c.err()
}
