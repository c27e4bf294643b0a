package desk

import "chequer/views"

// Webhooks is the list of the endpoints of a shop, with the form that creates another.
type Webhooks struct {
	Frame
	Tabs     []Tab
	Problem  string
	Rows     []WebhookRow
	Action   string // address that creates an endpoint
	URL      Field
	Mode     Choice
	Receiver Choice
	Events   Checks
}

// WebhookRow is an endpoint in the list.
type WebhookRow struct {
	Name    string
	URL     string
	Test    bool
	State   State
	Waiting string // number of pending deliveries
	Failed  string // number of deliveries that were given up
	Tried   string // time of the last attempt
}

// Webhook is the page of one endpoint.
type Webhook struct {
	Frame
	Back       views.Link
	Problem    string
	Row        WebhookRow
	Facts      []Fact
	Buttons    []Button
	Links      []views.Link
	States     []StateLink
	Deliveries []Delivery
	Older      string
}

// WebhookEdit is the form that changes an endpoint.
type WebhookEdit struct {
	Frame
	Back    views.Link
	Problem string
	Action  string
	Version string // of the values that the form shows
	URL     Field
	Events  Checks
}
