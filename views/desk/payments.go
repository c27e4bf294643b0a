package desk

// Payments is the list of a shop's invoices.
type Payments struct {
	Frame
	Tabs         []Tab
	States       []StateLink
	Filters      []Filter
	Action       string   // address of the form with the filters
	Kept         []Hidden // mode and state, sent as hidden fields with the filters
	Problem      string
	Rows         []PaymentRow
	IsFirst      bool // the page shows the newest rows
	Caption      string
	Empty        string // why there are no rows
	TestPayments string // address of the test payments; empty unless the list is empty of live payments, and there are test payments
	Shown        string // "20 payments, newest first"
	Older        string // address of the next page; empty on the last
	OlderText    string // text of the link to it
	Clear        string // address of the list without filters; empty without filters
}

// StateLink is a link that shows only the rows in one state, or all rows.
type StateLink struct {
	Text    string
	URL     string
	Shape   string // CSS class of the symbol: "ok", "wait", "warn", "bad" or "off"
	Count   string
	Current bool
}

// Filter is a list to choose from in the form with the filters.
type Filter struct {
	Name    string
	Label   string
	Options []Option
	Error   string
}

// State is the state of an invoice, delivery, transfer, endpoint, link or product, as text with a symbol.
type State struct {
	Text  string
	Shape string // CSS class of the symbol, see StateLink
}

// PaymentRow is an invoice in the list.
type PaymentRow struct {
	Shop        string // name of the shop; only on pages of all shops
	Name        string // the order, or the reference of an invoice without one
	URL         string
	Description string
	Method      string
	Network     string
	State       State
	Time        string // value of the datetime attribute
	At          string // time as displayed
	Amount      string
}

// OwnTerminals are the terminals of a seller with their payments of the present day.
type OwnTerminals struct {
	Payments
	Terminals []OwnTerminal
}

// OwnTerminal is a terminal of a seller.
type OwnTerminal struct {
	Name  string
	Test  string // "Test"; empty for a live terminal
	Total string // number and sum of its payments of the day
	Open  Button
}
