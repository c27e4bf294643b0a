package desk

import "chequer/views"

// Payment is one invoice.
type Payment struct {
	Frame
	Back      views.Link
	Amount    string
	State     State
	Order     string // "Order 1047"; empty without one
	Reference string
	Page      string // address of the shopper's page
	Say       Notice // the decision or the problem that is open; empty if there is none
	Columns   []string
	Amounts   []AmountRow
	Timeline  []Step
	Transfers []Transfer
	Facts     []Fact
}

// Notice is a sentence about the invoice with its details.
type Notice struct {
	Heading string
	Text    string
}

// AmountRow is a row of the table of amounts.
type AmountRow struct {
	Name   string
	Values []string
	Sum    bool
}

// Step is an entry of the timeline.
type Step struct {
	Text   string
	Detail string
	Shape  string
	Time   string // for programs
	At     string
}

// Transfer is a transfer on a network.
type Transfer struct {
	Amount  string
	State   State
	Tx      []views.Group
	Address []views.Group
	To      string // label of the address: "Address, index 212"
	Facts   []Fact
}
