package desk

import "chequer/views"

// Refund is the page that prepares the refunds of an invoice and shows what the merchant's wallet has to pay.
type Refund struct {
	Frame
	Back    views.Link
	Heading string
	Problem string // why a change was refused
	Request Notice // what the shopper asks for; empty if there is no request
	Decline views.Link
	Note    string // why no refund can be prepared; empty if Form is shown
	Form    RefundForm
	Open    []OpenRefund
	Columns []string
	Balance []AmountRow
	Earlier []RefundRow
}

// RefundForm prepares a refund.
type RefundForm struct {
	Action  string
	Version string
	Amount  Choice
	Part    Field
	Address Field
	Button  string
}

// OpenRefund is a refund that was not sent.
type OpenRefund struct {
	ID          string // distinguishes the fields of the forms
	Heading     string
	State       State
	Trouble     string     // with its last payment; empty if there is none
	Check       views.Link // states that the merchant has looked at it; empty if there is none to look at
	Warning     Result     // why the refund must not be paid now; empty if it can be paid
	Amount      string     // a number with a decimal point
	Unit        string
	Value       string // in fiat
	CopyAmount  Copy
	To          string // label of the address, with the network and the account that entered it
	Address     []views.Group
	CopyAddress Copy
	Link        views.Link
	URI         string
	CopyURI     Copy
	QR          views.QR
	QRTitle     string
	QRHint      string // what the QR code contains if not the link
	Checks      []Result

	Version string
	Sent    RefundTx   // empty while the refund cannot be sent
	Renew   views.Link // leads to the page that determines the amount again; empty while the amount is valid
	Cancel  views.Link
}

// RefundTx is the form for the transaction of a refund.
type RefundTx struct {
	Action string
	Field  Field
	Button string
}

// RefundRow is a refund in a list.
type RefundRow struct {
	Name   string // the order, or the reference of an invoice without one
	Amount string
	Value  string // in fiat
	URL    string
	State  State
	Detail string
	// Warning is about something that the merchant has to look at; empty if there is nothing.
	Warning string
	Check   views.Link // states that the merchant has looked at the warning; empty if there is none to look at
	Version string     // of the invoice, for Check
	Time    string     // value of the datetime attribute
	At      string     // time as displayed
	Tx      []views.Group
}

// Refunds is the list of a shop's refunds.
type Refunds struct {
	Frame
	Tabs    []Tab
	States  []StateLink
	Rows    []RefundRow
	Caption string
	Empty   string // why there are no rows
	Shown   string
	Older   string // address of the next page; empty on the last
}
