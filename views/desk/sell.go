package desk

import "chequer/views"

// SellList is a list of the place Sell: products or checkout links.
type SellList struct {
	Frame
	Problem string
	Tabs    []Tab
	Shop    views.Link // the storefront; empty if there is none
	Add     views.Link
	Note    string
	Caption string
	Columns SellColumns
	Rows    []SellRow
	Empty   string // why there are no rows
	Shown   string
	Next    string // address of the next page; empty on the last
	Removed []RemovedRow
}

// RemovedRow is a checkout link whose removal can be undone.
type RemovedRow struct {
	Name    string
	Text    string
	Restore Button
}

// SellColumns are the headings of the columns of a SellList.
type SellColumns struct{ Name, Detail, State, Sold, Revenue, Amount string }

// SellRow is a product or a checkout link in a list.
type SellRow struct {
	Name    string
	URL     string
	Detail  string
	State   State
	Sold    string // number of paid invoices
	Revenue string
	Amount  string
}

// SellForm is the page of a new or an existing product, checkout link or terminal.
type SellForm struct {
	Frame
	Back    views.Link
	Heading string
	State   State // empty for a new object
	Problem string
	Action  string
	Version string // of the object that the form shows; empty for a new object
	Hidden  []Hidden
	Inputs  [][]Input
	Methods MethodChoice
	Button  string
	Share   Share // empty for a new object
	Facts   []Fact
	Toggle  Button     // hides or shows a product
	Build   views.Link // code for another site
	Sales   views.Link // the payments of the object
	Remove  views.Link
}

// Input is a field of a form: either a text or a choice.
type Input struct {
	Text   Field
	Choice Choice
}

// MethodChoice is the choice of payment methods and of their order: one list of positions per method.
type MethodChoice struct {
	Legend  string
	Hint    string
	Error   string
	Open    bool // shown from the beginning
	Choices []Choice
}

// Share is an address, as text and as a QR code.
type Share struct {
	Label string
	URL   string
	QR    views.QR
	Title string // of the QR code
	Open  string // text of the link to the address; empty if it is not offered
	Copy  Copy
}

// Copy is the button that copies a text of the page. It needs JavaScript and is hidden without it.
type Copy struct {
	ID   string // of the element with the text
	Text string
	Done string // shown after the text was copied
	Fail string // shown if the browser refuses to copy; the script then selects the text
}

// Terminals is the list of the counter terminals of a shop.
type Terminals struct {
	Frame
	Tabs  []Tab
	Add   views.Link
	Rows  []TerminalRow
	Empty string
	Note  string
}

// TerminalRow is a terminal in the list.
type TerminalRow struct {
	Name    string
	Text    string
	Sellers views.Link // the accounts that use it
	Sales   views.Link
	Remove  views.Link
}

// NewTerminal is the page that shows the address of a new terminal once.
type NewTerminal struct {
	Frame
	Heading string
	Intro   string
	Share   Share
	Done    views.Link
}

// TerminalSellers is the page on which a terminal is assigned to sellers.
type TerminalSellers struct {
	Frame
	Back    views.Link
	Heading string
	Intro   string
	Rows    []SellerRow
	Empty   string // why there are no rows
}

// SellerRow is a seller of the shop. State reports whether the terminal is assigned to the seller.
type SellerRow struct {
	Name   string
	State  State
	Change Button
}
