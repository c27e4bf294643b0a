package present

import (
	"chequer/internal/locale"
	"chequer/views"
)

// Error returns the page for a request that could not be served.
func (f Frame) Error(heading, text string, action views.Link) views.Error {
	page := views.Error{Page: f.Page(heading, "", "store.css"), Heading: heading, Text: text, Action: action}
	f.choose(&page.Page)
	return page
}

// Languages returns the page that lists languages.
func (f Frame) Languages(list []*locale.Language) views.Languages {
	page := views.Languages{Page: f.Page(f.Text("page.languages"), "", "store.css"), List: list}
	f.choose(&page.Page)
	f.framed(&page.Page)
	return page
}
