package client

import (
	"context"
	"slices"

	"chequer/internal/api"
)

// maxProducts bounds the number of products of a shop page, and maxDescription the length of their
// descriptions, in characters.
const (
	maxProducts    = 200
	maxDescription = 1000
)

// askings are the values of whether a shopper is asked for something.
var askings = []string{api.AskNo, api.AskOptional, api.AskRequired}

// ReadProducts returns the products in the shop of the key's merchant, or one of them. A refusal is
// an *Error; it returns ErrUnsupported if the service has no products.
func (c *Client) ReadProducts(ctx context.Context, r api.ProductsRequest) (api.ProductOffers, error) {
	var o api.ProductOffers
	err := c.ofLink(ctx, api.PathProducts+"/read", r, "", &o)
	if err == nil {
		err = checkProducts(&o)
	}
	return o, wrap("read products", err)
}

// OrderProduct returns the invoice of an order. A call with the same key returns the same invoice.
func (c *Client) OrderProduct(ctx context.Context, o api.ProductOrder, idempotencyKey string) (id string, err error) {
	var made api.CheckoutInvoice
	err = c.ofLink(ctx, api.PathProducts+"/order", o, idempotencyKey, &made)
	if err == nil {
		var fault check
		fault.id("foreign_id", made.ForeignID)
		err = fault.err()
	}
	return made.ForeignID, wrap("order product", err)
}

// checkProducts checks the products of a shop.
func checkProducts(o *api.ProductOffers) error {
	var c check
	c.text(&o.MerchantName, maxMerchant)
	o.Products = first(o.Products, maxProducts)
	for i := range o.Products {
		p := &o.Products[i]
		c.require("slug", idForm.MatchString(p.Slug) && len(p.Slug) <= maxWord)
		c.oneOf("mode", p.Mode, modes)
		c.text(&p.Name, maxMerchant)
		c.text(&p.Description, maxDescription)
		c.amount("price", p.Price)
		c.require("fiat_currency", p.FiatCurrency != "")
		c.word("fiat_currency", p.FiatCurrency, maxWord)
		c.require("max_quantity", p.MaxQuantity >= 1 && p.MaxQuantity <= api.MaxQuantity)
		c.require("ask_order_id", slices.Contains(askings, p.AskOrderID))
		c.require("ask_note", slices.Contains(askings, p.AskNote))
	}
	return c.err()
}
