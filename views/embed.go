package views

// Embed is the page that builds a snippet.
type Embed struct {
	Page
	Action  string // where the form is sent
	Typed   string // the link as it was typed
	Example string
	Error   string // what is wrong with it
	Link    string // the whole link; empty before there is one
	Plain   string // what to paste
	Modal   string
	Origins []string // of pages that it opens over
}
