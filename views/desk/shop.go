package desk

import "chequer/views"

// Setup is the second step of the first run.
type Setup struct {
	Frame
	Action   string
	Seen     string // name that the page shows as the current one
	Name     Field  // zero if the name cannot be changed here
	Currency Choice
	Zone     Choice
	Skip     string // address of the next page
}

// ShopSettings is the page of the shop's name and of new shops.
type ShopSettings struct {
	Frame
	Tabs    []Tab
	Problem string // why a form was refused as a whole; empty if none was refused
	Facts   []Fact
	Open    views.Link // storefront
	Rename  string     // address of the action
	Seen    string     // name that the page shows as the current one
	Name    Field
	Fixed   string // why the name cannot be changed here; empty if it can be changed
	Create  string // address of the action
	New     Field  // name of a new shop
}
