package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/views"
)

// scene holds what a page is rendered with besides the invoice.
type scene struct {
	reader
	page   views.Page
	self   string // address of the page
	public string // the page's address for other hosts, with scheme and host
	shop   string // the shop's name within a sentence
	method string // the method to open
	help   string // the shop's contact address; empty if it has none
	now    time.Time
	demo   bool
}

// state selects the content of an invoice's page. Status and exceptions come from the service. Only
// this package decides what they mean for the shopper.
type state string

const (
	waiting  state = "waiting"
	ended    state = "ended" // the quote expired, but the invoice has not
	partial  state = "partial"
	seen     state = "seen"
	paid     state = "paid"
	overpaid state = "overpaid"
	expired  state = "expired"
	late     state = "late"
	declined state = "declined"
)

// stateOf returns the state of an invoice's page.
func stateOf(r api.Resource) state {
	switch r.Status {
	case api.StatusPending:
		if isZero(r.DueAmount) {
			return seen
		}
		return partial
	case api.StatusPaid:
		if hasExtra(r) {
			return overpaid
		}
		return paid
	case api.StatusExpired:
		if has(r, api.ExceptionLate) {
			return late
		}
		return expired
	case api.StatusDeclined:
		return declined
	}
	if r.SecondsLeft <= 0 {
		return ended
	}
	return waiting
}

// hasExtra reports whether the shopper paid more than the price. Less than one unit of the
// price's currency is not worth a refund, so the page does not mention it.
func hasExtra(r api.Resource) bool {
	return has(r, api.ExceptionOverpaid) && !isZero(r.OverpaidAmount)
}

// present returns the view of an invoice's page. Every fact comes from the resource. The page
// omits facts that the service omits.
func present(r api.Resource, s scene) views.Payment {
	kind, price := stateOf(r), s.Fiat(r.ClientAmount, r.ClientCurrency)
	p := views.Payment{
		Page:    s.page,
		Kind:    string(kind),
		Key:     strings.Join(append([]string{string(kind), r.DueAmount}, r.Exceptions...), " "),
		Turn:    turn(r),
		Test:    banner(r, s),
		Pulse:   !byHand(r),
		Label:   label(r, s),
		Due:     views.Due{Label: s.Text("due.amount"), Amount: price},
		Back:    back(r, s),
		Summary: summary(r, s, price),
	}
	switch kind {
	case waiting:
		showWaiting(&p, r, s)
	case ended:
		showEnded(&p, r, s)
	case partial:
		showPartial(&p, r, s)
	case seen:
		showSeen(&p, r, s)
	case paid, overpaid:
		showPaid(&p, r, s)
	case expired:
		showExpired(&p, r, s)
	case late:
		showLate(&p, r, s)
	case declined:
		showDeclined(&p, r, s)
	}
	if s.help != "" && (kind == late || kind == declined || kind == overpaid) {
		p.Contact = views.Link{Text: s.Text("link.contact", "Shop", s.shop), URL: s.help}
	}
	showRefund(&p, r, s)
	showSetback(&p, r, s)
	p.Notes = append(p.Notes, exceptionNotes(r, s)...)
	if p.Test != "" {
		p.Simulate = simulation(r, s, p)
	}
	return p
}

// undirected returns a text without the characters that change the direction of the text after them,
// so that the name of a shop cannot change the direction of an amount beside it. See Unicode Standard Annex #9,
// "Directional Formatting Characters".
func undirected(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, text)
}

// banner returns the text that marks a test invoice, and demo rates; empty for a live invoice.
func banner(r api.Resource, s scene) string {
	switch {
	case r.Mode != "test":
		return ""
	case r.RateSource == "demo" || s.demo:
		return s.Text("test.demo")
	}
	return s.Text("test.banner")
}

// label identifies the invoice: first by the shop's order number if there is one, then by the
// reference.
func label(r api.Resource, s scene) []string {
	reference := s.Text("head.reference", "Reference", views.Reference(r.ForeignID))
	if r.OrderID != "" {
		return []string{s.Text("head.order", "Order", r.OrderID) + " ·", reference}
	}
	return []string{reference}
}

// summary returns the summary of what is paid for.
func summary(r api.Resource, s scene, price string) views.Summary {
	heading := s.Text("summary.payment")
	if r.OrderID != "" || r.Description != "" {
		heading = s.Text("summary.order")
	}
	shown := views.Summary{Heading: heading, Text: r.Description, Total: price}
	if s.English() { // numbers in words have a different grammar in each language
		shown.Words = views.Words(r.ClientAmount, r.ClientCurrency)
	}
	return shown
}

// back returns the link to the page that the shopper came from.
func back(r api.Resource, s scene) views.Link {
	if r.Status == api.StatusPaid {
		return returnLink(r.URLSuccess, r, s, s.Text("link.back", "Shop", s.shop))
	}
	if link := returnLink(r.URLFailure, r, s, s.Text("link.back", "Shop", s.shop)); link.URL != "" {
		return link
	}
	return views.Link{Text: s.Text("link.back.start"), URL: s.page.Home}
}

// again returns the link to start a new payment: at the shop's address for failures, or at the
// storefront.
func again(r api.Resource, s scene) views.Link {
	if link := returnLink(r.URLFailure, r, s, s.Text("link.again")); link.URL != "" {
		return link
	}
	return views.Link{Text: s.Text("link.again"), URL: s.page.Home}
}

// quietReturn returns the link back to the shop, shown beside a more useful action.
func quietReturn(r api.Resource, s scene) views.Link {
	link := returnLink(r.URLFailure, r, s, s.Text("link.return", "Shop", s.shop))
	link.Quiet = true
	return link
}

// returnLink returns the link to an address that the shop gave, with the invoice's id added; empty
// if it is not a web address. The address does not prove a payment, so the shop must ask the service.
func returnLink(address string, r api.Resource, s scene, text string) views.Link {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return views.Link{}
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "invoice=" + url.QueryEscape(r.ForeignID)
	return views.Link{Text: text, URL: u.String(), Hint: s.Text("link.opens", "Host", u.Host)}
}

func has(r api.Resource, exception string) bool { return slices.Contains(r.Exceptions, exception) }

// isZero reports whether an amount in the API's format is zero or empty.
func isZero(amount string) bool { return strings.Trim(amount, "0.") == "" }

// title returns the title of a page, with the shop's name if it has one.
func title(words string, s scene) string {
	if s.shop == s.Text("shop.unnamed") {
		return words
	}
	return words + " – " + s.shop
}
