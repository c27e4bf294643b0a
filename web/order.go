package web

import (
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
	"chequer/web/present"
)

// tokenForm matches the token of a form, and the secret of a terminal.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)

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

// typedAmount returns the typed amount and the form's token. A form without a valid token gets a new one.
func typedAmount(c echo.Context) present.Typed {
	return present.Typed{Amount: strings.TrimSpace(c.FormValue("amount")), Token: validToken(c.FormValue("token"))}
}

func validToken(token string) string {
	if !tokenForm.MatchString(token) {
		return rand.Text()
	}
	return token
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

// refused returns the text for the shopper when the service creates no invoice, and the status of
// the page.
func (h *Handler) refused(r present.Reader, refusal *client.Error) (status int, problem string) {
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
		return status, r.RefusalText(refusal, r.Text("amount.refused"))
	case refusal.Code == api.CodeNoWallet:
		return status, r.Text("order.closed")
	case refusal.Code == api.CodeNoRate:
		return status, r.Text("order.unpriced")
	case !known:
		return status, r.Text("order.broken")
	}
	return status, r.Text(id)
}

// refusal returns a problem for a page with a status: that of the amount if the status is 422.
func refusal(status int, problem string) *present.Problem {
	return &present.Problem{Text: problem, AtAmount: status == http.StatusUnprocessableEntity}
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
