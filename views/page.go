// Package views is the pages as templ components, the structs of ready strings
// that they take, and how money and time are written for people.
package views

import "chequer/internal/locale"

// Page is what every page needs.
type Page struct {
	*locale.Language
	Speak string // address of this page in a language, without its code; empty when there is no choice

	Title    string
	Shop     string // the name on the page
	Style    string // addresses of its assets
	Script   string // empty on pages without one
	Icon     string
	Logo     string // empty shows the shop's initial in its place
	Line     string // what the shop says on every page
	Support  Link   // where shoppers ask
	Terms    Link
	Home     string   // where the storefront is; empty when there is none
	Scripts  []string // more of them, that improve a page
	Frame    string   // script for who shows the page in a frame; empty when nobody may
	Origins  string   // who may, for that script
	Manifest string   // lets a phone keep the page beside its apps; empty when that has no use
	Touch    string   // icon for that
	Trial    string   // says that no real money moves; empty when it does
}

// Link is a way to another page.
type Link struct {
	Text string
	URL  string
	Hint string // where it leads, when that is another site

	Quiet bool // not what most should do now
}

// Error is a page that says what went wrong, in words.
type Error struct {
	Page
	Heading string
	Text    string
	Action  Link
}

// initial stands in the tile of a shop without a logo.
func (p Page) initial() string {
	for _, r := range p.Shop {
		return string(r)
	}
	return "?"
}
