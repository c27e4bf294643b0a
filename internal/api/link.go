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

// LinkRequest is the body of a request that creates a checkout link.
type LinkRequest struct {
	Slug       string `json:"slug,omitempty" rule:"text 64"` // empty: random
	LinkChange `rule:"required fiat_currency"`
}

// LinkChange is the body of a request that changes a checkout link. Fields that are nil stay
// unchanged.
type LinkChange struct {
	Amount         *string   `json:"amount,omitempty" rule:"amount"`
	FiatCurrency   *string   `json:"fiat_currency,omitempty" rule:"text 8"`
	Description    *string   `json:"description,omitempty" rule:"text 512"`
	Language       *string   `json:"language,omitempty" rule:"language"`
	URLSuccess     *string   `json:"url_success,omitempty" rule:"url"`
	URLFailure     *string   `json:"url_failure,omitempty" rule:"url"`
	PaymentMethods *[]string `json:"payment_methods,omitempty" rule:"choice"`
	EndsAt         *string   `json:"ends_at,omitempty" rule:"time"`
	MaxUses        *int      `json:"max_uses,omitempty" rule:"whole 0 1000000"`
}

// LinkList is the response body of GET /api/v2/links.
type LinkList struct {
	Links      []Link `json:"links"`
	NextCursor string `json:"next_cursor"` // of the next page; empty on the last
}

// CheckoutRequest identifies a merchant's link by its slug, a signed link by its query, or a terminal
// by its secret. At a terminal the seller enters Amount, OrderID and Note.
type CheckoutRequest struct {
	Slug string `json:"slug,omitempty" rule:"text 64"`
	// Query has room for two return addresses and a description, with every letter percent-encoded.
	Query    string `json:"query,omitempty" rule:"text 24576"`
	Terminal string `json:"terminal,omitempty" rule:"text 64"` // secret of the terminal
	Amount   string `json:"amount,omitempty" rule:"amount"`    // to pay, if the link lets the shopper choose it
	OrderID  string `json:"order_id,omitempty" rule:"line 64"` // only at a terminal, like Note
	Note     string `json:"note,omitempty" rule:"paragraph 500"`
	// ShownAmount and ShownCurrency are the price that the page of a link with a slug showed. ShownCurrency alone is the
	// currency of a page, also of a terminal, on which the amount is entered. If the price or the currency has changed since,
	// no invoice is created.
	ShownAmount   string `json:"shown_amount,omitempty" rule:"amount"`
	ShownCurrency string `json:"shown_currency,omitempty" rule:"text 8"`
}

// CheckoutLink is the content of a checkout link.
type CheckoutLink struct {
	MerchantID   string `json:"merchant_id"`
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
