package views

// Storefront is the form for an open amount.
type Storefront struct {
	Page
	Action string // where the form is sent
	Token  string // the same on every try of one form
	Amount string // as it was typed
	Unit   string // "euros"
	Sign   string // "€"
	Error  string // what is wrong with the amount
	Fault  string // why nothing could be made, when the amount is not at fault
	Demo   bool
}

// About is the page at the root of a service without a storefront.
type About struct {
	Page
}
