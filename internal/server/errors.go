package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/merchant"
)

// problem is an error answer of the API.
type problem struct {
	status  int
	code    string // for programs, in X-Error-Code
	message string // one sentence
	retry   int    // seconds in Retry-After; 0 = none
}

// Error implements error.
func (p *problem) Error() string { return p.message }

// Errors of several calls.
var (
	errNotFound     = &problem{status: http.StatusNotFound, code: "not_found", message: "There is nothing at this address"}
	errMethod       = &problem{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: "This address does not accept this method"}
	errTooLarge     = &problem{status: http.StatusRequestEntityTooLarge, code: "body_too_large", message: "The body is larger than 64 KiB"}
	errUnreadable   = &problem{status: http.StatusBadRequest, code: "unreadable_body", message: "The body could not be read completely"}
	errNoKey        = &problem{status: http.StatusForbidden, code: "no_key_header", message: "No key header"}
	errBadKey       = &problem{status: http.StatusForbidden, code: "bad_key_header", message: "Bad key header"}
	errNoSignature  = &problem{status: http.StatusForbidden, code: "no_signature_header", message: "No signature header"}
	errBadSignature = &problem{status: http.StatusForbidden, code: "bad_signature_header", message: "Bad signature header"}
	errNoTimestamp  = &problem{status: http.StatusForbidden, code: "no_timestamp_header", message: "No timestamp header"}
	errBadTimestamp = &problem{status: http.StatusForbidden, code: "bad_timestamp_header", message: "Bad timestamp header"}
	errNoNonce      = &problem{status: http.StatusForbidden, code: "no_nonce_header", message: "No nonce header"}
	errBadNonce     = &problem{status: http.StatusForbidden, code: "bad_nonce_header", message: "Bad nonce header"}
	errScope        = &problem{status: http.StatusForbidden, code: "key_may_not", message: "Key may not do this"}
	errMediaType    = &problem{status: http.StatusUnsupportedMediaType, code: "unsupported_media_type", message: "The body must be application/json"}
	errCompressed   = &problem{status: http.StatusUnsupportedMediaType, code: "unsupported_content_encoding", message: "The body must not be compressed"}
	errNoInvoice    = &problem{status: http.StatusNotFound, code: "invoice_not_found", message: "There is no such invoice"}
	errInternal     = &problem{status: http.StatusInternalServerError, code: "internal_error", message: "Internal error"}
	errInterrupted  = &problem{status: http.StatusServiceUnavailable, code: "interrupted", message: "The call was interrupted", retry: 1}
)

// domainProblems maps errors of the domain to error answers.
var domainProblems = []struct {
	err     error
	problem *problem
}{
	{httpapi.ErrTooLarge, errTooLarge},
	{httpapi.ErrCompressed, errCompressed},
	{httpapi.ErrUnreadable, errUnreadable},
	{invoicing.ErrRunning, errRunning},
	{invoice.ErrNonceUsed, errBadNonce},
	{invoice.ErrNotFound, errNoInvoice},
	{invoice.ErrConflict, &problem{status: http.StatusConflict, code: "idempotency_conflict", message: "The idempotency key was used with another request"}},
	{invoice.ErrLinkUsed, errLinkUsed},
	{invoice.ErrNoWallet, &problem{status: http.StatusServiceUnavailable, code: api.CodeNoWallet, message: "No payment method is set up yet", retry: 30}},
	{invoice.ErrUnreached, &problem{status: http.StatusServiceUnavailable, code: "network_unreached", message: "No network of a payment method can be reached at the moment", retry: 30}},
	{invoice.ErrUnwatched, &problem{status: http.StatusServiceUnavailable, code: "no_network", message: "This server does not watch the networks of the payment methods", retry: 30}},
	{invoice.ErrNoMethod, invalid("payment_methods", "contains no payment method that is offered")},
	{invoice.ErrTooLong, invalid("expires_in", "is longer than the time for which any payment method can hold its price")},
	{invoice.ErrTooLarge, invalid("amount", "is larger than any of the payment methods offered allows")},
	{invoice.ErrRequestRunning, &problem{status: http.StatusConflict, code: api.CodeRequestRunning, message: "A payment request is being made for the invoice", retry: 2}},
	{invoice.ErrTooManyRequests, &problem{status: http.StatusTooManyRequests, code: api.CodeTooManyRequests, message: "Too many payment requests were made for the invoice", retry: 600}},
	{invoice.ErrNoRequest, &problem{status: http.StatusServiceUnavailable, code: api.CodeNoRequest, message: "Lightning does not answer now: no payment request was made", retry: 5}},
	{invoice.ErrState, &problem{status: http.StatusConflict, code: "wrong_state", message: "The invoice does not allow this now"}},
	{invoice.ErrTooLittle, &problem{status: http.StatusConflict, code: "too_little_due", message: "The amount due is too small for every payment method"}},
	{invoice.ErrTooMuch, &problem{status: http.StatusConflict, code: "too_much_due", message: "The amount due is too large for every payment method"}},
	{invoice.ErrNothingReceived, &problem{status: http.StatusConflict, code: "nothing_received", message: "The invoice received nothing that can be refunded"}},
	{invoice.ErrRefundAsset, invalid("currency", "must be a payment method by which the invoice received money")},
	{invoice.ErrRefundSet, &problem{status: http.StatusConflict, code: "refund_address_set", message: "A refund address is set already, and cannot be changed"}},
	{invoice.ErrStale, &problem{status: http.StatusConflict, code: "invoice_changed", message: "The invoice has another version than the one in the request"}},
	{invoice.ErrNoRefund, &problem{status: http.StatusNotFound, code: "refund_not_found", message: "The invoice has no such refund"}},
	{invoice.ErrNoSurplus, &problem{status: http.StatusConflict, code: "no_surplus", message: "No surplus of the invoice waits for a decision"}},
	{invoice.ErrOverRefund, &problem{status: http.StatusConflict, code: "over_refund", message: "The refund is more than the confirmed amount that is not refunded yet"}},
	{invoice.ErrRefundExists, &problem{status: http.StatusConflict, code: "refund_exists", message: "The invoice has a refund of the same kind and amount; another one requires \"again\": true"}},
	{invoice.ErrUnavailable, &problem{status: http.StatusServiceUnavailable, code: "unavailable", message: "The server is temporarily unavailable", retry: 1}},
	{context.Canceled, errInterrupted},
	{context.DeadlineExceeded, errInterrupted},
}

// problems maps errors of the domain to the error answers of a group of calls.
type problems map[error]*problem

// handler returns a handler that calls handle and answers its errors with the problem that p has for them.
func (p problems) handler(handle func(echo.Context, call) error) func(echo.Context, call) error {
	return func(c echo.Context, k call) error {
		err := handle(c, k)
		for cause, problem := range p {
			if errors.Is(err, cause) {
				return problem
			}
		}
		return err
	}
}

// invalid returns the error for an invalid field, such as "amount must be a number".
func invalid(field, fault string) *problem {
	return badRequest("invalid_"+field, field+" "+fault)
}

func badRequest(code, message string) *problem {
	return &problem{status: http.StatusBadRequest, code: code, message: message}
}

// methodCode matches a payment method's code. Other text is not repeated in an error.
var methodCode = regexp.MustCompile(`^[A-Z0-9-]{1,32}$`)

// problemOf returns the error answer for any error.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if f, ok := errors.AsType[*merchant.FieldError](err); ok {
		return invalid(f.Field, f.Fault)
	}
	if small, ok := errors.AsType[*invoice.TooSmallError](err); ok {
		return invalid("amount", fmt.Sprintf("must be at least %s %s for the payment methods offered",
			small.Smallest, small.Smallest.Currency().Code))
	}
	if limit, ok := errors.AsType[*chain.LimitError](err); ok {
		return &problem{status: http.StatusConflict, code: api.CodeRequestAmount, message: "No payment request of this amount: " + limit.Error()}
	}
	if unknown, ok := errors.AsType[*invoice.UnknownMethodError](err); ok {
		if methodCode.MatchString(unknown.Code) {
			return invalid("payment_methods", "contains "+unknown.Code+", which this server does not offer")
		}
		return invalid("payment_methods", "contains a payment method that this server does not offer")
	}
	if tooMany, ok := errors.AsType[*invoice.TooManyUnpaidError](err); ok {
		if tooMany.Group == "" {
			return errTooManyUnpaid
		}
		return errTooManyUnpaidNetwork
	}
	if unpriced, ok := errors.AsType[*invoice.NoRateError](err); ok {
		return &problem{
			status: http.StatusServiceUnavailable, code: api.CodeNoRate, retry: 30,
			message: "No payment method can be priced in " + unpriced.Fiat.Code + " now",
		}
	}
	for _, known := range domainProblems {
		if errors.Is(err, known.err) {
			return known.problem
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

// fail writes the error answer for err. All errors of handlers end here.
func (s *server) fail(err error, c echo.Context) {
	p := problemOf(err)
	if p == errInternal {
		s.Log.ErrorContext(c.Request().Context(), "request failed", "route", c.Path(), "error", err)
	}
	if c.Response().Committed {
		return
	}
	header := c.Response().Header()
	header.Set(api.HeaderErrorCode, p.code)
	if p.retry > 0 {
		header.Set("Retry-After", strconv.Itoa(p.retry))
	}
	if err := writeJSON(c, p.status, p.body()); err != nil {
		s.Log.DebugContext(c.Request().Context(), "error answer not written", "route", c.Path(), "error", err)
	}
}

// forbidden must not occur in an error, because a public client recognises success by this text.
const forbidden = "expired_at"

func (p *problem) body() api.Error {
	message := p.message
	if strings.Contains(strings.ToLower(message), forbidden) {
		message = http.StatusText(p.status)
	}
	return api.Error{StatusCode: p.status, Error: http.StatusText(p.status), Message: message}
}

// reply answers with the API's view of a result of the domain, or with its error.
func reply[T, V any](c echo.Context, view func(T) V, result T, err error) error {
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, view(result))
}

// views returns the API's views of the items for which keep returns true, or of all items if keep is nil.
func views[T, V any](view func(T) V, items []T, keep func(T) bool) []V {
	list := []V{}
	for _, t := range items {
		if keep == nil || keep(t) {
			list = append(list, view(t))
		}
	}
	return list
}

// writeJSON writes a value as JSON without a trailing newline.
func writeJSON(c echo.Context, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return c.JSONBlob(status, body)
}
