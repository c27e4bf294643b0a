package desk

import "chequer/views"

// Notifications is the page at which an account chooses its notifications, their addresses and their times.
type Notifications struct {
	Frame
	Back    views.Link
	Problem string
	Warning string // why the server sends no e-mail; empty if it sends e-mail
	// Receives reports whether the account may get a notification in one of its shops.
	Receives bool
	// HasDestination reports whether an address is stored.
	HasDestination bool
	// Choose is the address of the form of the kinds.
	Choose string
	Kinds  []Checks // for each channel; none if the role of the account gets no kind
	// SetTimes is the address of the form of the times.
	SetTimes           string
	Zone               Field
	From, To           Field
	GetsBroken         bool // the account may get messages about faults
	BrokenIgnoresQuiet bool
	// SetDestinations is the address of the form of the destinations.
	SetDestinations string
	Email           Field
	PushURL         Field
	PushToken       Field
	HasToken        bool
	Pending         string    // that an e-mail address waits for its confirmation; empty if none does
	SendLink        Button    // sends the link of that address again
	Test            Button    // empty without a destination
	Messages        []Finding // the newest messages with their states
}
