package desk

import "chequer/views"

// Storefront is the page with the addresses of the storefront, and with the code for the merchant's own site.
type Storefront struct {
	Frame
	Tabs     []Tab
	Pages    []StorefrontLink
	Action   string   // address of the form
	Kept     []Hidden // mode, sent as a hidden field with the choice
	Item     Choice
	Label    Field
	Problem  string
	Empty    string // why there is no code
	Snippets []Snippet
	Preview  views.Link
	Note     string   // about the sites that may show the checkout in a dialog
	Origins  []string // the origins of these sites
}

// StorefrontLink is a page of the storefront, with its address.
type StorefrontLink struct {
	Name string
	Text string
	Open views.Link // empty if the page is not served
}

// Snippet is code for the merchant's own site.
type Snippet struct {
	Name string
	Text string // what the code does
	Code string
	Copy Copy
}
