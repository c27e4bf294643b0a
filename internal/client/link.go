package client

import (
	"context"
	"net/http"

	"chequer/internal/api"
)

// ReadCheckoutLink returns the content of a checkout link. A refusal is an *Error; it returns
// ErrUnsupported if the service has no links.
func (c *Client) ReadCheckoutLink(ctx context.Context, r api.CheckoutRequest) (api.CheckoutLink, error) {
	var link api.CheckoutLink
	err := c.checkout(ctx, api.PathLinks+"/read", r, "", &link)
	return link, wrap("read checkout link", err)
}

// UseCheckoutLink returns the ID of the invoice of a checkout link. The service creates the invoice if the link has
// none. A call with the same idempotency key returns the same invoice. A refusal is an *Error; it returns ErrUnsupported if the service has no
// links.
func (c *Client) UseCheckoutLink(ctx context.Context, r api.CheckoutRequest, idempotencyKey string) (id string, err error) {
	var created api.CheckoutInvoice
	err = c.checkout(ctx, api.PathLinks+"/pay", r, idempotencyKey, &created)
	return created.ForeignID, wrap("use checkout link", err)
}

// ReadProducts returns the products of the merchant of the API key, or only the product whose slug the request has. A
// refusal is an *Error; it returns ErrUnsupported if the service has no products.
func (c *Client) ReadProducts(ctx context.Context, r api.ProductsRequest) (api.ProductOffers, error) {
	var offers api.ProductOffers
	err := c.checkout(ctx, api.PathProducts+"/read", r, "", &offers)
	return offers, wrap("read products", err)
}

// OrderProduct orders a product and returns the ID of the invoice of the order. A call with the same idempotency key returns the
// same invoice. A refusal is an *Error; it returns ErrUnsupported if the service has no products.
func (c *Client) OrderProduct(ctx context.Context, o api.ProductOrder, idempotencyKey string) (id string, err error) {
	var created api.CheckoutInvoice
	err = c.checkout(ctx, api.PathProducts+"/order", o, idempotencyKey, &created)
	return created.ForeignID, wrap("order product", err)
}

// checkout makes a call about a checkout link or a product.
func (c *Client) checkout(ctx context.Context, path string, r any, idempotencyKey string, target any) error {
	a, err := c.post(ctx, path, r, idempotencyKey)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusOK && decode(a.body, target) == nil:
		return nil
	case !a.isChequer() && !isTemporary(a.status):
		return ErrUnsupported
	}
	return a.failure()
}
