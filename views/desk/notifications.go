package desk

import "chequer/views"

// Notifications is the page at which an account chooses its notifications, their addresses and their times.
type Notifications struct {
	Frame
	Back    views.Link
	Problem string
	Warning string // why the server sends no e-mail; empty if it sends e-mail
	// Choose is the address of the form of the kinds.
	Choose string
	Kinds  []Checks // for each channel; none if the role of the account gets no kind
	// SetTimes is the address of the form of the times.
	SetTimes     string
	Zone         Field
	From, To     Field
	BrokenPasses bool
	// SetDestinations is the address of the form of the destinations.
	SetDestinations string
	Email           Field
	PushURL         Field
	PushToken       Field
	HasToken        bool
	Test            Button    // empty without a destination
	Messages        []Finding // the newest messages with their states
}
