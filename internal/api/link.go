package api

// Link is a checkout link: whoever follows it may have an invoice made of it.
type Link struct {
	Slug         string `json:"slug"`
	URL          string `json:"url"`
	Mode         string `json:"mode"`
	Amount       string `json:"amount"` // empty lets the shopper say it
	FiatCurrency string `json:"fiat_currency"`
	Description  string `json:"description"`
	Language     string `json:"language"`
	URLSuccess   string `json:"url_success"`
	URLFailure   string `json:"url_failure"`
	// PaymentMethods are offered in this order; empty: those of the merchant.
	PaymentMethods []string `json:"payment_methods"`
	EndsAt         string   `json:"ends_at"`  // empty never
	MaxUses        int      `json:"max_uses"` // invoices that it makes; 0 any number
	CreatedAt      string   `json:"created_at"`
}

// LinkList is what GET /api/v2/links answers.
type LinkList struct {
	Links []Link `json:"links"`
}

// OfferRequest names a checkout link for a page: one that a merchant made, by its
// slug, or one that he signed, by the query of its address. A terminal is one, too:
// whoever stands at it says the amount, and what it is for.
type OfferRequest struct {
	Slug     string `json:"slug,omitempty"`
	Query    string `json:"query,omitempty"`
	Terminal string `json:"terminal,omitempty"` // its secret
	Amount   string `json:"amount,omitempty"`   // to pay, where the link lets the shopper say it
	OrderID  string `json:"order_id,omitempty"` // at a terminal alone, as is the note
	Note     string `json:"note,omitempty"`
	// What the page of a link by its slug showed, so that no other price is charged.
	ShownAmount   string `json:"shown_amount,omitempty"`
	ShownCurrency string `json:"shown_currency,omitempty"`
}

// Offer is what a checkout link asks for.
type Offer struct {
	MerchantName string `json:"merchant_name"`
	Look         string `json:"look"` // hash; empty for ours
	Mode         string `json:"mode"`
	Amount       string `json:"amount"` // empty lets the shopper say it
	FiatCurrency string `json:"fiat_currency"`
	OrderID      string `json:"order_id"`
	Description  string `json:"description"`
	Language     string `json:"language"`
	// ForeignID is the invoice that the order has, open or paid; empty when one is
	// to be made.
	ForeignID string `json:"foreign_id"`
	// OtherID is an invoice of the order with another price, for which a payment was
	// seen: the link makes no invoice. The other fields describe that invoice.
	OtherID       string `json:"other_id"`
	OtherStatus   string `json:"other_status"`
	OtherAmount   string `json:"other_amount"`
	OtherCurrency string `json:"other_currency"`
	OtherReceived string `json:"other_received"` // what counts, in OtherCurrency
	// EarlierID is an invoice of the order that ended although money came.
	EarlierID string `json:"earlier_id"`
}

// OfferMade is the invoice that a checkout link leads to.
type OfferMade struct {
	ForeignID string `json:"foreign_id"`
}

// Codes of a signed link that is refused.
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
