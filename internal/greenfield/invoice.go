package greenfield

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// maxOrderID is the largest number of characters of an order ID by which invoices are found. A longer one is only
// echoed.
const maxOrderID = 128

// maxExpiration is the longest time for which a plug-in may hold a price. It is the limit of a volatile coin: a longer
// time would leave out all coins.
const maxExpiration = time.Hour

// invoiceRequest is the body of a request for a new invoice. Fields that this server ignores are not among them.
type invoiceRequest struct {
	Amount   scalar          `json:"amount"`
	Currency scalar          `json:"currency"`
	Metadata json.RawMessage `json:"metadata"`
	Checkout struct {
		RedirectURL       scalar   `json:"redirectURL"`
		RedirectAuto      flag     `json:"redirectAutomatically"`
		ExpirationMinutes scalar   `json:"expirationMinutes"`
		DefaultLanguage   scalar   `json:"defaultLanguage"`
		PaymentMethods    []scalar `json:"paymentMethods"`
	} `json:"checkout"`
}

// createInvoice handles POST stores/{store}/invoices.
func (s *server) createInvoice(c echo.Context, k merchant.Key) error {
	r, err := decode[invoiceRequest](c)
	if err != nil {
		return err
	}
	metadata, orderID, err := parseMetadata(r.Metadata)
	if err != nil {
		return err
	}
	create := invoice.CreateRequest{
		ID: s.Invoices.NewID(), MerchantID: k.MerchantID, Mode: invoice.Mode(k.Mode), Origin: invoice.Origin{Kind: invoice.FromAPI, ID: k.ID},
		ExpiresIn: expiration(r.Checkout.ExpirationMinutes), PluginMetadata: metadata,
	}
	create.Terms.OrderID = orderID
	if language := string(r.Checkout.DefaultLanguage); merchant.CheckLanguage(language) == nil {
		create.Terms.Language = language
	}
	if create.PaymentMethods, err = s.requestedMethods(create.Mode, r.Checkout.PaymentMethods); err != nil {
		return err
	}
	to := returnURL(string(r.Checkout.RedirectURL), create.ID, orderID)
	if create.Terms.URLSuccess, err = merchant.ParsePluginReturnURL(to); err != nil {
		return &fieldFault{Path: "checkout.redirectURL", Message: "The redirect URL " + err.Error()}
	}
	create.Terms.URLFailure, create.Terms.StayOnPage = create.Terms.URLSuccess, !bool(r.Checkout.RedirectAuto)
	inv, err := s.Creator.Create(c.Request().Context(), create, []byte("{}"), func(create *invoice.CreateRequest) (err error) {
		create.Terms.Price, err = s.price(string(r.Amount), string(r.Currency))
		create.Terms.Rules = invoice.DefaultRules(create.Terms.Price.Currency())
		return err
	})
	if err != nil {
		return err
	}
	return s.show(c, k, inv)
}

// price returns the price of an amount, which may have more decimals than the currency: it is rounded half up.
func (s *server) price(amount, currency string) (money.Amount, error) {
	if amount == "" {
		return money.Amount{}, &fieldFault{Path: "amount", Message: "The amount is required: this server creates no invoices without an amount"}
	}
	plain, err := api.Plain(json.Number(strings.TrimSpace(amount)))
	if errors.Is(err, api.ErrNotNumber) {
		plain, err = merchant.ParseAmount(strings.TrimSpace(amount))
	}
	if err != nil {
		return money.Amount{}, &fieldFault{Path: "amount", Message: "The amount " + err.Error()}
	}
	code := strings.ToUpper(strings.TrimSpace(currency))
	if fiat, known := money.Fiat(code); known {
		exact, ok := new(big.Rat).SetString(plain)
		if !ok {
			return money.Amount{}, fmt.Errorf("amount %q", plain)
		}
		plain = money.RoundHalfUp(exact, fiat).String()
	}
	price, err := s.Prices.Parse(plain, code)
	if fault, ok := errors.AsType[*merchant.FieldError](err); ok && fault.Field == "fiat_currency" {
		return price, &fieldFault{Path: "currency", Message: "The currency " + fault.Fault}
	} else if ok {
		return price, &fieldFault{Path: "amount", Message: "The amount " + fault.Fault}
	}
	return price, err
}

// parseMetadata checks the metadata of a request, which are any JSON, and returns their order ID, if they have one by
// which the invoice can be found.
func parseMetadata(raw json.RawMessage) (metadata []byte, orderID string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, "", nil
	}
	if len(raw) > maxMetadata {
		return nil, "", &fieldFault{Path: "metadata", Message: fmt.Sprintf("The metadata must have at most %d bytes", maxMetadata)}
	}
	var known struct {
		OrderID scalar `json:"orderId"`
	}
	err = json.Unmarshal(raw, &known) // an error means that they have no order ID
	if err != nil || !isOrderID(string(known.OrderID)) {
		known.OrderID = ""
	}
	return bytes.Clone(raw), string(known.OrderID), nil
}

// isOrderID reports whether an invoice can be found by a text as its order ID. PostgreSQL stores no zero byte.
func isOrderID(text string) bool {
	return merchant.CheckText(text, maxOrderID) == nil && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// expiration returns the time for which a request holds the price; 0 = the setting of the merchant.
func expiration(minutes scalar) time.Duration {
	whole, _, _ := strings.Cut(string(minutes), ".")
	n, err := strconv.ParseUint(whole, 10, 31)
	if err != nil || n == 0 {
		return 0
	}
	return min(time.Duration(n)*time.Minute, maxExpiration)
}

// requestedMethods returns the codes of the payment methods of a request. Unknown ones are left out.
func (s *server) requestedMethods(mode invoice.Mode, ids []scalar) (codes []string, err error) {
	for _, id := range ids {
		if code, known := s.codeOf(mode, string(id)); known {
			codes = append(codes, code)
		}
	}
	if len(ids) > 0 && len(codes) == 0 {
		return nil, &fieldFault{Path: "checkout.paymentMethods", Message: "The payment methods are not offered by this server"}
	}
	return codes, nil
}

// returnURL returns a redirect URL with the identifiers of the invoice and the order in place of {InvoiceId} and
// {OrderId}, escaped for their part of the URL.
func returnURL(template, invoiceID, orderID string) string {
	fill := func(part, orderID string) string {
		return strings.NewReplacer("{InvoiceId}", invoiceID, "{OrderId}", orderID, "%7BInvoiceId%7D", invoiceID, "%7BOrderId%7D", orderID).Replace(part)
	}
	path, query, hasQuery := strings.Cut(template, "?")
	path = fill(path, url.PathEscape(orderID))
	if !hasQuery {
		return path
	}
	return path + "?" + fill(query, url.QueryEscape(orderID))
}

// idPattern matches an invoice's identifier; other texts are never looked up.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

var errNoInvoice = &refusal{status: http.StatusNotFound, Code: "invoice-not-found", Message: "The invoice was not found"}

// find returns the invoice in the path, which must be one of the store of the key.
func (s *server) find(c echo.Context, k merchant.Key) (*invoice.Invoice, error) {
	id := c.Param("id")
	if !idPattern.MatchString(id) {
		return nil, errNoInvoice
	}
	inv, err := s.Invoices.Invoice(c.Request().Context(), id)
	if err != nil {
		return nil, err
	}
	if inv.MerchantID != k.MerchantID || string(inv.Mode) != string(k.Mode) {
		return nil, errNoInvoice
	}
	return inv, nil
}

// readInvoice handles GET invoices/{id}.
func (s *server) readInvoice(c echo.Context, k merchant.Key) error {
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	return s.show(c, k, inv)
}

// show answers with an invoice.
func (s *server) show(c echo.Context, k merchant.Key, inv *invoice.Invoice) error {
	data, err := s.Data.PluginData(c.Request().Context(), inv.ID)
	if err != nil {
		return err
	}
	body, err := s.view(k, inv, data[inv.ID])
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, body)
}

// setStatus handles POST invoices/{id}/status: the merchant cancels the invoice or, with a key that was made for it,
// accepts the received money as the full price.
func (s *server) setStatus(c echo.Context, k merchant.Key) error {
	r, err := decode[struct {
		Status scalar `json:"status"`
	}](c)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	switch {
	case r.Status == settled && !k.May(merchant.ScopeSettleInvoices):
		return missingPermission(merchant.ScopeSettleInvoices)
	case r.Status == settled:
		inv, err = s.Invoices.Accept(ctx, inv.ID, k.ID, 0)
	case r.Status == invalid:
		inv, err = s.Invoices.Cancel(ctx, inv.ID, 0)
	default:
		return &fieldFault{Path: "status", Message: "The status must be Settled or Invalid"}
	}
	if errors.Is(err, invoice.ErrState) {
		return &fieldFault{Path: "status", Message: "The invoice does not allow this status now"}
	}
	if err != nil {
		return err
	}
	return s.show(c, k, inv)
}

// setMetadata handles PUT invoices/{id}: it replaces the metadata. The order ID by which the invoice is found stays.
func (s *server) setMetadata(c echo.Context, k merchant.Key) error {
	r, err := decode[struct {
		Metadata json.RawMessage `json:"metadata"`
	}](c)
	if err != nil {
		return err
	}
	metadata, _, err := parseMetadata(r.Metadata)
	if err != nil {
		return err
	}
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	if metadata != nil {
		if err := s.Data.SetPluginMetadata(c.Request().Context(), inv.MerchantID, inv.ID, metadata); err != nil {
			return err
		}
	}
	return s.show(c, k, inv)
}

// archiveInvoice handles DELETE invoices/{id}: lists leave the invoice out. It stays payable.
func (s *server) archiveInvoice(c echo.Context, k merchant.Key) error {
	inv, err := s.find(c, k)
	if err != nil {
		return err
	}
	if err := s.Data.SetPluginArchived(c.Request().Context(), inv.MerchantID, inv.ID, s.Now()); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
