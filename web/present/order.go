package present

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"chequer/internal/api"
	"chequer/internal/money"
)

// quantityPattern matches a quantity: ASCII digits, at most four.
var quantityPattern = regexp.MustCompile(`^[0-9]{1,4}$`)

// Order is an order of a product: the product as it is now, and the typed values.
type Order struct {
	Product  api.ProductOffer
	Merchant string
	Token    string
	Quantity string
	OrderID  string
	Note     string
	// UnitPrice, Amount and Currency are the values that the page with the form showed. Amount is the total.
	UnitPrice, Amount, Currency string
}

// Count returns the typed quantity, or 1 and the problem with the typed text.
func (o Order) Count(r Reader) (n int, problem string) {
	maximum := o.Product.MaxQuantity
	switch {
	case o.Quantity == "":
		return 1, r.Text("product.count.none", "Number", "2")
	case !quantityPattern.MatchString(o.Quantity) && strings.Trim(o.Quantity, "0123456789") == "":
		return 1, r.Text("product.count.most", "Number", strconv.Itoa(maximum))
	case !quantityPattern.MatchString(o.Quantity):
		return 1, r.Text("product.count.figures", "Number", "2")
	}
	n, _ = strconv.Atoi(o.Quantity)
	switch {
	case n < 1:
		return 1, r.Text("product.count.least", "Number", "1")
	case n > maximum:
		return 1, r.Text("product.count.most", "Number", strconv.Itoa(maximum))
	}
	return n, ""
}

// Total returns the price of n products as a decimal number; empty if the product has no valid price.
func (o Order) Total(n int) string {
	fiat, _ := money.Fiat(o.Product.FiatCurrency)
	unitPrice, err := money.Parse(o.Product.Price, fiat)
	if err != nil {
		return ""
	}
	return unitPrice.Times(n).String()
}

// ShowedTotal reports whether the page with the form showed the total of n products.
func (o Order) ShowedTotal(n int) bool {
	return o.Amount == o.Total(n) && o.Currency == o.Product.FiatCurrency
}

// IsComplete reports whether the fields other than the quantity have valid values.
func (o Order) IsComplete(r Reader) bool {
	return o.problem(r, "order_id") == "" && o.problem(r, "note") == ""
}

// problem returns the problem with the value of the field "order_id" or "note"; empty if it is valid.
func (o Order) problem(r Reader, name string) string {
	switch {
	case name == "order_id" && o.Product.AskOrderID == api.AskRequired && o.OrderID == "":
		return r.Text("product.reference.none")
	case name == "order_id":
		return r.tooLong(o.OrderID, "product.reference.long", api.MaxShopperOrderID)
	case name == "note" && o.Product.AskNote == api.AskRequired && o.Note == "":
		return r.Text("product.note.none")
	}
	return r.tooLong(o.Note, "product.note.long", api.MaxShopperNote)
}

// Path returns the path of the product's page with the form filled in, below the base path.
func (o Order) Path() string {
	values := url.Values{"quantity": {o.Quantity}}
	if o.OrderID != "" {
		values.Set("order_id", o.OrderID)
	}
	if o.Note != "" {
		values.Set("note", o.Note)
	}
	return "/shop/" + o.Product.Slug + "?" + values.Encode()
}
