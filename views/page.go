// Package views renders the pages. It has a templ component for each page, the structs of prepared strings
// that are the arguments of the components, and functions that format amounts.
package views

import "chequer/internal/locale"

// Page holds the values that every page has.
type Page struct {
	*locale.Language
	LanguageURL string // address of this page up to the language code; empty if there is only one language

	Title       string
	Shop        string // the shop's name as the page shows it
	Style       string // address of the style sheet
	Script      string // address of the script; empty on a page without one
	Icon        string
	Logo        string // address of the logo; if empty, the shop's initial is shown
	Line        string // text of the theme, shown at the end of every page
	Support     Link   // the shop's contact
	Terms       Link
	Home        string   // address of the storefront; empty if there is none
	Scripts     []string // addresses of further scripts
	FrameScript string   // address of the script for a page in a frame; empty if no page may frame it
	Origins     string   // origins that may frame the page, separated by spaces
	Manifest    string   // address of the manifest that makes the page installable; empty on other pages
	Touch       string   // address of the icon of an installed page
	TestNotice  string   // text that says that no real money moves; empty in live mode
}

// Link is a link to another page.
type Link struct {
	Text string
	URL  string
	Hint string // text with the name of the other site that the link leads to

	Quiet bool // not the main action of the page
}

// Error is a page that describes an error.
type Error struct {
	Page
	Heading string
	Text    string
	Action  Link
}

// initial returns the letter that is shown for a shop without a logo.
func (p Page) initial() string {
	for _, r := range p.Shop {
		return string(r)
	}
	return "?"
}
