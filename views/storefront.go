package views

// Storefront is the form for an open amount.
type Storefront struct {
	Page
	Form
	Demo     bool
	Products Link        // link to the products; empty if there are none
	Asked    []TextField // fields other than the amount
}

// Form is the form that creates an invoice.
type Form struct {
	Action string // address that it posts to
	Token  string // the same in every submission of one form
	Amount string // the typed amount
	Label  string // "Amount in euros"
	Sign   string // "€"
	Error  string // the problem with the amount
	Fault  string // why no invoice was created, if the cause is not the amount
	// Currency is the code of the currency of the amount. The form sends it back.
	Currency string
}

// Checkout is the page of a checkout link.
type Checkout struct {
	Page
	Form
	Price       string // "€56.50"; empty if the shopper enters the amount
	Description string
	Order       string
	Earlier     string     // page of an earlier invoice of the order that has a payment
	Shown       ShownPrice // price of a link with a slug; empty for other links
	Other       Notice     // notice of a payment for the order at another price; if set, the page has no form
}

// ShownPrice is the price that a page shows, in the API's format. The form sends it back.
type ShownPrice struct{ Amount, Currency string }

// About is the page at the root of a service without a storefront.
type About struct {
	Page
}

// InvalidFields returns the fields with an error.
func (s Storefront) InvalidFields() []TextField { return withErrors(s.Asked) }
