package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"chequer/internal/api"
)

// CreateInvoice creates an invoice and returns its identifier. A call with the same key and request
// returns the same invoice; with an empty key each call creates a new one. The call is signed by
// the API family's scheme and omits empty fields of our own, so that a service that knows only the
// specification accepts it. A refusal is an *Error.
func (c *Client) CreateInvoice(ctx context.Context, r api.InvoiceRequest, idempotencyKey string) (id string, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("create invoice: %w", err)
	}
	header := map[string]string{"Content-Type": "application/json"}
	if idempotencyKey != "" {
		header[api.HeaderIdempotencyKey] = idempotencyKey
	}
	a, err := c.do(ctx, request{method: http.MethodPost, path: api.PathInvoiceNew, header: header, body: body})
	if err != nil {
		return "", fmt.Errorf("create invoice: %w", err)
	}
	var made api.Invoice
	if a.status/100 != 2 || decode(a.body, &made) != nil || made.ForeignID == "" {
		return "", fmt.Errorf("create invoice: %w", a.failure())
	}
	if err := checkCreated(&made); err != nil {
		return "", fmt.Errorf("create invoice: %w", err)
	}
	if !c.service.isOurs() {
		c.memory.keep(c.now(), made, r, c.offset(a))
	}
	return made.ForeignID, nil
}

// Invoice returns an invoice, or ErrNotFound. From a service that knows only the specification it
// has the fields that plainResource sets.
func (c *Client) Invoice(ctx context.Context, id string) (Snapshot, error) {
	return c.WaitInvoice(ctx, id, "", 0)
}

// WaitInvoice returns an invoice when its ETag differs from the given one. If it does not change
// within wait, at most 30 seconds, it returns ErrNotModified.
func (c *Client) WaitInvoice(ctx context.Context, id, etag string, wait time.Duration) (Snapshot, error) {
	wait = min(wait, maxWait)
	if !c.service.isPlain(c.now()) {
		snapshot, err := c.readOwn(ctx, id, etag, wait)
		if !errors.Is(err, errPlain) {
			return snapshot, wrap("read invoice", err)
		}
		c.service.setPlain(c.now())
	}
	snapshot, err := c.pollPlain(ctx, id, etag, wait)
	return snapshot, wrap("read invoice", err)
}

// maxWait is the longest time that the service waits.
const maxWait = 30 * time.Second

// errPlain means that the service implements only the specification.
var errPlain = errors.New("the service speaks only the specification")

// readOwn reads our own resource. It returns errPlain if the service does not have it.
func (c *Client) readOwn(ctx context.Context, id, etag string, wait time.Duration) (Snapshot, error) {
	r := request{method: http.MethodGet, path: api.PathInvoices + "/" + url.PathEscape(id), own: true, header: map[string]string{}}
	if etag != "" {
		r.header["If-None-Match"] = etag
	}
	if seconds := int(wait / time.Second); seconds > 0 {
		r.header["Prefer"], r.wait = "wait="+strconv.Itoa(seconds), wait
	}
	a, err := c.do(ctx, r)
	if err != nil {
		return Snapshot{}, err
	}
	var resource api.Resource
	switch {
	case a.status == http.StatusNotModified:
		return Snapshot{}, ErrNotModified
	case a.shows(id, &resource):
		if err := checkResource(&resource, id); err != nil {
			return Snapshot{}, err
		}
		c.service.setOurs()
		c.memory.clear()
		return Snapshot{Resource: resource, ETag: checkedTag(a.header.Get("ETag"), resource), Theme: checkedTheme(a.header.Get(api.HeaderTheme))}, nil
	}
	return Snapshot{}, c.refusal(a)
}

// Simulate carries out an action on a test invoice in the simulated network. It returns
// ErrNotFound, or ErrUnsupported if the service has no such network.
func (c *Client) Simulate(ctx context.Context, id string, r api.SimulateRequest) error {
	return wrap("simulate", c.act(ctx, id, api.PathTestInvoices+"/"+url.PathEscape(id)+"/simulate", r))
}

// Requote requests a new price for the amount due, unless there is already a newer quote than the
// given one. It returns ErrNotFound or ErrUnsupported; a refusal is an *Error.
func (c *Client) Requote(ctx context.Context, id string, r api.RequoteRequest) error {
	return wrap("requote", c.act(ctx, id, api.PathInvoices+"/"+url.PathEscape(id)+"/requote", r))
}

// SetRefundAddress sets the address to which the shopper wants refunds. It returns ErrNotFound or
// ErrUnsupported; a refusal is an *Error.
func (c *Client) SetRefundAddress(ctx context.Context, id string, r api.RefundRequest) error {
	return wrap("set refund address", c.act(ctx, id, api.PathInvoices+"/"+url.PathEscape(id)+"/refund-address", r))
}

// act posts an action on an invoice that only this project's service offers.
func (c *Client) act(ctx context.Context, id, path string, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	a, err := c.do(ctx, request{
		method: http.MethodPost, path: path, header: map[string]string{"Content-Type": "application/json"}, body: body, own: true,
	})
	if err == nil && !a.shows(id, &api.Resource{}) {
		err = c.refusal(a)
	}
	if errors.Is(err, errPlain) {
		err = ErrUnsupported
	}
	return err
}

// shows reports whether an answer is our own resource of an invoice, and decodes it.
func (a answer) shows(id string, r *api.Resource) bool {
	return a.status == http.StatusOK && decode(a.body, r) == nil && r.ForeignID == id
}

// refusal returns the error for an answer to a call that only this project's service offers. It
// returns errPlain if the service does not know the call.
func (c *Client) refusal(a answer) error {
	switch {
	case a.isOurs() && a.status == http.StatusNotFound:
		return ErrNotFound
	case !a.isOurs() && !a.isTemporary() && !c.service.isOurs():
		return errPlain
	}
	return a.failure()
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
