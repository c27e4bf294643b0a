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

// orderFaults are the texts of why no invoice could be made.
var orderFaults = map[int]string{
	http.StatusConflict:           "order.running",
	http.StatusTooManyRequests:    "order.many",
	http.StatusServiceUnavailable: "order.away",
}

// unpaidFaults are the texts of why no invoice could be made while many are unpaid, by
// the service's code.
var unpaidFaults = map[string]string{
	api.CodeTooManyUnpaid:        "order.unpaid",
	api.CodeTooManyUnpaidNetwork: "order.unpaid.network",
}

// amountLabels are the texts of the field's label, by currency; else
// form.amount.other.
var amountLabels = map[string]string{"EUR": "form.amount.euro", "USD": "form.amount.dollar"}

// storefront shows the form. It may be kept by the browser, unlike a payment
// page: going back then finds the same token, and sending it again the same
// invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.StorefrontPage(h.form(c, h.reader(c, ""), "", rand.Text()).Storefront))
}

// backToForm is for who looks at the address that the form is sent to.
func (h *Handler) backToForm(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/")))
}

// about is where a shop's products are, or says what this is.
func (h *Handler) about(c echo.Context) error {
	reader := h.reader(c, "")
	if h.sells(c.Request().Context()) {
		return c.Redirect(http.StatusSeeOther, reader.keep(h.path("/shop")))
	}
	page := views.About{Page: h.page(reader, "")}
	h.wearOwn(c.Request().Context(), reader, &page.Page, "store.css")
	page.Title = page.Shop
	h.choice(&page.Page, c.QueryString())
	return render(c, http.StatusOK, views.AboutPage(page))
}

// order makes an invoice of the amount and leads to its page.
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
	form.tell(&request)
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

// readAmount is the amount that was typed, with a dot, or what is wrong with
// it. A thousands mark is refused: read the wrong way it makes another price.
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

// tell writes into a request what the shopper wrote. Here anybody can name any order,
// so it is no order_id: shops believe those.
func (f storefrontForm) tell(r *api.InvoiceRequest) {
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

// formKeys begins the idempotency keys of the storefront. A storefront that runs apart
// signs with a key of the merchant, so its keys must not meet those that the merchant's
// shop chooses.
const formKeys = "storefront-form:"

// create asks for the invoice. The price and the typed words are part of the key: going
// back and changing them makes another invoice, sending the form twice does not.
func (h *Handler) create(ctx context.Context, r api.InvoiceRequest, token string) (string, error) {
	key := formKeys + token + "-" + r.Amount.String() + "-" + r.FiatCurrency
	if len(r.Metadata) > 0 {
		key += "-" + fingerprint("%q", r.Metadata) // sorted by name
	}
	return unlessRunning(ctx, func() (string, error) { return h.config.Client.CreateInvoice(ctx, r, key) })
}

// fingerprint stands for what was typed in an idempotency key.
func fingerprint(format string, typed ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, typed...))
	return hex.EncodeToString(sum[:16])
}

// unlessRunning makes an invoice. While the first of two clicks is under way the
// service answers 409, so the second waits.
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

// refuse shows the form again with what is wrong: at the field when the amount
// is, else above it.
func (h *Handler) refuse(c echo.Context, reader reader, form storefrontForm, status int, problem string) error {
	form.Title = reader.Text("error.title", "Title", form.Title)
	h.blame(c, &form.Form, status, problem)
	return render(c, status, views.StorefrontPage(form.Storefront))
}

// refused is what a shopper is told when the service makes no invoice, and the
// status that goes with it.
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
		return status, r.said(refusal, r.Text("amount.refused"))
	case refusal.Code == api.CodeNoWallet:
		return status, r.Text("order.closed")
	case refusal.Code == api.CodeNoRate:
		return status, r.Text("order.unpriced")
	case !known:
		return status, r.Text("order.broken")
	}
	return status, r.Text(id)
}

// blame writes into a form what is wrong: at the amount when it is that, else above.
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

// storefrontForm is the form for an open amount, with what was typed.
type storefrontForm struct{ views.Storefront }

func (h *Handler) form(c echo.Context, r reader, amount, token string) storefrontForm {
	form := newForm(r, h.config.Currency, amount, token)
	form.Action = r.keep(h.path("/order"))
	page := views.Storefront{Page: h.page(r, ""), Form: form, Demo: h.config.Demo}
	h.wearOwn(c.Request().Context(), r, &page.Page, "store.css")
	page.Title = r.Text("pay.title", "Shop", page.Shop)
	h.choice(&page.Page, c.QueryString())
	offers, err := h.config.Client.ReadProducts(c.Request().Context(), api.ProductsRequest{})
	if err == nil && len(offers.Products) > 0 {
		page.Products = views.Link{Text: r.Text("sale.see"), URL: r.keep(h.path("/shop"))}
	}
	if errors.Is(err, client.ErrUnsupported) { // such a service takes no words of ours
		return storefrontForm{page}
	}
	reference, note := tidy(c.FormValue(api.MetadataOrderReference), false), tidy(c.FormValue(api.MetadataNote), true)
	page.Asked = []views.TextField{
		{Name: api.MetadataOrderReference, Label: r.Text("sale.reference.optional"), Value: reference, Error: r.tooLong(reference, "sale.reference.long", api.MaxShopperOrderID)},
		{Name: api.MetadataNote, Label: r.Text("sale.note.optional"), Value: note, Lines: true, Error: r.tooLong(note, "sale.note.long", api.MaxShopperNote)},
	}
	return storefrontForm{page}
}

// tooLong is a text for words of more than so many characters; empty for others.
func (r reader) tooLong(words, id string, most int) string {
	if utf8.RuneCountInString(words) <= most {
		return ""
	}
	return r.Text(id, "Number", strconv.Itoa(most))
}

// newForm is a form for an amount in a currency, as it was typed.
func newForm(r reader, currency, amount, token string) views.Form {
	label := r.Text("form.amount.other", "Currency", currency)
	if id, known := amountLabels[currency]; known {
		label = r.Text(id)
	}
	return views.Form{Token: token, Amount: amount, Label: label, Sign: r.FiatSign(currency)}
}

// pause waits, or returns the context's error when it ends first.
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
