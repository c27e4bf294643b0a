package api

// Link is a checkout link, which creates an invoice when a shopper uses it.
type Link struct {
	Slug         string `json:"slug"`
	URL          string `json:"url"`
	Mode         string `json:"mode"`
	Amount       string `json:"amount"` // empty: chosen by the shopper
	FiatCurrency string `json:"fiat_currency"`
	Description  string `json:"description"`
	Language     string `json:"language"`
	URLSuccess   string `json:"url_success"`
	URLFailure   string `json:"url_failure"`
	// PaymentMethods are offered in this order; empty: those of the merchant.
	PaymentMethods []string `json:"payment_methods"`
	EndsAt         string   `json:"ends_at"`  // empty: no end
	MaxUses        int      `json:"max_uses"` // maximum number of invoices; 0: any number
	CreatedAt      string   `json:"created_at"`
}

// LinkList is the response body of GET /api/v2/links.
type LinkList struct {
	Links []Link `json:"links"`
}

// CheckoutRequest identifies a merchant's link by its slug, a signed link by its query, or a terminal
// by its secret. At a terminal the user enters Amount, OrderID and Note.
type CheckoutRequest struct {
	Slug     string `json:"slug,omitempty"`
	Query    string `json:"query,omitempty"`
	Terminal string `json:"terminal,omitempty"` // secret of the terminal
	Amount   string `json:"amount,omitempty"`   // if the link lets the shopper choose it
	OrderID  string `json:"order_id,omitempty"` // only at a terminal, like Note
	Note     string `json:"note,omitempty"`
	// ShownAmount and ShownCurrency are the price that the page of a link with a slug showed. If the
	// price has changed since, no invoice is created.
	ShownAmount   string `json:"shown_amount,omitempty"`
	ShownCurrency string `json:"shown_currency,omitempty"`
}

// CheckoutLink is the content of a checkout link.
type CheckoutLink struct {
	MerchantName string `json:"merchant_name"`
	Theme        string `json:"look"` // hash; empty: default theme
	Mode         string `json:"mode"`
	Amount       string `json:"amount"` // empty: chosen by the shopper
	FiatCurrency string `json:"fiat_currency"`
	OrderID      string `json:"order_id"`
	Description  string `json:"description"`
	Language     string `json:"language"`
	// ForeignID is the open or paid invoice of the order; empty if an invoice must be created.
	ForeignID string `json:"foreign_id"`
	// OtherID is an invoice of the order with another price, for which a payment was seen: the link
	// creates no invoice. The other fields describe that invoice.
	OtherID       string `json:"other_id"`
	OtherStatus   string `json:"other_status"`
	OtherAmount   string `json:"other_amount"`
	OtherCurrency string `json:"other_currency"`
	OtherReceived string `json:"other_received"` // sum of the payments that count, in OtherCurrency
	// EarlierID is an invoice of the order that ended although it received a payment.
	EarlierID string `json:"earlier_id"`
}

// CheckoutInvoice is the invoice of a checkout link.
type CheckoutInvoice struct {
	ForeignID string `json:"foreign_id"`
}

// Error codes of requests with a checkout link.
const (
	CodeLinkMalformed = "link_malformed"
	CodeLinkUnknown   = "link_unknown_parameter"
	CodeLinkRepeated  = "link_repeated_parameter"
	CodeLinkMissing   = "link_missing_parameter"
	CodeLinkChanged   = "link_changed"
	CodeLinkExpired   = "link_expired"
	CodeLinkNotFound  = "link_not_found"
	CodeLinkKey       = "link_key_may_not"
	CodeLinkOrderPaid = "link_order_paid"
)
