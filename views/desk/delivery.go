package desk

import "chequer/views"

// Delivery is the sending of an event to an endpoint.
type Delivery struct {
	Type     string
	URL      string // address of its page; empty if the account may not see it
	To       string // name of the endpoint; empty in the list of one endpoint
	State    State
	Pending  bool
	Result   string // of the newest attempt; empty before it
	Attempts string
	Next     string // time of the next attempt; empty if there is none
	Waits    string // states that it waits for an earlier event; empty if it does not
	Time     string // value of the datetime attribute
	At       string // time as displayed
	Resend   Button // empty if the account may not send it again
}

// DeliveryDetail is the page of one delivery.
type DeliveryDetail struct {
	Frame
	Delivery
	Back     views.Link
	EventID  string
	Invoice  views.Link // empty if the event is not one of an invoice
	Hint     string
	Attempts []Step
}
