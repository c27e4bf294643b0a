package server

import (
	"net/http"
	"regexp"

	"chequer/internal/api"
	"chequer/internal/invoice"
)

// idempotencyPattern matches visible ASCII and spaces, which every HTTP library can send and every
// database can store.
var idempotencyPattern = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)

// idempotencyKey returns the request's Idempotency-Key, or "" when it has none. An empty header is
// refused, because its sender relies on idempotency.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values(api.HeaderIdempotencyKey)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1 || !idempotencyPattern.MatchString(values[0]):
		return "", badRequest("invalid_idempotency_key", "Idempotency-Key must have 1 to 255 characters of visible ASCII")
	}
	return values[0], nil
}

// Kinds of callers with separate idempotency keys. The storefront's namespace holds keys that a
// shopper's browser sends through the built-in key of the merchant.
const (
	apiKeys        = "api"
	storefrontKeys = "storefront"
	linkKeys       = "link"
	terminalKeys   = "terminal"
	productKeys    = "product"
)

// namespaced returns the idempotency key of a caller of the given kind, or no key when value is
// empty. Keys of test and live invoices are separate. The mode is empty when the request does not
// determine it.
func namespaced(kind string, mode invoice.Mode, value string) invoice.IdempotencyKey {
	switch {
	case value == "":
		return invoice.IdempotencyKey{}
	case mode != "":
		kind = string(mode) + "/" + kind
	}
	return invoice.IdempotencyKey{Namespace: kind, Value: value}
}

var errRunning = &problem{
	status: http.StatusConflict, code: "idempotency_running", retry: 1,
	message: "The first request with this idempotency key is still running",
}
