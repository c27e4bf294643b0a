package views

// Embed is the page that builds a snippet for a merchant's own page.
type Embed struct {
	Page
	Action  string // address that the form posts to
	Typed   string // the typed link
	Example string
	Error   string   // the problem with the typed link
	Link    string   // the whole link; empty until a valid link is typed
	Plain   string   // the snippet with a plain link
	Modal   string   // the snippet that opens a dialog
	Origins []string // origins of the pages that may show the dialog
}
