package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"chequer/internal/api"
)

// Specified is an invoice in the form of the specification, which every service of the API family
// returns.
type Specified struct {
	Invoice api.Invoice
	Header  http.Header // of the answer
}

// CreateSpecified creates an invoice, as CreateInvoice does, and returns the whole answer.
func (c *Client) CreateSpecified(ctx context.Context, r api.InvoiceRequest, idempotencyKey string) (Specified, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Specified{}, wrap("create invoice", err)
	}
	a, err := c.do(ctx, request{method: http.MethodPost, path: api.PathInvoiceNew, header: jsonHeader(idempotencyKey), body: body})
	if err != nil {
		return Specified{}, wrap("create invoice", err)
	}
	created := Specified{Header: a.header}
	if a.status/100 != 2 || decode(a.body, &created.Invoice) != nil || created.Invoice.ForeignID == "" {
		return Specified{}, wrap("create invoice", a.failure())
	}
	return created, nil
}

// ReadSpecified reads an invoice by the call of the specification. A service may refuse this call, with
// an *Error of any status.
func (c *Client) ReadSpecified(ctx context.Context, id string) (Specified, error) {
	a, err := c.do(ctx, request{method: http.MethodGet, path: api.PathInvoiceStatus + "?id=" + url.QueryEscape(id)})
	if err != nil {
		return Specified{}, wrap("read invoice", err)
	}
	read := Specified{Header: a.header}
	if a.status != http.StatusOK || decode(a.body, &read.Invoice) != nil || read.Invoice.ForeignID != id {
		return Specified{}, wrap("read invoice", a.failure())
	}
	return read, nil
}
