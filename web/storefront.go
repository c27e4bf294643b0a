package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

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
	http.StatusServiceUnavailable: "order.unpriced",
}

// amountLabels are the texts of the field's label, by currency; else
// form.amount.other.
var amountLabels = map[string]string{"EUR": "form.amount.euro", "USD": "form.amount.dollar"}

// storefront shows the form. It may be kept by the browser, unlike a payment
// page: going back then finds the same token, and sending it again the same
// invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.StorefrontPage(h.form(c, h.reader(c, ""), "", rand.Text())))
}

// backToForm is for who looks at the address that the form is sent to.
func (h *Handler) backToForm(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.reader(c, "").keep(h.path("/")))
}

func (h *Handler) about(c echo.Context) error {
	reader := h.reader(c, "")
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
	id, err := h.create(c.Request().Context(), amount, token)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return h.refuse(c, reader, form, refusedStatus(refused.Status), reader.said(refused, reader.Text("amount.refused")))
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

// create asks for the invoice. The amount is part of the key: going back and
// changing it makes another invoice, sending it twice does not.
func (h *Handler) create(ctx context.Context, amount, token string) (string, error) {
	request := api.InvoiceRequest{Amount: json.Number(amount), FiatCurrency: h.config.Currency}
	return unlessRunning(ctx, func() (string, error) { return h.config.Client.CreateInvoice(ctx, request, token+"-"+amount) })
}

// unlessRunning makes an invoice. While the first of two clicks is under way the
// service answers 409, so the second waits.
func unlessRunning(ctx context.Context, create func() (string, error)) (string, error) {
	for try := 0; ; try++ {
		id, err := create()
		refused, ok := errors.AsType[*client.Error](err)
		if !ok || refused.Status != http.StatusConflict || try == 4 {
			return id, err
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// refuse shows the form again with what is wrong: at the field when the amount
// is, else above it.
func (h *Handler) refuse(c echo.Context, reader reader, form views.Storefront, status int, problem string) error {
	form.Title = reader.Text("error.title", "Title", form.Title)
	h.blame(c, reader, &form.Form, status, problem)
	return render(c, status, views.StorefrontPage(form))
}

// blame writes into a form what is wrong.
func (h *Handler) blame(c echo.Context, reader reader, form *views.Form, status int, problem string) {
	if status == http.StatusUnprocessableEntity {
		form.Error = problem
	} else if id, known := orderFaults[status]; known {
		form.Fault = reader.Text(id)
	} else {
		form.Fault = reader.Text("order.broken")
	}
	if seconds := retryAfter[status]; seconds > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if status >= 500 {
		h.config.Logger.Warn("invoice not created", "status", status, "problem", problem)
	}
}

func (h *Handler) form(c echo.Context, r reader, amount, token string) views.Storefront {
	form := newForm(r, h.config.Currency, amount, token)
	form.Action = r.keep(h.path("/order"))
	page := h.page(r, "")
	h.wearOwn(c.Request().Context(), r, &page, "store.css")
	page.Title = r.Text("pay.title", "Shop", page.Shop)
	h.choice(&page, c.QueryString())
	return views.Storefront{Page: page, Form: form, Demo: h.config.Demo}
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
