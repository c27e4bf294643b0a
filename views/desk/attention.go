package desk

import "chequer/views"

// Attention lists the invoices that wait for a decision.
type Attention struct {
	Frame
	Cases []Case
	Newer string // address of the next page; empty on the last
}

// Case is an invoice that waits for a decision.
type Case struct {
	Shop    string // name of the shop; only on pages of all shops
	Heading string
	URL     string // of the invoice
	Shape   string // CSS class of the symbol, see StateLink
	Text    string
	Action  views.Link
}
