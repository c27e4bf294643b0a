package api

// Summary is the short form of an invoice, for lists.
type Summary struct {
	ForeignID      string   `json:"foreign_id"`
	OrderID        string   `json:"order_id"`
	Mode           string   `json:"mode"`
	Version        int64    `json:"version"`
	Status         string   `json:"status"`
	Exceptions     []string `json:"exceptions"`
	NeedsDecision  bool     `json:"needs_decision"`
	CreatedAt      string   `json:"created_at"`
	ExpiredAt      string   `json:"expired_at"`
	PaidAt         string   `json:"paid_at"`
	ClientAmount   string   `json:"client_amount"`
	ClientCurrency string   `json:"client_currency"`
	PaidAmount     string   `json:"paid_amount"`
	DueAmount      string   `json:"due_amount"`
	OverpaidAmount string   `json:"overpaid_amount"`
	PaidCurrency   string   `json:"paid_currency"`
	// Received are the amounts of the payments that were received, whether or not they count.
	Received    []ReceivedAmount `json:"received"`
	Description string           `json:"description"`
	Reference   string           `json:"reference"` // entered by a shopper
	Origin      Origin           `json:"origin"`
}

// ReceivedAmount is the amount of a payment.
type ReceivedAmount struct {
	CryptoCurrency string `json:"crypto_currency"`
	Amount         string `json:"amount"`
	State          string `json:"state"` // seen, confirmed or late
}

// Origin is the source of an invoice: an API key, a checkout link, a product, a terminal or the storefront.
// Both texts are empty if it is not known.
type Origin struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// SummaryList is a page of invoices in their short form, newest first.
type SummaryList struct {
	Summaries  []Summary `json:"summaries"`
	NextCursor string    `json:"next_cursor"` // of the next page; empty on the last
}
