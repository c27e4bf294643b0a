// Package foreign calls a service that is not trusted: Chequer, or a service that implements only the
// specification of the API family. In its results every value has a known form and a bounded size, and
// contains no control characters. Texts for people are cleaned and truncated. Values for programs are
// not repaired: one invalid field makes the whole answer invalid.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/theme"
)

// plainTTL is the time after which Chequer's own calls are tried again at a service that implements
// only the specification.
const plainTTL = 10 * time.Minute

// Client calls one service with one key, and checks its answers. It is safe for concurrent use.
type Client struct {
	service *client.Client
	now     func() time.Time
	memory  memory
	plain   atomic.Pointer[time.Time] // when the service was found to implement only the specification
}

// New returns a new Client. It returns an error if the base address is invalid, as client.New does.
func New(config client.Config) (*Client, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	service, err := client.New(config)
	return &Client{service: service, now: config.Now}, err
}

// isPlain reports whether the service was found, less than plainTTL ago, to implement only the
// specification.
func (c *Client) isPlain() bool {
	at := c.plain.Load()
	return at != nil && !c.service.IsChequer() && c.now().Sub(*at) < plainTTL
}

// CreateInvoice creates an invoice and returns its identifier, as client.Client does.
func (c *Client) CreateInvoice(ctx context.Context, r api.InvoiceRequest, idempotencyKey string) (id string, err error) {
	created, err := c.service.CreateSpecified(ctx, r, idempotencyKey)
	if err != nil {
		return "", cleanError(err)
	}
	if err := checkCreated(&created.Invoice); err != nil {
		return "", fmt.Errorf("create invoice: %w", err)
	}
	if !c.service.IsChequer() {
		c.memory.store(c.now(), created.Invoice, r, c.offset(created.Header))
	}
	return created.Invoice.ForeignID, nil
}

// Invoice returns an invoice, or client.ErrNotFound. From a service that implements only the specification
// it has the fields that plainResource sets.
func (c *Client) Invoice(ctx context.Context, id string) (client.Snapshot, error) {
	return c.WaitInvoice(ctx, id, "", 0)
}

// WaitInvoice returns an invoice when its ETag differs from the given ETag. If it does not change
// within wait, at most client.MaxWait, it returns client.ErrNotModified.
func (c *Client) WaitInvoice(ctx context.Context, id, etag string, wait time.Duration) (client.Snapshot, error) {
	if !c.isPlain() {
		snapshot, err := c.service.WaitInvoice(ctx, id, etag, wait)
		if !errors.Is(err, client.ErrUnsupported) {
			return c.checked(id, snapshot, err)
		}
		now := c.now()
		c.plain.Store(&now)
	}
	return c.pollPlain(ctx, id, etag, min(wait, client.MaxWait))
}

// checked checks an invoice that the service returned in the form that only Chequer defines.
func (c *Client) checked(id string, s client.Snapshot, err error) (client.Snapshot, error) {
	if err != nil {
		return client.Snapshot{}, cleanError(err)
	}
	if err := checkResource(&s.Resource, id); err != nil {
		return client.Snapshot{}, fmt.Errorf("read invoice: %w", err)
	}
	c.memory.clear()
	s.ETag, s.Theme = checkedTag(s.ETag, s.Resource), checkedTheme(s.Theme)
	return s, nil
}

// ReadCheckoutLink returns the content of a checkout link, as client.Client does.
func (c *Client) ReadCheckoutLink(ctx context.Context, r api.CheckoutRequest) (api.CheckoutLink, error) {
	link, err := c.service.ReadCheckoutLink(ctx, r)
	if err == nil {
		err = checkLink(&link)
	}
	return link, cleanError(err)
}

// UseCheckoutLink returns the invoice of a checkout link, as client.Client does.
func (c *Client) UseCheckoutLink(ctx context.Context, r api.CheckoutRequest, idempotencyKey string) (id string, err error) {
	return checkedID(c.service.UseCheckoutLink(ctx, r, idempotencyKey))
}

// ReadProducts returns products of the merchant's shop, as client.Client does.
func (c *Client) ReadProducts(ctx context.Context, r api.ProductsRequest) (api.ProductOffers, error) {
	offers, err := c.service.ReadProducts(ctx, r)
	if err == nil {
		err = checkProducts(&offers)
	}
	return offers, cleanError(err)
}

// OrderProduct returns the invoice of an order, as client.Client does.
func (c *Client) OrderProduct(ctx context.Context, o api.ProductOrder, idempotencyKey string) (id string, err error) {
	return checkedID(c.service.OrderProduct(ctx, o, idempotencyKey))
}

// checkedID checks the identifier that a call returned.
func checkedID(id string, err error) (string, error) {
	var c check
	if err == nil {
		c.id("foreign_id", id)
		err = c.err()
	}
	return id, cleanError(err)
}

// Simulate carries out an action on a test invoice, as client.Client does.
func (c *Client) Simulate(ctx context.Context, id string, r api.SimulateRequest) error {
	return cleanError(c.service.Simulate(ctx, id, r))
}

// Requote requests a new price, as client.Client does.
func (c *Client) Requote(ctx context.Context, id string, r api.RequoteRequest) error {
	return cleanError(c.service.Requote(ctx, id, r))
}

// RequestPayment makes a payment request, as client.Client does.
func (c *Client) RequestPayment(ctx context.Context, id string, r api.NewPaymentRequest) error {
	return cleanError(c.service.RequestPayment(ctx, id, r))
}

// SetRefundAddress sets the address for refunds, as client.Client does.
func (c *Client) SetRefundAddress(ctx context.Context, id string, r api.RefundRequest) error {
	return cleanError(c.service.SetRefundAddress(ctx, id, r))
}

// Theme returns a theme, as client.Client does. It accepts only what a merchant may set.
func (c *Client) Theme(ctx context.Context, hash string) (theme.Theme, error) {
	t, err := c.service.Theme(ctx, hash)
	return t, cleanError(err)
}
