package views

import (
	"chequer/internal/manual"
	"chequer/internal/openapi"
)

// Manual is a page of the manual.
type Manual struct {
	Page
	Navigation Navigation
	HTML       string // of the program's own pages, so it needs no escaping
	Previous   Link
	Next       Link // empty on the last page
}

// ManualOverview is the entry to the manual and the API reference. It has the contents of both.
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
	Result     string // how many sections were found, in words; empty without a query
	Hits       []manual.Hit
}

// Navigation leads to the overview, the pages of the manual, the API reference and the search.
type Navigation struct {
	Pages    []Link
	Current  string // address of the page that is shown
	Sections []Link // of that page
	IsOpen   bool   // the list of pages is open on wide screens
	Search   string // address of the search
	Query    string
}
