package views

import "strings"

// Shop is the list of a merchant's products.
type Shop struct {
	Page
	Items []Item
	Other Link // the form for an open amount; empty if there is none
}

// Item is a product in the list.
type Item struct {
	Name        string
	Description string
	Price       string
	URL         string
}

// Product is the page of a product: its price, the fields that the shopper fills in, and a button.
type Product struct {
	Page
	Name        string
	Description string
	Back        Link // link to the list; empty if the product is not in the list
	Action      string
	Token       string // the same in every submission of one form
	Each        string // "€3.50 each"; empty if the quantity is always one
	Line        string // "3 × Coffee"
	LineTotal   string
	Total       string // "€10.50"
	Button      string // "Order and pay €10.50"

	UnitPrice, Amount, Currency string // the shown values, which the form sends back

	Quantity TextField // empty if the quantity is always one
	Asked    []TextField

	Notice Notice
	Fault  string // why no invoice was created, if the cause is not a field
}

// Notice is a message that the shopper must see before the form is sent.
type Notice struct {
	Heading string
	Text    string
}

// TextField is a text field. Without a Name there is no field.
type TextField struct {
	Name  string
	Label string
	Hint  string
	Value string
	Error string
	Lines bool // may have several lines
	Count bool // holds a whole number
}

// InvalidFields returns the fields with an error.
func (p Product) InvalidFields() []TextField {
	return withErrors(append([]TextField{p.Quantity}, p.Asked...))
}

// withErrors returns the fields with an error.
func withErrors(fields []TextField) (invalid []TextField) {
	for _, f := range fields {
		if f.Error != "" {
			invalid = append(invalid, f)
		}
	}
	return invalid
}

// describedBy returns the ids of the elements that describe the field.
func (f TextField) describedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	return strings.Join(ids, " ")
}

// inputMode returns the field's inputmode, which selects a phone's keyboard.
func (f TextField) inputMode() string {
	if f.Count {
		return "numeric"
	}
	return "text"
}

// filled reports whether a field has a value or an error, so that the fields must be shown.
func filled(fields []TextField) bool {
	for _, f := range fields {
		if f.Value != "" || f.Error != "" {
			return true
		}
	}
	return false
}
