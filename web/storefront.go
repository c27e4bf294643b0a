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

// orderFaults is why no invoice could be made, in words.
var orderFaults = map[int]string{
	http.StatusConflict:           "The first try is still under way. Wait a moment, then press the button again.",
	http.StatusTooManyRequests:    "Too many tries at once. Wait half a minute, then press the button again.",
	http.StatusServiceUnavailable: "There are no prices at the moment, and nothing was ordered. Try again in a minute.",
}

// unitNames are what an amount is an amount of, in the label of the field.
var unitNames = map[string]string{"EUR": "euros", "USD": "US dollars"}

// storefront shows the form. It may be kept by the browser, unlike a payment
// page: going back then finds the same token, and sending it again the same
// invoice.
func (h *Handler) storefront(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return render(c, http.StatusOK, views.StorefrontPage(h.form(c.Request().Context(), "", rand.Text())))
}

// backToForm is for who looks at the address that the form is sent to.
func (h *Handler) backToForm(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, h.path("/"))
}

func (h *Handler) about(c echo.Context) error {
	page := h.page("")
	h.wearOwn(c.Request().Context(), &page, "store.css")
	page.Title = page.Shop
	return render(c, http.StatusOK, views.AboutPage(views.About{Page: page}))
}

// order makes an invoice of the amount and leads to its page.
func (h *Handler) order(c echo.Context) error {
	typed, token := strings.TrimSpace(c.FormValue("amount")), c.FormValue("token")
	if !tokenForm.MatchString(token) {
		token = rand.Text()
	}
	form := h.form(c.Request().Context(), typed, token)
	amount, problem := readAmount(typed)
	if problem != "" {
		return h.refuse(c, form, http.StatusUnprocessableEntity, problem)
	}
	id, err := h.create(c.Request().Context(), amount, token)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return h.refuse(c, form, refusedStatus(refused.Status), refused.Message)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, h.path("/invoice/"+id))
}

// readAmount is the amount that was typed, with a dot, or what is wrong with
// it. A thousands mark is refused: read the wrong way it makes another price.
func readAmount(typed string) (amount, problem string) {
	if typed == "" {
		return "", "Enter an amount, like 12.50"
	}
	if !amountForm.MatchString(typed) {
		return "", "Enter the amount in figures, like 12.50 or 12,50, without a mark for thousands"
	}
	amount = strings.Replace(typed, ",", ".", 1)
	if strings.Trim(amount, "0.") == "" {
		return "", "Enter an amount above zero"
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
func (h *Handler) refuse(c echo.Context, form views.Storefront, status int, problem string) error {
	form.Title = "Error: " + form.Title
	h.blame(c, &form.Form, status, problem)
	return render(c, status, views.StorefrontPage(form))
}

// blame writes into a form what is wrong.
func (h *Handler) blame(c echo.Context, form *views.Form, status int, problem string) {
	if status == http.StatusUnprocessableEntity {
		form.Error = problem
	} else if form.Fault = orderFaults[status]; form.Fault == "" {
		form.Fault = "It is our fault, and nothing was ordered. Try again in a minute."
	}
	if seconds := retryAfter[status]; seconds > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if status >= 500 {
		h.config.Logger.Warn("invoice not created", "status", status, "problem", problem)
	}
}

func (h *Handler) form(ctx context.Context, amount, token string) views.Storefront {
	form := newForm(h.config.Currency, amount, token)
	form.Action = h.path("/order")
	page := h.page("")
	h.wearOwn(ctx, &page, "store.css")
	page.Title = "Pay " + page.Shop
	return views.Storefront{Page: page, Form: form, Demo: h.config.Demo}
}

// newForm is a form for an amount in a currency, as it was typed.
func newForm(currency, amount, token string) views.Form {
	unit := unitNames[currency]
	if unit == "" {
		unit = currency
	}
	return views.Form{Token: token, Amount: amount, Unit: unit, Sign: views.FiatSign(currency)}
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
