package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
)

var (
	amountForm = regexp.MustCompile(`^[0-9]{1,7}([.,][0-9]{1,2})?$`)
	tokenForm  = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)
)

// orderFaults maps statuses to the texts that say why no invoice was created.
var orderFaults = map[int]string{
	http.StatusConflict:           "order.running",
	http.StatusTooManyRequests:    "order.many",
	http.StatusServiceUnavailable: "order.away",
}

// unpaidFaults maps the service's error codes for limits of unpaid invoices to the texts that say why
// no invoice was created.
var unpaidFaults = map[string]string{
	api.CodeTooManyUnpaid:        "order.unpaid",
	api.CodeTooManyUnpaidNetwork: "order.unpaid.network",
}

// amountLabels maps currencies to the text of the field's label. The text for other currencies is
// form.amount.other.
var amountLabels = map[string]string{"EUR": "form.amount.euro", "USD": "form.amount.dollar"}

// storefront shows the form. Unlike a payment page, the browser may cache it privately: going back
// then shows the same token, and sending the form again leads to the same invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.StorefrontPage(h.form(c, h.reader(c, ""), "", rand.Text()).Storefront))
}

// backToForm redirects a GET of the address that the form posts to, to the storefront.
func (h *Handler) backToForm(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/")))
}

// about redirects to the shop's products, or shows a page that says what this site is.
func (h *Handler) about(c echo.Context) error {
	reader := h.reader(c, "")
	if h.sells(c.Request().Context()) {
		return c.Redirect(http.StatusSeeOther, reader.keep(h.path("/shop")))
	}
	page := views.About{Page: h.page(reader, "")}
	h.applyOwnTheme(c.Request().Context(), reader, &page.Page, "store.css")
	page.Title = page.Shop
	h.choice(&page.Page, c.QueryString())
	return render(c, http.StatusOK, views.AboutPage(page))
}

// order creates an invoice for the amount and redirects to its page.
func (h *Handler) order(c echo.Context) error {
	typed, token := strings.TrimSpace(c.FormValue("amount")), c.FormValue("token")
	if !tokenForm.MatchString(token) {
		token = rand.Text()
	}
	reader := h.reader(c, "")
	form := h.form(c, reader, typed, token)
	amount, problem := readAmount(reader, typed)
	if problem != "" {
		return h.refuse(c, reader, form, http.StatusUnprocessableEntity, problem)
	}
	if len(form.Faults()) > 0 {
		form.Title = reader.Text("error.title", "Title", form.Title)
		return render(c, http.StatusUnprocessableEntity, views.StorefrontPage(form.Storefront))
	}
	request := api.InvoiceRequest{Amount: json.Number(amount), FiatCurrency: h.config.Currency}
	form.addTo(&request)
	id, err := h.create(c.Request().Context(), request, token)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		status, problem := h.refused(reader, refused)
		return h.refuse(c, reader, form, status, problem)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, reader.keep(h.path("/invoice/"+id)))
}

// readAmount returns the typed amount with a decimal point, or the problem with it. It refuses a
// thousands separator: read as a decimal point it would make another price.
func readAmount(r reader, typed string) (amount, problem string) {
	if typed == "" {
		return "", r.Text("amount.none", "Amount", r.Decimal("12.50"))
	}
	if !amountForm.MatchString(typed) {
		return "", r.Text("amount.figures", "Amount", "12.50", "Other", "12,50")
	}
	amount = strings.Replace(typed, ",", ".", 1)
	if strings.Trim(amount, "0.") == "" {
		return "", r.Text("amount.zero")
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	amount = strings.TrimLeft(whole, "0")
	if amount == "" {
		amount = "0"
	}
	if fraction != "" {
		amount += "." + fraction
	}
	return amount, ""
}

// addTo writes the typed reference and note into a request. The reference does not become the
// order_id, which shops trust: any shopper can type any order here.
func (f storefrontForm) addTo(r *api.InvoiceRequest) {
	for _, field := range f.Asked {
		if field.Value == "" {
			continue
		}
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		r.Metadata[field.Name] = field.Value
		if field.Name == api.MetadataOrderReference {
			r.Description = field.Value
		}
	}
}

// formKeys is the prefix of the storefront's idempotency keys. A storefront in a process of its own
// signs with a key of the merchant, so its idempotency keys must differ from those that the
// merchant's shop chooses.
const formKeys = "storefront-form:"

// create asks for the invoice. The idempotency key contains the price and the typed texts: going back
// and changing them creates another invoice, sending the form twice does not.
func (h *Handler) create(ctx context.Context, r api.InvoiceRequest, token string) (string, error) {
	key := formKeys + token + "-" + r.Amount.String() + "-" + r.FiatCurrency
	if len(r.Metadata) > 0 {
		key += "-" + fingerprint("%q", r.Metadata) // fmt sorts a map by its keys
	}
	return unlessRunning(ctx, func() (string, error) { return h.config.Client.CreateInvoice(ctx, r, key) })
}

// fingerprint returns a hash of the typed values for an idempotency key.
func fingerprint(format string, typed ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, typed...))
	return hex.EncodeToString(sum[:16])
}

// unlessRunning creates an invoice. While the service handles the first of two clicks it answers
// 409, so the second click tries again, up to five times.
func unlessRunning(ctx context.Context, create func() (string, error)) (string, error) {
	for try := 0; ; try++ {
		id, err := create()
		refused, ok := errors.AsType[*client.Error](err)
		if !ok || refused.Status != http.StatusConflict || refused.Code == api.CodeLinkOrderPaid || refused.Code == api.CodePriceChanged || try == 4 {
			return id, err
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// refuse renders the form again with the problem.
func (h *Handler) refuse(c echo.Context, reader reader, form storefrontForm, status int, problem string) error {
	form.Title = reader.Text("error.title", "Title", form.Title)
	h.blame(c, &form.Form, status, problem)
	return render(c, status, views.StorefrontPage(form.Storefront))
}

// refused returns the text for the shopper when the service creates no invoice, and the status of
// the page.
func (h *Handler) refused(r reader, refusal *client.Error) (status int, problem string) {
	status = refusedStatus(refusal.Status)
	if status >= 500 {
		h.config.Logger.Warn("invoice not created", "status", status, "code", refusal.Code, "problem", refusal.Message)
	}
	id, known := unpaidFaults[refusal.Code]
	if !known {
		id, known = orderFaults[status]
	}
	switch {
	case status == http.StatusUnprocessableEntity:
		return status, r.refusalText(refusal, r.Text("amount.refused"))
	case refusal.Code == api.CodeNoWallet:
		return status, r.Text("order.closed")
	case refusal.Code == api.CodeNoRate:
		return status, r.Text("order.unpriced")
	case !known:
		return status, r.Text("order.broken")
	}
	return status, r.Text(id)
}

// blame writes a problem into a form: at the amount if the status is 422, otherwise above the form.
func (h *Handler) blame(c echo.Context, form *views.Form, status int, problem string) {
	if status == http.StatusUnprocessableEntity {
		form.Error = problem
	} else {
		form.Fault = problem
	}
	if seconds := retryAfter[status]; seconds > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	}
}

// storefrontForm is the form for an open amount, with the typed values.
type storefrontForm struct{ views.Storefront }

func (h *Handler) form(c echo.Context, r reader, amount, token string) storefrontForm {
	form := newForm(r, h.config.Currency, amount, token)
	form.Action = r.keep(h.path("/order"))
	page := views.Storefront{Page: h.page(r, ""), Form: form, Demo: h.config.Demo}
	h.applyOwnTheme(c.Request().Context(), r, &page.Page, "store.css")
	page.Title = r.Text("pay.title", "Shop", page.Shop)
	h.choice(&page.Page, c.QueryString())
	offers, err := h.config.Client.ReadProducts(c.Request().Context(), api.ProductsRequest{})
	if err == nil && len(offers.Products) > 0 {
		page.Products = views.Link{Text: r.Text("sale.see"), URL: r.keep(h.path("/shop"))}
	}
	if errors.Is(err, client.ErrUnsupported) { // such a service has no metadata
		return storefrontForm{page}
	}
	reference, note := tidy(c.FormValue(api.MetadataOrderReference), false), tidy(c.FormValue(api.MetadataNote), true)
	page.Asked = []views.TextField{
		{Name: api.MetadataOrderReference, Label: r.Text("sale.reference.optional"), Value: reference, Error: r.tooLong(reference, "sale.reference.long", api.MaxShopperOrderID)},
		{Name: api.MetadataNote, Label: r.Text("sale.note.optional"), Value: note, Lines: true, Error: r.tooLong(note, "sale.note.long", api.MaxShopperNote)},
	}
	return storefrontForm{page}
}

// tooLong returns the text with the given key if words has more than most characters; otherwise it
// is empty.
func (r reader) tooLong(words, id string, most int) string {
	if utf8.RuneCountInString(words) <= most {
		return ""
	}
	return r.Text(id, "Number", strconv.Itoa(most))
}

// newForm returns a form for an amount in a currency, with the typed amount.
func newForm(r reader, currency, amount, token string) views.Form {
	label := r.Text("form.amount.other", "Currency", currency)
	if id, known := amountLabels[currency]; known {
		label = r.Text(id)
	}
	return views.Form{Token: token, Amount: amount, Label: label, Sign: r.FiatSign(currency)}
}

// pause waits, or returns the context's error if the context ends first.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
