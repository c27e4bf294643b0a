package desk

import "chequer/views"

// Attention lists the invoices that wait for a decision.
type Attention struct {
	Frame
	Cases []Case
	Newer string // address of the page with newer cases; empty on the last. Cases are oldest first.
	// Snoozed and Resolved are only on the first page.
	Snoozed  []Snoozed
	Resolved []Resolved
}

// Snoozed is an invoice that is hidden until a time.
type Snoozed struct {
	Shop    string // name of the shop; only on pages of all shops
	Heading string
	URL     string // of the invoice
	Text    string
	Undo    Button
}

// Resolved is an invoice that has stopped waiting for a decision.
type Resolved struct {
	Shop    string // name of the shop; only on pages of all shops
	Heading string
	URL     string // of the invoice
	Text    string
	Time    string // value of the datetime attribute
	At      string // time as displayed
}

// Case is an invoice that waits for a decision.
type Case struct {
	Shop    string // name of the shop; only on pages of all shops
	Heading string
	URL     string // of the invoice
	Shape   string // CSS class of the symbol, see StateLink
	Text    string
	Action  views.Link
	Snooze  views.Link
}
