package desk

import "chequer/views"

// Sweeps lists the recorded plans of sweeps.
type Sweeps struct {
	Frame
	Tabs    []Tab
	Rows    []SweepRow
	Shown   string
	Older   string // address of the next page; empty if there is none
	Empty   string // that there are none
	Command string // that makes a plan
}

// SweepRow is a plan in a list.
type SweepRow struct {
	Sum   string
	URL   string
	To    string // with the network and the fingerprint
	Rows  string // numbers of rows by state
	State State
	Time  string
	At    string
	Until string
	Fee   string
}

// Sweep is the page of a plan.
type Sweep struct {
	Frame
	Back     views.Link
	Heading  string
	State    State
	Problem  string
	Notes    []Result // what can be done, and with which command
	Look     Button   // settles the plan
	Send     views.Link
	Again    bool // Send tries rows again that failed
	Stop     views.Link
	To       []views.Group
	ToPage   views.Link
	Facts    []Fact
	Sent     []SweepTransaction
	Explorer string // note about explorers; empty if there is no link to one
	Rows     []SweepLine
	Shown    string
	Next     string // address of the next page of rows; empty if there is none
	Skipped  string // why amounts are skipped, with their numbers; empty if none is
	Left     []SweepLine
}

// SweepTransaction is a transaction of a plan.
type SweepTransaction struct {
	Tx   []views.Group
	Page views.Link
	Rows string
}

// SweepLine is the row of a plan, or an amount that it skips.
type SweepLine struct {
	Number string
	From   string
	Path   string
	Amount string
	State  State
	Why    string
	Tx     string // the first characters of the transaction
	TxPage string // address at an explorer; empty if there is none
}

// SweepSending is the page on which a browser wallet pays for the rows of a plan.
type SweepSending struct {
	Frame
	Back     views.Link
	Heading  string
	Problem  string
	Fault    string // why nothing can be sent now; empty if there is no such reason
	Action   string
	File     Field
	Summary  string
	Waiting  string // the number of rows that are sent already; empty if none is
	Carriers []SweepCarrier
	Script   string // address of the script; empty if nothing can be sent
	Chain    string // chain ID
	Network  string
	Coin     string
	Contract string // that the transactions call
	Ask      string // address that answers whether a carrier may be sent
	Record   string // address that records the hash of a carrier
	Failing  []SweepLine
}

// SweepCarrier is a transaction that the wallet can send.
type SweepCarrier struct {
	Heading string
	Text    string
	Rows    string // numbers, for the form
	Proof   string // of the rows, see visit.Visit.Seal
	Data    string // 0x and hex digits
	Gas     string // 0x and hex digits
}
