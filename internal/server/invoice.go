package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// creationTimeout bounds the time that a creation waits for storage, which another program may keep
// locked. The invoice may be created nevertheless, so the caller must repeat the request with the
// same idempotency key.
const creationTimeout = 5 * time.Second

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

// create creates an invoice once per idempotency key. A repeated request gets the same invoice before
// any other check, because it has the same nonce, and rates and settings may have changed since.
func (s *server) create(ctx context.Context, k call, r invoice.CreateRequest, p requestedPrice, class limitClass) (*invoice.Invoice, error) {
	r.UnpaidLimits = s.unpaidLimits(ctx, class, k)
	return s.createOnce(ctx, k, r, func(r *invoice.CreateRequest) error { return s.setPrice(p, &r.Terms) })
}

// createOnce creates an invoice once per idempotency key, within creationTimeout. If no invoice has the key
// yet, it calls complete, which sets the remaining terms of the request.
func (s *server) createOnce(ctx context.Context, k call, r invoice.CreateRequest, complete func(*invoice.CreateRequest) error) (*invoice.Invoice, error) {
	limited, cancel := context.WithTimeout(ctx, creationTimeout)
	defer cancel()
	inv, err := s.createNow(limited, k, r, complete)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %w", invoice.ErrUnavailable, err)
	}
	return inv, err
}

// createNow is createOnce without a timeout of its own.
func (s *server) createNow(ctx context.Context, k call, r invoice.CreateRequest, complete func(*invoice.CreateRequest) error) (*invoice.Invoice, error) {
	var err error
	if r.BodyHash, err = bodyHash(k.body); err != nil {
		return nil, err
	}
	done, err := s.running.reserve(r.MerchantID, r.Key)
	if err != nil {
		return nil, err
	}
	defer done()
	if !r.Key.IsZero() {
		inv, err := s.Invoices.Replay(ctx, r.MerchantID, r.Key, r.BodyHash)
		if !errors.Is(err, invoice.ErrNotFound) {
			return inv, err
		}
	}
	if err := complete(&r); err != nil {
		return nil, err
	}
	if err := s.addMerchant(ctx, &r); err != nil {
		return nil, err
	}
	r.Nonce = invoice.Nonce{Key: k.key.ID, Value: k.nonce, TTL: nonceTTL}
	inv, err := s.Invoices.Create(ctx, r)
	switch {
	case errors.Is(err, invoice.ErrNonceUsed):
		return nil, errBadNonce
	case err != nil:
		return nil, err
	}
	select {
	case s.Created <- inv.ID:
	default: // the channel is only a hint
	}
	return inv, nil
}

// addMerchant adds the merchant's data to the request: the name that the shopper sees, the terms of
// sale, the payment settings and the wallets.
func (s *server) addMerchant(ctx context.Context, r *invoice.CreateRequest) error {
	m, err := s.Merchants.Merchant(ctx, r.MerchantID)
	if err != nil {
		return fmt.Errorf("merchant of invoice: %w", err)
	}
	wallets, err := s.Merchants.Wallets(ctx, r.MerchantID, merchant.Mode(r.Mode))
	if err != nil {
		return fmt.Errorf("wallets of invoice: %w", err)
	}
	if r.Terms.Sale, err = s.saleTerms(ctx, r.MerchantID, r.Mode); err != nil {
		return err
	}
	settings, err := s.Overrides.Effective(m.Choices)
	if err != nil {
		return fmt.Errorf("payment settings of merchant %s: %w", m.ID, err)
	}
	r.Terms.Merchant = m.Name
	r.Wallets = wire.InvoiceWallets(wallets)
	applySettings(settings, r)
	return nil
}

// applySettings adds the merchant's payment settings to the request, where it does not set other terms.
func applySettings(p merchant.PaymentSettings, r *invoice.CreateRequest) {
	if len(r.DefaultMethods) == 0 {
		r.DefaultMethods = p.Methods.Codes()
	}
	if r.ExpiresIn == 0 {
		r.ExpiresIn = p.QuoteTime
	}
	r.Tolerance, r.DepthSteps = invoice.Tolerance(p.Tolerance), p.Confirmations.Steps()
	r.Terms.AllowPaidExpired = p.LatePayments != merchant.LateDecide
	if r.AllowPaidExpired != nil {
		r.Terms.AllowPaidExpired = *r.AllowPaidExpired
	}
	if p.LatePayments == merchant.LateAccept {
		r.Terms.Rules.LatePercent = 0
	}
}

// saleTerms returns the terms of sale of a new invoice. No coins are sold for test money or test
// networks, or while the merchant has no active exchange account.
func (s *server) saleTerms(ctx context.Context, merchantID string, mode invoice.Mode) (invoice.SaleTerms, error) {
	if mode != invoice.Live || s.Worthless {
		return invoice.SaleTerms{}, nil
	}
	a, err := s.Merchants.Exchange(ctx, merchantID)
	if errors.Is(err, merchant.ErrNotFound) || err == nil && !a.Active {
		return invoice.SaleTerms{}, nil
	}
	if err != nil {
		return invoice.SaleTerms{}, fmt.Errorf("exchange account of invoice: %w", err)
	}
	smallest, err := money.Parse(a.Smallest, invoice.SaleEuro)
	if err != nil {
		return invoice.SaleTerms{}, fmt.Errorf("smallest sale of invoice: %w", err)
	}
	return invoice.SaleTerms{Coins: slices.Clone(a.Coins), Smallest: smallest, Slippage: a.Slippage}, nil
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
	s.setInvoiceHeaders(c, inv, tagOf(inv, nil))
	setPaidHeaders(c.Response().Header(), inv)
	return writeJSON(c, http.StatusOK, wire.Invoice(inv))
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
