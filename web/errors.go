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
)

// retryAfter is how many seconds a client should wait, by status.
var retryAfter = map[int]int{
	http.StatusTooManyRequests:    30,
	http.StatusServiceUnavailable: 10,
}

// fault is an answer to a request that could not be served, in words.
type fault struct {
	heading, text string
}

var faults = map[int]fault{
	http.StatusForbidden:             {"This form came from another site", "Open the page itself and send the form from there."},
	http.StatusNotFound:              {"This page does not exist", "Check that you have the whole link. If you came from a shop, go back there and start again."},
	http.StatusMethodNotAllowed:      {"This page cannot do that", "Go back and use the buttons of the page."},
	http.StatusRequestEntityTooLarge: {"That was too long", "Go back and send less."},
	http.StatusConflict:              {"This does not fit any more", "Something changed in the meantime. Go back and look at the page again."},
	http.StatusUnprocessableEntity:   {"This was not understood", "Go back and use the buttons of the page."},
	http.StatusTooManyRequests:       {"Too many tries", "Nothing is wrong with your payment. Wait half a minute, then try again."},
	http.StatusInternalServerError:   {"Something went wrong", "It is our fault. What you have paid is not lost. Try again in a minute."},
	http.StatusServiceUnavailable:    {"Not available for a moment", "What you have paid is not lost. Try again in a minute."},
}

// fail is the one place that turns errors into answers. What went wrong inside
// goes to the log only, and without the address: it is a secret.
func (h *Handler) fail(err error, c echo.Context) {
	if errors.Is(c.Request().Context().Err(), context.Canceled) {
		return // nobody reads the answer
	}
	status := statusOf(err)
	if status >= 500 {
		h.config.Logger.Error("page failed", "route", c.Path(), "error", err)
	}
	if c.Response().Committed {
		return
	}
	words, ok := faults[status]
	if !ok {
		words = faults[http.StatusInternalServerError]
	}
	header := c.Response().Header()
	header.Set("Cache-Control", "no-store")
	if seconds := retryAfter[status]; seconds > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds))
	}
	if refusal, ok := errors.AsType[*linkRefusal](err); ok {
		words = refusal.words
	}
	page := views.Error{Page: h.page(words.heading), Heading: words.heading, Text: words.text, Action: h.wayOut(c, status)}
	if refused, ok := errors.AsType[*client.Error](err); ok && status < 500 && refused.Message != "" && status != http.StatusNotFound {
		page.Text = refused.Message
	}
	if err := render(c, status, views.ErrorPage(page)); err != nil {
		h.config.Logger.Error("error page failed", "error", err)
	}
}

// wayOut is where to go from an error page.
func (h *Handler) wayOut(c echo.Context, status int) views.Link {
	if id, err := invoiceID(c); err == nil && status != http.StatusNotFound {
		return views.Link{Text: "Back to the payment", URL: h.path("/invoice/" + id)}
	}
	if c.Param("slug") != "" && strings.Contains(c.Path(), "/shop/") && h.sells(c.Request().Context()) {
		return views.Link{Text: "See the products", URL: h.path("/shop")}
	}
	if h.config.Storefront {
		return views.Link{Text: "Go to the start", URL: h.path("/")}
	}
	return views.Link{}
}

// statusOf is the HTTP status that an error means to the shopper.
func statusOf(err error) int {
	if refusal, ok := errors.AsType[*linkRefusal](err); ok {
		return refusal.status
	}
	if answer, ok := errors.AsType[*echo.HTTPError](err); ok {
		return answer.Code
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		if refused.Code == "live_invoice" { // there are no test tools on that page
			return http.StatusNotFound
		}
		return refusedStatus(refused.Status)
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrNonsense) {
		return http.StatusServiceUnavailable
	}
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrUnsupported) {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// refusedStatus passes on what a shopper can do something about. That the
// service refuses our key is our fault, not theirs.
func refusedStatus(status int) int {
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
