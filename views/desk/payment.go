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
	Message   Notice // the decision or the problem that is open; empty if there is none
	Problem   string // why a decision was refused
	Decisions []DecisionLink
	Columns   []string
	Amounts   []AmountRow
	Timeline  []Step
	Transfers []Transfer
	Facts     []Fact
	Refunds   []RefundRow
	// Deliveries are the deliveries of the invoice's events to webhooks, newest first.
	Deliveries []Delivery
	Notes      Notes
	Snoozed    Snoozed // empty if the case is not snoozed
}

// Notes are the notes of the team about an invoice, oldest first, with the form for a new one.
type Notes struct {
	Rows    []Note
	Removed string // states that earlier notes were removed
	Action  string
	Field   Field
}

// Note is a note of the team about an invoice.
type Note struct {
	Text   string
	Author string
	Time   string // value of the datetime attribute
	At     string // time as displayed
	Remove string // address of the page that removes it; empty if the account may not
}

// Notice is a sentence about the invoice with its details.
type Notice struct {
	Heading string
	Text    string
}

// DecisionLink leads to the page with the consequences of a decision.
type DecisionLink struct {
	Name    string
	Text    string // what the decision does
	URL     string
	Button  string // ends with an ellipsis, because a confirmation follows
	Default bool   // the decision that the page recommends
}

// Decision is the page with the consequences of a decision.
type Decision struct {
	Frame
	Back    views.Link
	Heading string
	Problem string
	Quote   string // text of the note that the decision removes; empty for other decisions
	Results []Result
	Choices []Choice
	Fields  []Field
	Action  string
	Hidden  []Hidden // identifies the version that the page shows
	Button  string
	Danger  bool // the change removes something
}

// Result is a consequence of a decision.
type Result struct {
	Shape string // CSS class of the symbol, see StateLink
	Text  string
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
	Shape  string // CSS class of the symbol, see StateLink
	Time   string // value of the datetime attribute
	At     string // time as displayed
}

// Transfer is a transfer on a network.
type Transfer struct {
	Amount  string
	State   State
	Tx      []views.Group
	TxName  string // label of Tx: "Transaction"
	Address []views.Group
	To      string // label of the address: "Address, index 212"
	// TxPage and AddressPage are pages of explorers; empty if the merchant chose none.
	TxPage, AddressPage views.Link
	Note                string // states that an explorer learns which page of it is opened; empty without explorers
	Facts               []Fact
}

// OwnPayment is a payment at a terminal of a seller.
type OwnPayment struct {
	Frame
	Back      views.Link
	Amount    string
	State     State
	Order     string // "Order 1047"; empty without one
	Reference string
	Page      string     // address of the shopper's page
	Receipt   views.Link // empty unless the payment has one
	Facts     []Fact
}
