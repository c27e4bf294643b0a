package views

import (
	"chequer/internal/manual"
	"chequer/internal/openapi"
)

// Manual is a page of the manual.
type Manual struct {
	Page
	Navigation Navigation
	HTML       string // rendered from files of this program, so it needs no escaping
	Previous   Link
	Next       Link // empty on the last page
}

// ManualOverview is the start page of the manual and the API reference. It lists the contents of both.
type ManualOverview struct {
	Page
	Navigation Navigation
	Topics     []Topic
	Reference  string // address of the API reference
	Document   *openapi.Document
}

// Topic is a page of the manual with a line about it.
type Topic struct {
	Link
	Summary string
}

// ManualSearch is the result of a search in the manual and the API reference.
type ManualSearch struct {
	Page
	Navigation Navigation
	Result     string // the sentence with the number of sections found; empty without a query
	Hits       []manual.Hit
}

// ManualLink is a link to a page of the manual, with those to the pages of its group.
type ManualLink struct {
	Link
	Pages []ManualLink
}

// Navigation holds the links to the overview, the pages of the manual and the API reference, and the
// search form.
type Navigation struct {
	Pages    []ManualLink
	Current  string // address of the page that is shown
	Sections []Link // sections of the current page
	IsOpen   bool   // the list of pages is open on wide screens
	Search   string // address that the search form sends Query to
	Query    string // the words that were searched for
}
