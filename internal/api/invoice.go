// Package api defines the wire format: the paths, headers, bodies and error codes of the API. Only
// code that reads or writes the API uses it.
package api

import "encoding/json"

// Paths of the service, below its base address.
const (
	PathInvoiceNew    = "/api/v2/invoice/new"
	PathInvoiceStatus = "/api/v2/invoice/status"
	PathInvoices      = "/api/v2/invoices"
	PathTestInvoices  = "/api/v2/test/invoices"
	PathEvents        = "/api/v2/events"
	PathProofKey      = "/.well-known/chequer-proof-key"
	PathEndpoints     = "/api/v2/endpoints"
	PathLinks         = "/api/v2/links"
	PathProducts      = "/api/v2/products"
	PathTerminals     = "/api/v2/terminals"
	PathTheme         = "/api/v2/look"
	PathThemes        = "/api/v2/looks"
)

// Headers of requests and responses.
const (
	HeaderKey            = "X-Processing-Key"
	HeaderSignature      = "X-Processing-Signature"
	HeaderTimestamp      = "X-Processing-Timestamp"
	HeaderNonce          = "X-Processing-Nonce"
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderErrorCode      = "X-Error-Code"
	HeaderEventID        = "X-Processing-Event-Id"
	HeaderSignatureV2    = "X-Processing-Signature-V2"
	HeaderPaidAt         = "X-Invoice-Paid-At"
	HeaderPaidCurrency   = "X-Invoice-Paid-Currency"
	HeaderPaidTx         = "X-Invoice-Paid-Tx"
	// HeaderRetry is RetryNewKey in the response to a repeated request whose invoice can no longer be
	// paid: a new invoice needs a new idempotency key.
	HeaderRetry = "X-Invoice-Retry"
	// HeaderTheme is the hash of the current theme of the invoice's merchant; absent for the default
	// theme. It can change without a new version of the invoice.
	HeaderTheme = "X-Invoice-Look"
	// HeaderMerchant is the ID of the invoice's merchant.
	HeaderMerchant = "X-Invoice-Merchant"
)

// RetryNewKey is the value of HeaderRetry.
const RetryNewKey = "new-key"

// TimeLayout is ISO 8601 in UTC with exactly three fractional digits.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Values of a status.
const (
	StatusCreated  = "created"
	StatusPending  = "pending"
	StatusPaid     = "paid"
	StatusExpired  = "expired"
	StatusDeclined = "declined"
)

// Values of an exception, which complements a status.
const (
	ExceptionUnderpaid  = "underpaid"
	ExceptionOverpaid   = "overpaid"
	ExceptionLate       = "late"
	ExceptionReplaced   = "replaced"
	ExceptionReorged    = "reorged"
	ExceptionWrongAsset = "wrong_asset"
	ExceptionOld        = "old"
	ExceptionDelayed    = "delayed"

	ExceptionRefundTrouble = "refund_trouble"
)

// InvoiceRequest is the body of invoice/new: the fields of the specification, then the optional
// fields of Chequer.
type InvoiceRequest struct {
	Amount           json.Number `json:"amount" rule:"required amount"`
	FiatCurrency     string      `json:"fiat_currency" rule:"required text 8"`
	URLSuccess       string      `json:"url_success,omitempty" rule:"url"`
	URLFailure       string      `json:"url_failure,omitempty" rule:"url"`
	AllowPaidExpired *bool       `json:"allow_paid_expired,omitempty" rule:"boolean"` // nil: the merchant's setting
	DisableConvert   bool        `json:"disable_convert,omitempty" rule:"boolean"`

	OrderID        string            `json:"order_id,omitempty" rule:"text 128"`
	Description    string            `json:"description,omitempty" rule:"text 512"`
	Metadata       map[string]string `json:"metadata,omitempty" rule:"texts"`
	Language       string            `json:"language,omitempty" rule:"language"`
	ExpiresIn      int               `json:"expires_in,omitempty" rule:"seconds 60 86400"` // seconds
	PaymentMethods []string          `json:"payment_methods,omitempty" rule:"codes"`
}

// Invoice is the response body of the specification. It has exactly these six fields.
type Invoice struct {
	ForeignID      string      `json:"foreign_id"`
	Status         string      `json:"status"`
	ExpiredAt      string      `json:"expired_at"`
	ClientAmount   json.Number `json:"client_amount"`
	ClientCurrency string      `json:"client_currency"`
	Addresses      []Address   `json:"addresses"`
}

// Address is the part of Invoice for one cryptocurrency.
type Address struct {
	Address        string      `json:"address"`
	ExpectedAmount json.Number `json:"expected_amount"`
	CryptoCurrency string      `json:"crypto_currency"`
	RateUSD        json.Number `json:"rate_usd"`
	RateEUR        json.Number `json:"rate_eur"`
}

// Error is the body of every error response.
type Error struct {
	StatusCode int    `json:"statusCode"`
	Error      string `json:"error"`
	Message    string `json:"message"`
}
