package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

// retryAfter is the value of the Retry-After header in seconds, by status.
var retryAfter = map[int]int{
	http.StatusTooManyRequests:    30,
	http.StatusServiceUnavailable: 10,
}

// fault holds the keys of the texts of an error page.
type fault struct {
	heading, text string
}

// faults maps statuses to the texts of their error pages.
var faults = map[int]fault{
	http.StatusForbidden:             {"fault.foreign", "fault.foreign.text"},
	http.StatusNotFound:              {"fault.missing", "fault.missing.text"},
	http.StatusMethodNotAllowed:      {"fault.method", "fault.method.text"},
	http.StatusRequestEntityTooLarge: {"fault.long", "fault.long.text"},
	http.StatusConflict:              {"fault.changed", "fault.changed.text"},
	http.StatusUnsupportedMediaType:  {"fault.unclear", "fault.unclear.text"},
	http.StatusUnprocessableEntity:   {"fault.unclear", "fault.unclear.text"},
	http.StatusTooManyRequests:       {"fault.many", "fault.many.text"},
	http.StatusInternalServerError:   {"fault.broken", "fault.broken.text"},
	http.StatusServiceUnavailable:    {"fault.away", "fault.away.text"},
}

// fail is the only place that turns errors into answers. Internal errors go to the log only,
// and without the address, which is a secret.
func (h *Handler) fail(err error, c echo.Context) {
	if errors.Is(c.Request().Context().Err(), context.Canceled) {
		return // the client has closed the connection
	}
	status := statusOf(err)
	if status >= 500 {
		h.config.Logger.ErrorContext(c.Request().Context(), "page failed", "route", c.Path(), "error", err)
	}
	if c.Response().Committed {
		return
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	setRetryAfter(c.Response().Header(), status)
	if isFramed(c) {
		if snapshot, err := h.invoice(c); err == nil {
			h.allowShop(c, &present.Frame{}, snapshot) // the page needs no script for a frame
		}
	}
	if err := render(c, status, views.ErrorPage(h.errorPage(c, err, status))); err != nil {
		h.config.Logger.ErrorContext(c.Request().Context(), "error page failed", "error", err)
	}
}

// setRetryAfter sets the Retry-After header for statuses that have one.
func setRetryAfter(header http.Header, status int) {
	if seconds := retryAfter[status]; seconds > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds))
	}
}

// errorPage returns the page for an error.
func (h *Handler) errorPage(c echo.Context, err error, status int) views.Error {
	texts, ok := faults[status]
	if !ok {
		texts = faults[http.StatusInternalServerError]
	}
	var detail string
	if refusal, ok := errors.AsType[*pageRefusal](err); ok {
		texts, detail = refusal.texts, refusal.detail
	}
	r := h.reader(c, "")
	text := r.Text(texts.text, "Detail", detail)
	if apiErr, ok := errors.AsType[*client.Error](err); ok && status < 500 && status != http.StatusNotFound {
		text = r.RefusalText(apiErr, text)
	}
	return h.shopFrame(c, r).Error(r.Text(texts.heading), text, h.errorAction(c, r, status))
}

// errorAction returns the link of an error page: to the invoice, to the shop's products or to the storefront;
// empty if there is none of them.
func (h *Handler) errorAction(c echo.Context, r present.Reader, status int) views.Link {
	if id, err := invoiceID(c); err == nil && status != http.StatusNotFound {
		return views.Link{Text: r.Text("fault.payment"), URL: r.WithLanguage(present.WithModal(h.path("/invoice/"+id), isModal(c)))}
	}
	if c.Param("slug") != "" && strings.Contains(c.Path(), "/shop/") {
		if hasProducts, _ := h.askProducts(c); hasProducts {
			return views.Link{Text: r.Text("product.see"), URL: r.WithLanguage(h.path(h.requestStorefront(c).root + "/shop"))}
		}
	}
	if f := h.shopFrame(c, r); f.Storefront {
		return views.Link{Text: r.Text("fault.start"), URL: r.WithLanguage(f.ShopPath(""))}
	}
	return views.Link{}
}

// statusOf returns the HTTP status of the answer for an error.
func statusOf(err error) int {
	if refusal, ok := errors.AsType[*pageRefusal](err); ok {
		return refusal.status
	}
	if httpErr, ok := errors.AsType[*echo.HTTPError](err); ok {
		return httpErr.Code
	}
	if apiErr, ok := errors.AsType[*client.Error](err); ok {
		if apiErr.Code == "live_invoice" { // a live invoice has no test tools
			return http.StatusNotFound
		}
		return pageStatus(apiErr.Status)
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrInvalidAnswer) {
		return http.StatusServiceUnavailable
	}
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrUnsupported) {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// pageStatus returns the status of the page for an error status of the service. It keeps the statuses
// that a shopper can act on. Other statuses, such as that of a refused API key, are internal errors.
func pageStatus(status int) int {
	switch status {
	case http.StatusBadRequest:
		return http.StatusUnprocessableEntity
	case http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity,
		http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return status
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
