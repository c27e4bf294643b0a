package views

// Storefront is the form for an open amount.
type Storefront struct {
	Page
	Form
	Demo     bool
	Products Link // to what is sold; empty without any
	Asked    []TextField
}

// Form is what an invoice is asked for by.
type Form struct {
	Action string // where it is sent
	Token  string // the same on every try of one form
	Amount string // as it was typed
	Label  string // "Amount in euros"
	Sign   string // "€"
	Error  string // what is wrong with the amount
	Fault  string // why nothing could be made, when the amount is not at fault
}

// Checkout is the page of a checkout link.
type Checkout struct {
	Page
	Form
	Price       string // "€56.50"; empty when the shopper says the amount
	Description string
	Order       string
	Earlier     string // page of an earlier invoice of the order, that money came for
	Shown       Shown  // price of a link by its slug
	Other       Notice // payment for the order at another price: the page has no form then
}

// Shown is a price as the service wrote it, which a form sends back.
type Shown struct{ Amount, Currency string }

// About is the page at the root of a service without a storefront.
type About struct {
	Page
}

// Faults are the fields with something wrong.
func (s Storefront) Faults() []TextField { return faulty(s.Asked) }
