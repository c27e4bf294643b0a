package desk

import "chequer/views"

// Refusal is the page for an action that the role of the account does not allow. It names the accounts
// that may act.
type Refusal struct {
	Frame
	Heading string
	Intro   string
	Back    views.Link
}
