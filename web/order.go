package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/clock"
	"chequer/web/present"
)

// tokenPattern matches the token of a form, and the secret of a terminal.
var tokenPattern = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)

// orderFaults maps statuses to the keys of the texts with the reason why no invoice was created.
var orderFaults = map[int]string{
	http.StatusConflict:           "order.running",
	http.StatusTooManyRequests:    "order.many",
	http.StatusServiceUnavailable: "order.away",
}

// unpaidFaults maps the service's error codes for limits of unpaid invoices to the keys of the texts with
// the reason why no invoice was created.
var unpaidFaults = map[string]string{
	api.CodeTooManyUnpaid:        "order.unpaid",
	api.CodeTooManyUnpaidNetwork: "order.unpaid.network",
}

// typedAmount returns the typed amount and the form's token. A form without a valid token gets a new one.
func typedAmount(c echo.Context) present.Typed {
	return present.Typed{Amount: strings.TrimSpace(c.FormValue("amount")), Token: validToken(c.FormValue("token")), Currency: c.FormValue("shown_currency")}
}

// validToken returns the token, or a new token if it is invalid.
func validToken(token string) string {
	if !tokenPattern.MatchString(token) {
		return rand.Text()
	}
	return token
}

// fingerprint returns a hash of the typed values for an idempotency key.
func fingerprint(format string, values ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, values...))
	return hex.EncodeToString(sum[:16])
}

// maxAttempts is the largest number of requests that create one invoice, and attemptPause the pause between them.
const (
	maxAttempts  = 5
	attemptPause = 500 * time.Millisecond
)

// createWithRetry creates an invoice. While the service handles the first request of a double click, it
// answers the second with 409. createWithRetry then tries again. It returns other refusals with 409 at once.
func createWithRetry(ctx context.Context, create func() (string, error)) (string, error) {
	for attempt := 1; ; attempt++ {
		id, err := create()
		apiErr, ok := errors.AsType[*client.Error](err)
		isRunning := ok && apiErr.Status == http.StatusConflict && apiErr.Code != api.CodeLinkOrderPaid && apiErr.Code != api.CodePriceChanged
		if !isRunning || attempt == maxAttempts {
			return id, err
		}
		if !clock.Sleep(ctx, attemptPause) {
			return "", ctx.Err()
		}
	}
}

// problem returns the reason, in the shopper's language, why the service created no invoice. It returns nil if
// err is nil or is not an error answer of the service.
func (h *Handler) problem(r present.Reader, err error) *present.Problem {
	apiErr, ok := errors.AsType[*client.Error](err)
	if !ok {
		return nil
	}
	status := pageStatus(apiErr.Status)
	if status >= 500 {
		h.config.Logger.Warn("invoice not created", "status", status, "code", apiErr.Code, "problem", apiErr.Message)
	}
	id := cmp.Or(unpaidFaults[apiErr.Code], orderFaults[status], "order.broken")
	switch {
	case status == http.StatusUnprocessableEntity:
		return &present.Problem{Text: r.RefusalText(apiErr, r.Text("amount.refused"))}
	case apiErr.Code == api.CodeNoWallet:
		id = "order.closed"
	case apiErr.Code == api.CodeNoRate:
		id = "order.unpriced"
	}
	return &present.Problem{Status: status, Text: r.Text(id)}
}

// formStatus returns the status of the page of a form, and sets the Retry-After header for statuses that have
// one.
func formStatus(c echo.Context, problem *present.Problem) int {
	if problem == nil {
		return http.StatusOK
	}
	setRetryAfter(c.Response().Header(), problem.Status)
	return cmp.Or(problem.Status, http.StatusUnprocessableEntity)
}

// backToForm serves a GET of the address that a form posts to. It redirects to the page of the form.
func (h *Handler) backToForm(c echo.Context) error {
	path := strings.TrimPrefix(c.Request().URL.EscapedPath(), h.path("/order"))
	if path == "/pay" { // a signed link without a slug
		path += linkSuffix(c)
	}
	return h.redirect(c, readerFromAddress(c), cmp.Or(path, "/"))
}
