package desk

// Payments is the list of a shop's invoices.
type Payments struct {
	Frame
	States  []StateLink
	Filters []Filter
	Action  string // address of the form with the filters
	Kept    []Hidden
	Problem string
	Rows    []PaymentRow
	Caption string
	Empty   string // why there are no rows
	Shown   string // "20 payments, newest first"
	Older   string // address of the next page; empty on the last
	Clear   string // address of the list without filters; empty without filters
}

// StateLink selects the invoices in one state.
type StateLink struct {
	Text    string
	URL     string
	Shape   string // class of the shape: "ok", "wait", "warn", "bad" or "off"
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

// State is the state of an invoice: a word and a shape.
type State struct {
	Text  string
	Shape string
}

// PaymentRow is an invoice in the list.
type PaymentRow struct {
	Name        string // the order, or the reference of an invoice without one
	URL         string
	Description string
	Method      string
	Network     string
	State       State
	Time        string // for programs
	At          string
	Amount      string
}
