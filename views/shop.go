package views

import "strings"

// Shop is the list of what a merchant sells.
type Shop struct {
	Page
	Items []Item
	Other Link // the form for any amount; empty without one
}

// Item is a product in the list.
type Item struct {
	Name        string
	Description string
	Price       string
	URL         string
}

// Product is the page of one product: what it costs, what is asked of the shopper,
// and one button.
type Product struct {
	Page
	Name        string
	Description string
	Back        Link // to the list; empty when the product is not in it
	Action      string
	Token       string // the same on every try of one form
	Each        string // "€3.50 each"; empty when there can be one only
	Line        string // "3 × Coffee"
	LineTotal   string
	Total       string // "€10.50"
	Button      string // "Order and pay €10.50"

	UnitPrice, Amount, Currency string // what is shown, for the form to say

	Quantity TextField // none when there can be one only
	Asked    []TextField

	Notice Notice
	Fault  string // why nothing could be made, when no field is at fault
}

// Notice is something to look at before the button is pressed again.
type Notice struct {
	Heading string
	Text    string
}

// TextField is a field to type into; none without a name.
type TextField struct {
	Name  string
	Label string
	Hint  string
	Value string
	Error string
	Lines bool // may have several
	Count bool // digits
}

// Faults are the fields with something wrong.
func (p Product) Faults() []TextField { return faulty(append([]TextField{p.Quantity}, p.Asked...)) }

func faulty(fields []TextField) (wrong []TextField) {
	for _, f := range fields {
		if f.Error != "" {
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// describedBy names what tells more of the field.
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

// kind is what a phone's keyboard is for.
func (f TextField) kind() string {
	if f.Count {
		return "numeric"
	}
	return "text"
}

// filled tells whether something was typed that is not shown at first, or is wrong.
func filled(fields []TextField) bool {
	for _, f := range fields {
		if f.Value != "" || f.Error != "" {
			return true
		}
	}
	return false
}
