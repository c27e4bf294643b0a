package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"chequer/internal/api"
)

// MaxWait is the longest time that the service waits.
const MaxWait = 30 * time.Second

// CreateInvoice creates an invoice and returns its identifier. A call with the same key and request
// returns the same invoice; with an empty key each call creates a new invoice. The call is signed by
// the API family's scheme and omits Chequer's own fields if they are empty, so that a service that
// implements only the specification accepts it. A refusal is an *Error.
func (c *Client) CreateInvoice(ctx context.Context, r api.InvoiceRequest, idempotencyKey string) (id string, err error) {
	created, err := c.CreateSpecified(ctx, r, idempotencyKey)
	return created.Invoice.ForeignID, err
}

// Invoice returns an invoice. It returns ErrNotFound, or ErrUnsupported if the service implements only
// the specification.
func (c *Client) Invoice(ctx context.Context, id string) (Snapshot, error) {
	return c.WaitInvoice(ctx, id, "", 0)
}

// WaitInvoice returns an invoice when its ETag differs from the given ETag. If it does not change
// within wait, at most MaxWait, it returns ErrNotModified.
func (c *Client) WaitInvoice(ctx context.Context, id, etag string, wait time.Duration) (Snapshot, error) {
	r := request{method: http.MethodGet, path: api.PathInvoices + "/" + url.PathEscape(id), chequerScheme: true, header: map[string]string{}}
	if etag != "" {
		r.header["If-None-Match"] = etag
	}
	r.waitFor(wait)
	a, err := c.do(ctx, r)
	if err != nil {
		return Snapshot{}, wrap("read invoice", err)
	}
	var resource api.Resource
	switch {
	case a.status == http.StatusNotModified:
		return Snapshot{}, wrap("read invoice", ErrNotModified)
	case a.isInvoice(id, &resource):
		c.proved.Store(true)
		return Snapshot{Resource: resource, ETag: a.header.Get("ETag"), Theme: a.header.Get(api.HeaderTheme), MerchantID: a.header.Get(api.HeaderMerchant)}, nil
	}
	return Snapshot{}, wrap("read invoice", c.refusal(a))
}

// waitFor asks the service to wait, for at most MaxWait.
func (r *request) waitFor(wait time.Duration) {
	wait = min(wait, MaxWait)
	if seconds := int(wait / time.Second); seconds > 0 {
		r.header["Prefer"], r.wait = "wait="+strconv.Itoa(seconds), wait
	}
}

// Simulate carries out an action on a test invoice in the simulated network. It returns
// ErrNotFound, or ErrUnsupported if the service has no such network.
func (c *Client) Simulate(ctx context.Context, id string, r api.SimulateRequest) error {
	return wrap("simulate", c.postAction(ctx, id, api.PathTestInvoices+"/"+url.PathEscape(id)+"/simulate", r))
}

// Requote requests a new price for the amount due, unless there is already a newer quote than the
// given quote. It returns ErrNotFound or ErrUnsupported; a refusal is an *Error.
func (c *Client) Requote(ctx context.Context, id string, r api.RequoteRequest) error {
	return wrap("requote", c.postAction(ctx, id, api.PathInvoices+"/"+url.PathEscape(id)+"/requote", r))
}

// requestWait is the time that a merchant's wallet may take to make a payment request.
const requestWait = 10 * time.Second

// RequestPayment lets the merchant's wallet make a payment request, which the invoice then has. It returns ErrNotFound or
// ErrUnsupported; a refusal is an *Error.
func (c *Client) RequestPayment(ctx context.Context, id string, r api.NewPaymentRequest) error {
	body, err := json.Marshal(r)
	if err != nil {
		return wrap("request payment", err)
	}
	a, err := c.do(ctx, request{
		method: http.MethodPost, path: api.PathInvoices + "/" + url.PathEscape(id) + "/payment-request", header: jsonHeader(""), body: body,
		chequerScheme: true, wait: requestWait,
	})
	if err == nil && !a.isInvoice(id, &api.Resource{}) {
		err = c.refusal(a)
	}
	return wrap("request payment", err)
}

// SetRefundAddress sets the address to which the shopper wants refunds. It returns ErrNotFound or
// ErrUnsupported; a refusal is an *Error.
func (c *Client) SetRefundAddress(ctx context.Context, id string, r api.RefundRequest) error {
	return wrap("set refund address", c.postAction(ctx, id, api.PathInvoices+"/"+url.PathEscape(id)+"/refund-address", r))
}

// postAction posts an action on an invoice that only Chequer offers.
func (c *Client) postAction(ctx context.Context, id, path string, action any) error {
	a, err := c.post(ctx, path, action, "")
	if err == nil && !a.isInvoice(id, &api.Resource{}) {
		err = c.refusal(a)
	}
	return err
}

// isInvoice reports whether an answer is Chequer's resource of an invoice, and decodes it.
func (a answer) isInvoice(id string, r *api.Resource) bool {
	return a.status == http.StatusOK && decode(a.body, r) == nil && r.ForeignID == id
}
