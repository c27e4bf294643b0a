// Package desk renders the merchant's desk: a templ component for each page, and the structs of
// prepared strings that the components take.
package desk

import (
	"slices"
	"strings"

	"chequer/internal/locale"
	"chequer/views"
)

// Document has the values of every page: its language, title, style sheet, script and form token.
type Document struct {
	*locale.Language
	Title  string
	Style  string // address of the style sheet
	Script string // address of the script
	Icon   string
	Shop   string // name of the shop
	Token  string // form token of the session; every form sends it
}

// BareFrame is the frame of pages that belong to no shop: sign-in and first run.
type BareFrame struct {
	Document
	Host string // the host that serves the desk
}

// Frame is the frame of the pages of a shop.
type Frame struct {
	Document
	Logo   string // address of the shop's logo; if empty, the shop's initial is shown
	Shops  []views.Link
	Places []Place

	Search string // address of the list that is searched; empty if the account may not see it
	Query  string // the text that was searched for

	Test      bool // the page shows test data
	LiveURL   string
	TestURL   string // empty if the page is the same in both modes
	Demo      bool   // the server is a demo, which has no live payments; set for pages of a mode
	Name      string // of the account
	Role      string
	Account   string // address of the account's own page
	SignOut   string
	Shortcuts string // address of the page of the keys; empty if the account has disabled them
	Notice    string // the result of the last action; empty if there is none
	Zone      string // names the time zone of the times on the page
	Stream    string // address of the event stream; empty if the page has no live updates
}

// Place is a link of the navigation, which is a side bar or, on phones, a bar at the bottom.
type Place struct {
	Text    string
	URL     string
	Icon    string
	Key     string // the key after g that opens it
	Count   string // number of open cases; empty if there is none
	Current bool
}

// barPlaces is the number of places in the bar at the bottom of phones. The menu beside them has the others.
const barPlaces = 4

func (f Frame) firstPlaces() []Place { return f.Places[:min(barPlaces, len(f.Places))] }

func (f Frame) otherPlaces() []Place { return f.Places[min(barPlaces, len(f.Places)):] }

// showsOther reports whether the page is in a place that only the menu has.
func (f Frame) showsOther() bool {
	return slices.ContainsFunc(f.otherPlaces(), func(p Place) bool { return p.Current })
}

// Tab is a link to a page of the same place.
type Tab struct {
	Text    string
	URL     string
	Current bool
}

// firstLetters returns the first two letters of a name, in upper case.
func firstLetters(name string) string {
	letters := []rune(strings.ToUpper(strings.Join(strings.Fields(name), "")))
	return string(letters[:min(2, len(letters))])
}

// firstLetter returns the letter that is shown for a shop without a logo.
func firstLetter(name string) string {
	for _, r := range name {
		return string(r)
	}
	return "?"
}

// Fault is the page for a request that could not be served.
type Fault struct {
	BareFrame
	Heading string
	Intro   string
	Action  views.Link
}

// Refusal is the page for an action that the role of the account does not allow. It names the accounts
// that may act.
type Refusal struct {
	Frame
	Heading string
	Intro   string
	Back    views.Link
}
