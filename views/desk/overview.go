package desk

import "chequer/views"

// Overview is the first page of a shop, and the page of all shops.
type Overview struct {
	Frame
	Periods []Tab
	Notices []SecurityNotice
	Dismiss Button      // dismisses the notices
	Steps   []FirstStep // first steps; empty if the shop has a payment
	Done    string      // "2 of 5 done"
	Totals  []Total
	Charts  []Chart
	Empty   string   // why there is no chart; empty if there is a chart
	Note    string   // what the totals lack, or in which time zone their days begin; may be empty
	Groups  []Groups // totals by shop; only on the page of all shops

	MayDecide   bool // the account may decide about payments
	Cases       []Case
	AllCases    views.Link
	Rows        []PaymentRow // the newest payments
	AllPayments string       // address of all payments
}

// SecurityNotice is a notice to an owner about a change of a wallet, an owner or a sign-in method.
type SecurityNotice struct {
	Text   string
	Detail string // the actor and the time
	URL    string // of the entry in the audit log
}

// Total is a number with its name.
type Total struct {
	Name  string
	Parts []TotalPart // more than one if there are several currencies
}

// TotalPart is a number with a note: the number of the previous period, for example.
type TotalPart struct {
	Value string
	URL   string // list of the payments that it counts; may be empty
	Note  string
}

// FirstStep is a first step of a shop.
type FirstStep struct {
	Name string
	Hint string // how to do it; empty once it is done
	Done bool
	Link views.Link // its URL is empty if the step cannot be done at the desk
}
