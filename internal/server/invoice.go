package server

import (
	"context"
	"net/http"
	"regexp"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// createInvoice handles POST invoice/new.
func (s *server) createInvoice(c echo.Context, k call) error {
	r, err := request[api.InvoiceRequest](c, k)
	if err != nil {
		return err
	}
	token, err := idempotencyKey(c.Request())
	if err != nil {
		return err
	}
	create := wire.CreateRequest(r)
	create.MerchantID, create.Mode = k.key.MerchantID, invoice.Mode(k.key.Mode)
	kind, class := apiKeys, signed
	create.Origin = invoice.Origin{Kind: invoice.FromAPI, ID: k.key.ID}
	if k.key.Builtin { // the key of the storefront
		kind, class = storefrontKeys, openForm
		create.Origin = invoice.Origin{Kind: invoice.FromStorefront}
	}
	create.Key = namespaced(kind, create.Mode, token)
	inv, err := s.create(c.Request().Context(), k, create, requestedPrice{r.Amount.String(), r.FiatCurrency}, class)
	if err != nil {
		return err
	}
	// A repeated request is answered with the invoice in its current state.
	if status := inv.State.Status; status == invoice.Expired || status == invoice.Declined {
		c.Response().Header().Set(api.HeaderRetry, api.RetryNewKey)
	}
	return s.writeInvoice(c, inv)
}

// create creates an invoice once per idempotency key. A repeated request has the same nonce.
func (s *server) create(ctx context.Context, k call, r invoice.CreateRequest, p requestedPrice, class limitClass) (*invoice.Invoice, error) {
	r.UnpaidLimits = s.unpaidLimits(ctx, class, k)
	return s.createOnce(ctx, k, r, func(r *invoice.CreateRequest) error { return s.setPrice(p, &r.Terms) })
}

// createOnce creates an invoice once per idempotency key, within creationTimeout. If no invoice has the key
// yet, it calls complete, which sets the remaining terms of the request.
func (s *server) createOnce(ctx context.Context, k call, r invoice.CreateRequest, complete func(*invoice.CreateRequest) error) (*invoice.Invoice, error) {
	r.Nonce = invoice.Nonce{Key: k.key.ID, Value: k.nonce, TTL: nonceTTL}
	return s.Creator.Create(ctx, r, k.body, complete)
}

// requestedPrice is a price as the request writes it: plain digits and a currency's code.
type requestedPrice struct{ digits, code string }

// setPrice parses the requested price and sets the terms' price and rules.
func (s *server) setPrice(p requestedPrice, t *invoice.Terms) (err error) {
	if t.Price, err = s.Prices.Parse(p.digits, p.code); err != nil {
		return err
	}
	t.Rules = invoice.DefaultRules(t.Price.Currency())
	return nil
}

// idPattern matches an invoice's identifier; other texts are never looked up.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// status handles GET invoice/status: the specification's answer for the newest quote. It ignores the
// request's headers, because some clients send none.
func (s *server) status(c echo.Context) error {
	id := c.QueryParam("id")
	if !idPattern.MatchString(id) {
		return errNoInvoice
	}
	inv, err := s.Invoices.Invoice(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return s.writeInvoice(c, inv)
}

// writeInvoice writes the specification's view of an invoice in its current state.
func (s *server) writeInvoice(c echo.Context, inv *invoice.Invoice) error {
	s.setInvoiceHeaders(c, inv, s.tagOf(inv, nil))
	setPaidHeaders(c.Response().Header(), inv)
	return writeJSON(c, http.StatusOK, wire.Invoice(s.Invoices, inv))
}

// setInvoiceHeaders sets the headers that name the version of the invoice and the address of its page.
func (s *server) setInvoiceHeaders(c echo.Context, inv *invoice.Invoice, etag string) {
	header := c.Response().Header()
	header.Set("Location", s.BaseURL+"/invoice/"+inv.ID)
	header.Set("ETag", etag)
}

// setPaidHeaders sets the headers that describe the payment, for which the specification's answer has no
// field.
func setPaidHeaders(header http.Header, inv *invoice.Invoice) {
	if inv.State.Status != invoice.Paid {
		return
	}
	header.Set(api.HeaderPaidAt, wire.Time(inv.State.PaidAt))
	header.Set(api.HeaderPaidCurrency, inv.State.PaidAsset)
	header.Set(api.HeaderPaidTx, inv.State.PaidTx)
}
