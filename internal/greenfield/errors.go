package greenfield

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// refusal is an error answer with a code.
type refusal struct {
	Code       string `json:"code"`
	Message    string `json:"message"` // one sentence
	Permission string `json:"missingPermission,omitempty"`

	status int
	retry  int // seconds in Retry-After; 0 = none
}

// Error implements error.
func (r *refusal) Error() string { return r.Message }

// Refusals that any call can return.
var (
	errUnauthenticated = &refusal{status: http.StatusUnauthorized, Code: "unauthenticated", Message: "Authentication is required: Authorization: token API-KEY, with a key that is not revoked"}
	errUnprotected     = &refusal{status: http.StatusForbidden, Code: "unprotected-connection", Message: "The API key would be readable on the way: use https. Behind a proxy, the server needs the setting CHEQUER_TRUST_PROXY"}
	errTooMany         = &refusal{status: http.StatusTooManyRequests, Code: "too-many-requests", Message: "Too many requests: try again in a moment", retry: 1}
	errNotFound        = &refusal{status: http.StatusNotFound, Code: "not-found", Message: "There is nothing at this address"}
	errMethod          = &refusal{status: http.StatusMethodNotAllowed, Code: "method-not-allowed", Message: "This address does not accept this method"}
	errTooLarge        = &refusal{status: http.StatusRequestEntityTooLarge, Code: "body-too-large", Message: "The body of the request is too large"}
	errCompressed      = &refusal{status: http.StatusUnsupportedMediaType, Code: "unsupported-content-encoding", Message: "The body of the request must not be compressed"}
	errUnreadable      = &refusal{status: http.StatusBadRequest, Code: "unreadable-body", Message: "The body of the request could not be read completely"}
	errInterrupted     = &refusal{status: http.StatusServiceUnavailable, Code: "interrupted", Message: "The call was interrupted", retry: 1}
	errInternal        = &refusal{status: http.StatusInternalServerError, Code: "generic-error", Message: "Internal error"}
)

// missingPermission returns the refusal of a key that does not have the scope or that belongs to another store.
func missingPermission(scope merchant.Scope) *refusal {
	permission := Permission(scope)
	return &refusal{status: http.StatusForbidden, Code: "missing-permission", Message: "The API key lacks the permission " + permission + " for this store", Permission: permission}
}

// fieldFault is the fault of a field of a request, by the path of the field.
type fieldFault struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error implements error.
func (f *fieldFault) Error() string { return f.Path + ": " + f.Message }

// knownRefusals maps errors of other packages to refusals.
var knownRefusals = []struct {
	err     error
	refusal *refusal
}{
	{httpapi.ErrTooLarge, errTooLarge},
	{httpapi.ErrCompressed, errCompressed},
	{httpapi.ErrUnreadable, errUnreadable},
	{invoice.ErrNotFound, errNoInvoice},
	{invoice.ErrNoWallet, &refusal{status: http.StatusServiceUnavailable, Code: "no-wallet", Message: "The shop has no wallet for any payment method yet", retry: 30}},
	{invoice.ErrUnwatched, &refusal{status: http.StatusServiceUnavailable, Code: "no-network", Message: "This server watches no network of the payment methods", retry: 30}},
	{invoice.ErrUnreached, &refusal{status: http.StatusServiceUnavailable, Code: "network-unreached", Message: "No network of the payment methods is reached at the moment", retry: 30}},
	{invoice.ErrNoRate, &refusal{status: http.StatusServiceUnavailable, Code: "no-rate", Message: "There is no exchange rate for the payment methods at the moment", retry: 30}},
	{invoice.ErrUnavailable, &refusal{status: http.StatusServiceUnavailable, Code: "unavailable", Message: "The server is temporarily unavailable", retry: 1}},
	{context.Canceled, errInterrupted},
	{context.DeadlineExceeded, errInterrupted},
}

// domainFaults are the errors of the domain that concern one field of a request.
var domainFaults = []struct {
	err   error
	fault *fieldFault
}{
	{invoice.ErrNoMethod, &fieldFault{"checkout.paymentMethods", "The shop offers none of the payment methods"}},
	{invoice.ErrTooLarge, &fieldFault{"amount", "The amount is too large for the payment methods of the shop"}},
	{invoice.ErrTooLong, &fieldFault{"checkout.expirationMinutes", "No payment method holds its price for this time"}},
}

// faultOf returns the fault of a field that err stands for, and reports whether there is one.
func faultOf(err error) (*fieldFault, bool) {
	if fault, ok := errors.AsType[*fieldFault](err); ok {
		return fault, true
	}
	if small, ok := errors.AsType[*invoice.TooSmallError](err); ok {
		return &fieldFault{"amount", "The " + small.Error() + " for the payment methods of the shop"}, true
	}
	for _, d := range domainFaults {
		if errors.Is(err, d.err) {
			return d.fault, true
		}
	}
	return nil, false
}

// refusalOf returns the refusal for any error for which faultOf has no fault.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	for _, d := range knownRefusals {
		if errors.Is(err, d.err) {
			return d.refusal
		}
	}
	if routing, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch routing.Code {
		case http.StatusNotFound:
			return errNotFound
		case http.StatusMethodNotAllowed:
			return errMethod
		}
	}
	return errInternal
}

// fail writes the error answer for err. It is called for every error of a handler.
func (s *server) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	if fault, ok := faultOf(err); ok {
		s.writeFailure(c, http.StatusUnprocessableEntity, []*fieldFault{fault})
		return
	}
	r := refusalOf(err)
	if r == errInternal {
		s.Log.ErrorContext(c.Request().Context(), "request failed", "route", c.Path(), "error", err)
	}
	if r.retry > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(r.retry))
	}
	s.writeFailure(c, r.status, r)
}

// writeFailure writes an error answer.
func (s *server) writeFailure(c echo.Context, status int, body any) {
	if err := writeJSON(c, status, body); err != nil {
		s.Log.DebugContext(c.Request().Context(), "error answer not written", "route", c.Path(), "error", err)
	}
}

// writeJSON writes a value as JSON.
func writeJSON(c echo.Context, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return c.JSONBlob(status, body)
}
