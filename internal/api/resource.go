package api

import "encoding/json"

// Resource is the full view of an invoice, the response body of GET /api/v2/invoices/{id}. Amounts
// are decimal strings, times have the format TimeLayout.
type Resource struct {
	ForeignID      string   `json:"foreign_id"`
	OrderID        string   `json:"order_id"`
	Mode           string   `json:"mode"` // live or test
	Version        int64    `json:"version"`
	Status         string   `json:"status"`
	Exceptions     []string `json:"exceptions"`
	NeedsDecision  bool     `json:"needs_decision"` // as in Summary
	CreatedAt      string   `json:"created_at"`
	ExpiredAt      string   `json:"expired_at"` // end of the newest quote
	PaidAt         string   `json:"paid_at"`    // empty until paid
	PaidCurrency   string   `json:"paid_currency"`
	PaidTx         string   `json:"paid_tx"`
	ClientAmount   string   `json:"client_amount"`
	ClientCurrency string   `json:"client_currency"`
	// VATRate is the VAT rate of the product in percent when the invoice was created. NetAmount and VATAmount are the parts
	// of ClientAmount. All three are empty if the product stated no rate, or the invoice has no product.
	VATRate        string `json:"vat_rate"`
	NetAmount      string `json:"net_amount"`
	VATAmount      string `json:"vat_amount"`
	PaidAmount     string `json:"paid_amount"`
	DueAmount      string `json:"due_amount"`
	OverpaidAmount string `json:"overpaid_amount"`
	// ToleranceAmount is the part of the price that may be missing, from the merchant's settings when
	// the invoice was created. It is empty for keys of payment pages.
	ToleranceAmount string `json:"tolerance_amount"`
	// PaidCount is the number of times that the invoice became paid: above 1 if it was reverted.
	// FirstPaidAt is the first time; empty if it was never paid.
	PaidCount        int64      `json:"paid_count"`
	FirstPaidAt      string     `json:"first_paid_at"`
	Accepted         Acceptance `json:"accepted"`
	AllowPaidExpired bool       `json:"allow_paid_expired"`
	DisableConvert   bool       `json:"disable_convert"`

	// SecondsLeft is the remaining time of the newest quote by the server's clock. It changes
	// without a new version, and is zero or negative after the end.
	SecondsLeft int64 `json:"seconds_left"`

	PaymentMethods []PaymentMethod `json:"payment_methods"`
	Payments       []Payment       `json:"payments"`
	// MorePayments is the number of payments that are not in Payments.
	MorePayments int               `json:"more_payments"`
	Conversions  []Sale            `json:"conversions"`
	Quotes       []Quote           `json:"quotes"`
	RateSource   string            `json:"rate_source"` // "fixed", "demo"
	MerchantName string            `json:"merchant_name"`
	Description  string            `json:"description"`
	Metadata     map[string]string `json:"metadata"`
	Language     string            `json:"language"`
	URLSuccess   string            `json:"url_success"`
	URLFailure   string            `json:"url_failure"`
	// StayOnPage reports whether the page of the paid invoice leads to URLSuccess only by a click.
	StayOnPage     bool        `json:"stay_on_page"`
	RefundCurrency string      `json:"refund_currency"`
	RefundAddress  string      `json:"refund_address"`
	Refunds        []Refund    `json:"refunds"` // oldest first
	KeptSurplus    KeptSurplus `json:"kept_surplus"`
	// PersonalDataRemovedAt is when the personal data of the shopper were removed; empty if they were not.
	PersonalDataRemovedAt string `json:"personal_data_removed_at"`
	// PersonalDataRemoved are the kinds of data that were removed: RemovedNotes, "refund_addresses", "metadata",
	// "return_addresses".
	PersonalDataRemoved []string `json:"personal_data_removed"`
	// WatchedUntil is the time until which the addresses are watched for late payments.
	WatchedUntil string `json:"watched_until"`
	// MayRequote reports whether the shopper can requote now.
	MayRequote bool `json:"may_requote"`
	// Proof is the signed statement of the newest quote and its addresses; empty in
	// lists, once the invoice is declined, and while it has no address.
	Proof string `json:"proof"`
}

// Acceptance is a decision of the merchant to accept the received amount as the full price. Without
// a decision At and Actor are empty and Shortfall is 0.
type Acceptance struct {
	At        string `json:"at"`
	Actor     string `json:"actor"`     // "command", "account" at the desk, or the identifier of an API key
	Shortfall string `json:"shortfall"` // missing part of the price, in ClientCurrency
}

// InvoiceList is a page of invoices, newest first.
type InvoiceList struct {
	Invoices   []Resource `json:"invoices"`
	NextCursor string     `json:"next_cursor"` // of the next page; empty on the last
}

// RequoteRequest is the body of a requote.
type RequoteRequest struct {
	// Quote is the number of the newest quote that the caller has seen. If there is a newer quote, no
	// other quote is created.
	Quote int `json:"quote,omitempty" rule:"whole 1"`
}

// MethodLightning is the code of the payment method whose address is a payment request (BOLT 11).
const MethodLightning = "BTC-LN"

// NewPaymentRequest is the body of a call that makes a payment request.
type NewPaymentRequest struct {
	PaymentMethod string `json:"payment_method,omitempty" rule:"text 32"` // empty: MethodLightning
}

// RefundRequest is the body that sets a refund address.
type RefundRequest struct {
	Currency string `json:"currency" rule:"required text 32"` // of a payment that was received
	Address  string `json:"address" rule:"required text 1024"`
}

// PaymentMethod is one way to pay the amount due.
type PaymentMethod struct {
	CryptoCurrency string `json:"crypto_currency"` // "EURC-BASE"
	Symbol         string `json:"symbol"`          // "EURC"
	Name           string `json:"name"`            // "Euro Coin"
	Network        string `json:"network"`         // "base"
	NetworkName    string `json:"network_name"`    // "Base"
	Contract       string `json:"contract"`        // of a token; otherwise empty
	ChainID        string `json:"chain_id"`        // of an EVM network; otherwise empty
	Decimals       int32  `json:"decimals"`
	// Address is the address, or the payment request of MethodLightning in lower case; empty if there is no valid one.
	Address string `json:"address"`
	// AddressUntil is the end of a payment request, on the clock of the server. It is empty for addresses.
	AddressUntil string `json:"address_until"`
	// MayRequest reports whether a payment request can be made: the method needs one, and none is valid.
	MayRequest     bool   `json:"may_request"`
	ExpectedAmount string `json:"expected_amount"` // of the newest quote
	DueAmount      string `json:"due_amount"`      // the amount due
	// SmallestAmount is the smallest amount that the network can transfer. DueAmount is zero or at
	// least this amount.
	SmallestAmount string `json:"smallest_amount"`
	RateEUR        string `json:"rate_eur"`
	RateUSD        string `json:"rate_usd"`
	RateClient     string `json:"rate_client"`   // in ClientCurrency
	PaymentURI     string `json:"payment_uri"`   // requests DueAmount
	PaymentCode    string `json:"payment_code"`  // PaymentURI in a form for QR codes
	AddressCode    string `json:"address_code"`  // tokens: the QR code to show first
	UnifiedURI     string `json:"unified_uri"`   // Bitcoin: PaymentURI with a payment request for the same amount; else empty
	UnifiedCode    string `json:"unified_code"`  // UnifiedURI in a form for QR codes
	Confirmations  int    `json:"confirmations"` // required for this amount
	Watched        bool   `json:"watched"`       // false: the network is not watched
	// Behind reports whether the network has not been scanned recently, so that payments are detected
	// later than usual.
	Behind bool `json:"behind"`
	// Bridged are the symbols of bridged versions of a token, as wallets show them. A payment in
	// one of them has the state wrong_asset and does not count.
	Bridged []string `json:"bridged"`
}

// Payment is a transfer to the invoice, whether or not it counts.
type Payment struct {
	ID             string `json:"id"`
	CryptoCurrency string `json:"crypto_currency"`
	Address        string `json:"address"`
	Amount         string `json:"amount"`
	FiatAmount     string `json:"fiat_amount"`
	Tx             string `json:"tx"`
	Confirmations  int    `json:"confirmations"`
	Required       int    `json:"required"`
	State          string `json:"state"` // seen, confirmed, late, replaced, reorged, dust, old, wrong_asset
	FirstSeenAt    string `json:"first_seen_at"`
	// Symbol and NetworkName are only in a Resource. The invoice may not offer
	// the received asset.
	Symbol      string `json:"symbol,omitempty"`       // "EURC"
	NetworkName string `json:"network_name,omitempty"` // "Base"
	// Contested is only in a Resource: another unconfirmed transaction spends the same coins.
	Contested bool `json:"contested,omitempty"`
}

// Quote is a set of prices that is held for a time.
type Quote struct {
	Number    int           `json:"number"`
	From      string        `json:"from"`
	Until     string        `json:"until"`
	DueAmount string        `json:"due_amount"` // fiat
	Prices    []QuotedPrice `json:"prices"`
	// Evidence is the source data of the prices, for merchants; null if none is stored, and in
	// lists.
	Evidence json.RawMessage `json:"evidence"`
}

// QuotedPrice is the price of one method in a quote.
type QuotedPrice struct {
	CryptoCurrency string `json:"crypto_currency"`
	ExpectedAmount string `json:"expected_amount"`
	RateEUR        string `json:"rate_eur"`
	RateUSD        string `json:"rate_usd"`
	RateClient     string `json:"rate_client"`
}

// SimulateRequest is the body of a simulation on a test invoice.
type SimulateRequest struct {
	Action        string `json:"action" rule:"required text 32"`           // one of the Simulate constants
	PaymentMethod string `json:"payment_method,omitempty" rule:"text 32"`  // empty: the first one
	Seconds       int64  `json:"seconds,omitempty" rule:"whole 1 2592000"` // for the action clock
}

// Actions of a simulation.
const (
	SimulateExact      = "exact"
	SimulateUnder      = "under"
	SimulateOver       = "over"
	SimulateLate       = "late"
	SimulateConfirm    = "confirm"
	SimulateReplace    = "replace"
	SimulateReorganise = "reorganise"
	SimulateClock      = "clock" // moves the invoice's own clock forward
)

// SimulateActions are all actions, in the usual order of a test.
var SimulateActions = []string{SimulateExact, SimulateUnder, SimulateOver, SimulateConfirm, SimulateLate, SimulateReplace, SimulateReorganise, SimulateClock}

// RemovedNotes is the kind of personal data of the notes of the team, which shoppers never see.
const RemovedNotes = "notes"
