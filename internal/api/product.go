package api

// Product is something that a merchant sells at /shop.
type Product struct {
	Slug         string `json:"slug"`
	URL          string `json:"url"`
	Mode         string `json:"mode"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Price        string `json:"price"` // of one
	FiatCurrency string `json:"fiat_currency"`
	MaxQuantity  int    `json:"max_quantity"` // of one order; 0 as many as the server takes
	AskOrderID   string `json:"ask_order_id"`
	AskNote      string `json:"ask_note"`
	// PaymentMethods are offered in this order; empty: those of the merchant.
	PaymentMethods []string `json:"payment_methods"`
	Active         bool     `json:"active"`
	CreatedAt      string   `json:"created_at"`
}

// ProductList is what GET /api/v2/products answers.
type ProductList struct {
	Products []Product `json:"products"`
}

// ProductsRequest asks for what a page of the shop shows: one product, or all of the
// key's mode when no slug is given.
type ProductsRequest struct {
	Slug string `json:"slug,omitempty"`
}

// ProductOffers is what a page of the shop shows.
type ProductOffers struct {
	MerchantName string         `json:"merchant_name"`
	Products     []ProductOffer `json:"products"`
}

// ProductOffer is a product that can be ordered.
type ProductOffer struct {
	Slug         string `json:"slug"`
	Mode         string `json:"mode"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Price        string `json:"price"` // of one
	FiatCurrency string `json:"fiat_currency"`
	MaxQuantity  int    `json:"max_quantity"` // of one order, by all there is to regard
	AskOrderID   string `json:"ask_order_id"`
	AskNote      string `json:"ask_note"`
}

// ProductOrder is what a shopper orders. Amount and currency are the total that they
// were shown: no other is charged.
type ProductOrder struct {
	Slug         string `json:"slug"`
	Quantity     int    `json:"quantity"`
	Amount       string `json:"amount"`
	FiatCurrency string `json:"fiat_currency"`
	OrderID      string `json:"order_id,omitempty"`
	Note         string `json:"note,omitempty"`
}

// Whether a shopper is asked for something.
const (
	AskNo       = "no"
	AskOptional = "optional"
	AskRequired = "required"
)

// MaxQuantity bounds the quantity of any order.
const MaxQuantity = 9999

// Bounds of what a shopper writes, in characters.
const (
	MaxShopperOrderID = 64
	MaxShopperNote    = 500
)

// Names in the metadata of an invoice that a shopper had made by a page.
const (
	MetadataProduct   = "product"    // its slug
	MetadataQuantity  = "quantity"   // as digits
	MetadataUnitPrice = "unit_price" // of one
	MetadataNote      = "note"       // as the shopper wrote it
	MetadataTerminal  = "terminal"   // identifier of the one that made it
	// MetadataOrderReference is what a shopper typed at the form for any amount.
	MetadataOrderReference = "order_reference"
	// MetadataOrderIDFrom is OrderIDFromShopper where the order_id is what a shopper
	// typed, and proves nothing.
	MetadataOrderIDFrom = "order_id_from"
	OrderIDFromShopper  = "shopper"
)

// Codes of an order that is refused.
const (
	CodeProductNotFound  = "product_not_found"
	CodePriceChanged     = "price_changed"
	CodeTerminalNotFound = "terminal_not_found"
)
