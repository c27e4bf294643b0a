package api

// Refund is an amount that the merchant pays back from its own wallet. A string is empty until the
// refund has the state that the string describes.
type Refund struct {
	ID             string `json:"id"`
	Kind           string `json:"kind"`            // received, surplus or part
	State          string `json:"state"`           // asked, ready, sent, confirmed, cancelled or declined
	CryptoCurrency string `json:"crypto_currency"` // the asset that was received
	Symbol         string `json:"symbol"`          // "EURC"
	NetworkName    string `json:"network_name"`    // "Base"
	Amount         string `json:"amount"`
	FiatAmount     string `json:"fiat_amount"` // value in the currency of the invoice; "0" if no rate was known
	Rate           string `json:"rate"`        // price of one coin in the currency of the invoice; empty if not known
	// HeldUntil is the end of the time for which Amount is valid if it was determined from FiatAmount; empty otherwise.
	HeldUntil  string `json:"held_until"`
	Address    string `json:"address"`
	AddressBy  string `json:"address_by"`  // "shopper", or the name of an account
	PaymentURI string `json:"payment_uri"` // for the merchant's wallet, while the refund is ready
	Tx         string `json:"tx"`          // stated by the merchant, or shown by the network
	// Confirmations counts up to Required; both are 0 if the network does not show the transaction.
	Confirmations int    `json:"confirmations"`
	Required      int    `json:"required"`
	Trouble       string `json:"trouble"` // wrong_amount, double, replaced or unproved; empty if there is none
	Reason        string `json:"reason"`  // for cancelled and declined refunds
	AskedAt       string `json:"asked_at"`
	AskedBy       string `json:"asked_by"`
	PreparedAt    string `json:"prepared_at"`
	PreparedBy    string `json:"prepared_by"`
	SentAt        string `json:"sent_at"`
	SentBy        string `json:"sent_by"`
	ClosedAt      string `json:"closed_at"`
	ClosedBy      string `json:"closed_by"`
}

// KeptSurplus is the decision of the merchant to keep a surplus. Without a decision Amount is "0" and the other
// strings are empty.
type KeptSurplus struct {
	At     string `json:"at"`
	Actor  string `json:"actor"`
	Amount string `json:"amount"` // in ClientCurrency
	Reason string `json:"reason"`
}

// RefundList holds the refunds of an invoice, oldest first.
type RefundList struct {
	Refunds []Refund `json:"refunds"`
}

// NewRefund is the body of a request that prepares a refund. The address is always the shopper's, so it has no field.
type NewRefund struct {
	Kind       string `json:"kind" rule:"required text 8"`
	Currency   string `json:"currency" rule:"required text 32"`    // the asset of a received payment
	Amount     string `json:"amount,omitempty" rule:"amount"`      // in coins, only for the kind part
	FiatAmount string `json:"fiat_amount,omitempty" rule:"amount"` // instead of Amount, in the currency of the invoice
	Again      bool   `json:"again,omitempty" rule:"boolean"`      // allows another refund of the same kind and amount
	Version    int64  `json:"version,omitempty" rule:"whole 1"`    // version of the invoice that the caller has seen
}

// RefundTransaction is the body of a request that records the transaction of a refund.
type RefundTransaction struct {
	Tx      string `json:"tx" rule:"required text 80"`
	Version int64  `json:"version,omitempty" rule:"whole 1"`
}

// RefundDecision is the body of a request that cancels or declines a refund, or keeps a surplus.
type RefundDecision struct {
	Reason  string `json:"reason,omitempty" rule:"line 500"`
	Version int64  `json:"version,omitempty" rule:"whole 1"`
}

// SeenVersion is the body of a request whose only field is the version that the caller has seen.
type SeenVersion struct {
	Version int64 `json:"version,omitempty" rule:"whole 1"`
}
