package api

// Product is a product that a merchant sells at /shop.
type Product struct {
	Slug         string `json:"slug"`
	URL          string `json:"url"`
	Mode         string `json:"mode"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Price        string `json:"price"` // of one piece
	FiatCurrency string `json:"fiat_currency"`
	VATRate      string `json:"vat_rate"`     // percent, included in the price; empty: not stated
	MaxQuantity  int    `json:"max_quantity"` // in one order; 0: the server's maximum
	AskOrderID   string `json:"ask_order_id"`
	AskNote      string `json:"ask_note"`
	// PaymentMethods are offered in this order; empty: those of the merchant.
	PaymentMethods []string `json:"payment_methods"`
	Active         bool     `json:"active"`
	CreatedAt      string   `json:"created_at"`
}

// ProductRequest is the body of a request that creates a product.
type ProductRequest struct {
	Slug          string `json:"slug" rule:"required text 64"`
	ProductChange `rule:"required name price fiat_currency"`
}

// ProductChange is the body of a request that changes a product. Fields that are nil stay unchanged.
type ProductChange struct {
	Name           *string   `json:"name,omitempty" rule:"line 120"`
	Description    *string   `json:"description,omitempty" rule:"line 1000"`
	Price          *string   `json:"price,omitempty" rule:"amount"`
	FiatCurrency   *string   `json:"fiat_currency,omitempty" rule:"text 8"`
	VATRate        *string   `json:"vat_rate,omitempty" rule:"percent"`
	MaxQuantity    *int      `json:"max_quantity,omitempty" rule:"whole 0 9999"`
	AskOrderID     *string   `json:"ask_order_id,omitempty" rule:"asking"`
	AskNote        *string   `json:"ask_note,omitempty" rule:"asking"`
	PaymentMethods *[]string `json:"payment_methods,omitempty" rule:"choice"`
	Active         *bool     `json:"active,omitempty" rule:"boolean"`
}

// ProductList is the response body of GET /api/v2/products.
type ProductList struct {
	Products []Product `json:"products"`
}

// ProductsRequest is the body of a request for the content of a shop page: one product, or all
// products of the key's mode if there is no slug.
type ProductsRequest struct {
	Slug string `json:"slug,omitempty" rule:"text 64"`
}

// ProductOffers is the content of a shop page.
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
	Price        string `json:"price"` // of one piece
	FiatCurrency string `json:"fiat_currency"`
	MaxQuantity  int    `json:"max_quantity"` // in one order, within all limits
	AskOrderID   string `json:"ask_order_id"`
	AskNote      string `json:"ask_note"`
}

// ProductOrder is a shopper's order. Amount and currency are the total that the shopper was shown:
// no other total is charged.
type ProductOrder struct {
	Slug         string `json:"slug" rule:"required text 64"`
	Quantity     int    `json:"quantity" rule:"required whole 1 9999"`
	Amount       string `json:"amount" rule:"required amount"`
	FiatCurrency string `json:"fiat_currency" rule:"required text 8"`
	OrderID      string `json:"order_id,omitempty" rule:"line 64"`
	Note         string `json:"note,omitempty" rule:"paragraph 500"`
}

// Values of AskOrderID and AskNote: whether a shopper is asked for a value.
const (
	AskNo       = "no"
	AskOptional = "optional"
	AskRequired = "required"
)

// MaxQuantity bounds the quantity of any order.
const MaxQuantity = 9999

// Bounds of the shopper's texts, in characters.
const (
	MaxShopperOrderID = 64
	MaxShopperNote    = 500
)

// Names in the metadata of an invoice that a page created for a shopper.
const (
	MetadataProduct   = "product"    // slug of the product
	MetadataQuantity  = "quantity"   // in digits
	MetadataUnitPrice = "unit_price" // of one piece
	MetadataNote      = "note"       // text of the shopper
	MetadataTerminal  = "terminal"   // identifier of the terminal that created the invoice
	// MetadataOrderReference is a text that a shopper entered in the form of the storefront.
	MetadataOrderReference = "order_reference"
	// MetadataOrderIDFrom is OrderIDFromShopper if a shopper entered the order_id, which is then not
	// verified.
	MetadataOrderIDFrom = "order_id_from"
	OrderIDFromShopper  = "shopper"
)

// Error codes of orders.
const (
	CodeProductNotFound  = "product_not_found"
	CodePriceChanged     = "price_changed"
	CodeTerminalNotFound = "terminal_not_found"
)
