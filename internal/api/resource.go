package api

import "encoding/json"

// Resource is our own view of an invoice: what GET /api/v2/invoices/{id} tells.
// Amounts are decimal strings, times are TimeLayout.
type Resource struct {
	ForeignID      string   `json:"foreign_id"`
	OrderID        string   `json:"order_id"`
	Mode           string   `json:"mode"` // live or test
	Version        int64    `json:"version"`
	Status         string   `json:"status"`
	Exceptions     []string `json:"exceptions"`
	CreatedAt      string   `json:"created_at"`
	ExpiredAt      string   `json:"expired_at"` // end of the newest quote
	PaidAt         string   `json:"paid_at"`    // empty until paid
	PaidCurrency   string   `json:"paid_currency"`
	PaidTx         string   `json:"paid_tx"`
	ClientAmount   string   `json:"client_amount"`
	ClientCurrency string   `json:"client_currency"`
	PaidAmount     string   `json:"paid_amount"`
	DueAmount      string   `json:"due_amount"`
	OverpaidAmount string   `json:"overpaid_amount"`
	// ToleranceAmount is how much of the price may be missing, frozen with the invoice:
	// the merchant's setting, empty for keys of payment pages.
	ToleranceAmount string `json:"tolerance_amount"`
	// PaidCount is how many times the invoice became paid: more than once after it was
	// reverted. FirstPaidAt is the first time, empty before.
	PaidCount        int64      `json:"paid_count"`
	FirstPaidAt      string     `json:"first_paid_at"`
	Accepted         Acceptance `json:"accepted"`
	AllowPaidExpired bool       `json:"allow_paid_expired"`
	DisableConvert   bool       `json:"disable_convert"`

	// SecondsLeft is how long the newest quote holds, by the server's clock; it
	// moves without a new version. Zero or less once it has ended.
	SecondsLeft int64 `json:"seconds_left"`

	PaymentMethods []PaymentMethod `json:"payment_methods"`
	Payments       []Payment       `json:"payments"`
	// MorePayments is how many there are beside Payments, none of which matters more.
	MorePayments   int               `json:"more_payments"`
	Conversions    []Conversion      `json:"conversions"`
	Quotes         []Quote           `json:"quotes"`
	RateSource     string            `json:"rate_source"` // "fixed", "demo"
	MerchantName   string            `json:"merchant_name"`
	Description    string            `json:"description"`
	Metadata       map[string]string `json:"metadata"`
	Language       string            `json:"language"`
	URLSuccess     string            `json:"url_success"`
	URLFailure     string            `json:"url_failure"`
	RefundCurrency string            `json:"refund_currency"`
	RefundAddress  string            `json:"refund_address"`
	// WatchedUntil is until when late money is still looked for.
	WatchedUntil string `json:"watched_until"`
	// MayRequote tells whether the shopper may have a new price held now.
	MayRequote bool `json:"may_requote"`
	// Proof is the signed statement of the newest quote and its addresses; empty in
	// lists, and once the invoice is declined.
	Proof string `json:"proof"`
}

// Acceptance is a decision of the merchant to let what was received stand for the full
// price. Before such a decision At and Actor are empty and Shortfall is 0.
type Acceptance struct {
	At        string `json:"at"`
	Actor     string `json:"actor"`     // "command", or the identifier of an API key
	Shortfall string `json:"shortfall"` // of the price, in ClientCurrency
}

// InvoiceList is a page of invoices, newest first.
type InvoiceList struct {
	Invoices   []Resource `json:"invoices"`
	NextCursor string     `json:"next_cursor"` // of the next page; empty on the last
}

// RequoteRequest is the body of a requote.
type RequoteRequest struct {
	// Quote is the number of the newest quote that was seen: when there is a newer
	// one by now, nothing is done again.
	Quote int `json:"quote,omitempty"`
}

// RefundRequest is the body that sets a refund address.
type RefundRequest struct {
	Currency string `json:"currency"` // one that money came in by
	Address  string `json:"address"`
}

// PaymentMethod is one way of paying what is still due.
type PaymentMethod struct {
	CryptoCurrency string `json:"crypto_currency"` // "EURC-BASE"
	Symbol         string `json:"symbol"`          // "EURC"
	Name           string `json:"name"`            // "Euro Coin"
	Network        string `json:"network"`         // "base"
	NetworkName    string `json:"network_name"`    // "Base"
	Contract       string `json:"contract"`        // of a token, else empty
	ChainID        string `json:"chain_id"`        // of an EVM network, else empty
	Decimals       int32  `json:"decimals"`
	Address        string `json:"address"`
	ExpectedAmount string `json:"expected_amount"` // of the newest quote
	DueAmount      string `json:"due_amount"`      // the rest
	// SmallestAmount is the least the network carries: DueAmount is never below.
	SmallestAmount string `json:"smallest_amount"`
	RateEUR        string `json:"rate_eur"`
	RateUSD        string `json:"rate_usd"`
	RateClient     string `json:"rate_client"`   // in ClientCurrency
	PaymentURI     string `json:"payment_uri"`   // asks for DueAmount
	PaymentCode    string `json:"payment_code"`  // the same, for a QR code
	AddressCode    string `json:"address_code"`  // tokens: the QR code to show first
	Confirmations  int    `json:"confirmations"` // asked for this amount
	Watched        bool   `json:"watched"`       // false: nobody looks for this money
	// Behind tells that the network was not looked at lately: what is sent shows
	// later than usual.
	Behind bool `json:"behind"`
	// Bridged are the symbols of bridged versions of a token, as wallets show them: what
	// is sent of them is shown as wrong_asset and does not count.
	Bridged []string `json:"bridged"`
}

// Payment is a transfer counted, or not counted, to the invoice.
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
	// Symbol and NetworkName are told in a Resource only: what arrived may be
	// nothing that the invoice offers.
	Symbol      string `json:"symbol,omitempty"`       // "EURC"
	NetworkName string `json:"network_name,omitempty"` // "Base"
}

// Quote is one frozen offer of prices.
type Quote struct {
	Number    int           `json:"number"`
	From      string        `json:"from"`
	Until     string        `json:"until"`
	DueAmount string        `json:"due_amount"` // fiat
	Prices    []QuotedPrice `json:"prices"`
	// Evidence is what the prices rest on, for merchants; null where nothing is
	// kept, and in lists.
	Evidence json.RawMessage `json:"evidence"`
}

// QuotedPrice is one method's part of a quote.
type QuotedPrice struct {
	CryptoCurrency string `json:"crypto_currency"`
	ExpectedAmount string `json:"expected_amount"`
	RateEUR        string `json:"rate_eur"`
	RateUSD        string `json:"rate_usd"`
	RateClient     string `json:"rate_client"`
}

// SimulateRequest is the body of a simulation on a test invoice.
type SimulateRequest struct {
	Action        string `json:"action"`                   // one of the Simulate words
	PaymentMethod string `json:"payment_method,omitempty"` // the first one when empty
	Seconds       int64  `json:"seconds,omitempty"`        // of a clock that is moved
}

// Words of a simulation.
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

// SimulateActions are all of them, in the order a person would try them.
var SimulateActions = []string{SimulateExact, SimulateUnder, SimulateOver, SimulateConfirm, SimulateLate, SimulateReplace, SimulateReorganise, SimulateClock}
