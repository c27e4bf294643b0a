package present

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/static"
	"chequer/views"
)

// ReloadInterval is the interval at which a page without a script reloads itself if the shopper asked for it.
const ReloadInterval = 20 * time.Second

// pageContext holds the values, other than the invoice, that the page of an invoice is rendered from.
type pageContext struct {
	Frame
	page   views.Page
	self   string // path of the page
	shop   string // the shop's name within a sentence
	method string // the method to open
}

// Payment returns the page of an invoice, which opens the given method. auto reports whether the page
// reloads periodically without a script.
func (f Frame) Payment(snapshot client.Snapshot, method string, auto bool) views.Payment {
	r := snapshot.Resource
	r.OrderID, r.Description = printable(r.OrderID), printable(r.Description)
	s := pageContext{
		Frame: f, page: f.paymentFrame(r), self: f.Path("/invoice/" + r.ForeignID), method: method, shop: f.shopInSentence(r.MerchantName),
	}
	p := content(r, s)
	p.Version, p.Status, p.Final = Version(snapshot), r.Status, Final(r)
	p.Self, p.Stream = s.address(s.self), s.address(s.streamAddress(p.Version))
	p.Check = views.Link{Text: s.Text("payment.check"), URL: methodAddressPrefix(s.address(s.self))}
	periodic := methodAddressPrefix(s.address(s.self + "?auto=1"))
	if auto {
		p.Check.URL = periodic
	} else {
		p.Auto = views.Link{Text: s.Count("payment.auto", int(ReloadInterval/time.Second)), URL: periodic}
	}
	p.AutoReturn = p.AutoReturn && !r.StayOnPage && !s.StayOnPage && !s.Theme.Stay
	if len(p.Methods) > 0 {
		p.Proof = proofLink(r, s.self)
	}
	return p
}

// address returns an address of the page, or of one of its forms, with what the reader chose.
func (s pageContext) address(path string) string { return s.WithLanguage(WithModal(path, s.Modal)) }

// PageKey identifies the content of the page of an invoice, except the remaining seconds of its quote. Pages with equal
// keys differ in nothing else.
type PageKey [sha256.Size]byte

// PaymentKey returns the key of the page that Payment returns for a snapshot, no method and no reloading. It is a hash
// of all values that Payment reads.
func (f Frame) PaymentKey(snapshot client.Snapshot) (PageKey, error) {
	r := snapshot.Resource
	isOpen := r.SecondsLeft > 0
	r.SecondsLeft = 0
	values, err := json.Marshal(struct {
		Resource      api.Resource
		IsOpen        bool
		ETag          string
		Site          Site
		Language      string
		Explicit      bool
		ThemePath     string // contains a hash of the theme
		Multilingual  bool
		WithAmount    bool
		Modal         bool
		Origin, Query string
		Day           string // of which TimeOfDay omits the date
	}{
		r, isOpen, snapshot.ETag, *f.Site, f.Code, f.Explicit, f.Theme.path, f.Multilingual, f.WithAmount, f.Modal, f.ShopOrigin, f.Query,
		f.Now.UTC().Format(time.DateOnly),
	})
	return sha256.Sum256(values), err
}

// streamAddress returns the address of the stream of a page's changes. It names the shop, because the language of
// the stream is chosen before the invoice is read.
func (s pageContext) streamAddress(version string) string {
	address := s.self + "/live?v=" + version
	if s.ShopID != "" {
		address += "&shop=" + s.ShopID
	}
	return address
}

// paymentFrame returns the page of an invoice without its content.
func (f Frame) paymentFrame(r api.Resource) views.Page {
	page := f.Page("", r.MerchantName, "pay.css")
	f.addLanguageLink(&page)
	f.allowEmbedding(&page)
	script := "pay"
	if paysOnEVM(r) {
		script = "wallet"
	}
	if page.FrameScript != "" { // payframed.js and walletframed.js contain frame.js: one script has fewer bytes than two
		script, page.FrameScript = script+"framed", ""
	}
	page.Script = f.Path(static.Path(script + ".js"))
	return page
}

// methodAddressPrefix returns an address of the page to which the code of a method can be appended.
func methodAddressPrefix(address string) string {
	if strings.Contains(address, "?") {
		return address + "&m="
	}
	return address + "?m="
}

// Version returns a string that changes whenever the content of the page changes: with the invoice's
// version, and when the quote expires, which does not change the invoice's version.
func Version(snapshot client.Snapshot) string {
	v := snapshot.ETag
	if v == "" {
		v = fmt.Sprintf("%d-%s", snapshot.Resource.Version, snapshot.Resource.Status)
	}
	v = invalidVersionChars.ReplaceAllString(v, "")
	if snapshot.Resource.SecondsLeft <= 0 {
		v += "-ended"
	}
	return v
}

// Final reports whether the page of an invoice will not change any more: the invoice is declined, or it is
// paid and no payment waits for confirmations, or counts without one and can still be replaced.
func Final(r api.Resource) bool {
	switch pageState(r) {
	case declined:
		return true
	case paid, overpaid:
		waitsForBlock := func(t api.Payment) bool { return t.State == "seen" || t.State == "confirmed" && t.Confirmations == 0 }
		return !slices.ContainsFunc(r.Payments, waitsForBlock)
	}
	return false
}

// invalidVersionChars matches the characters that are removed from a version, so that it fits in an address
// and in a line of an event stream.
var invalidVersionChars = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// content returns the content of an invoice's page. Every fact comes from the resource. The page
// omits facts that the service omits.
func content(r api.Resource, s pageContext) views.Payment {
	kind, price := pageState(r), s.Fiat(r.ClientAmount, r.ClientCurrency)
	p := views.Payment{
		Page:     s.page,
		Kind:     string(kind),
		Key:      strings.Join(append([]string{string(kind), r.DueAmount}, r.Exceptions...), " "),
		Turn:     paymentTurn(r),
		Test:     testBanner(r, s),
		WatchDot: !isCheckedByHand(r),
		Label:    label(r, s),
		Due:      views.Due{Label: s.Text("due.amount"), Amount: price},
		Back:     backLink(r, s),
		Summary:  summary(r, s, price),
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
	if s.Theme.Support != "" && (kind == late || kind == declined || kind == overpaid) {
		p.Contact = views.Link{Text: s.Text("link.contact", "Shop", s.shop), URL: s.Theme.Support}
	}
	showRefund(&p, r, s)
	showSetback(&p, r, s)
	p.Notes = append(append(p.Notes, exceptionNotes(r, s)...), removalNotes(r, s)...)
	if p.Test != "" {
		p.Simulate = testTools(r, s, p)
	}
	return p
}

// removalNotes returns the note that what the shopper entered, or the way back to the shop, was removed after the shop's
// retention period.
func removalNotes(r api.Resource, s pageContext) []views.Note {
	concernsShopper := func(kind string) bool { return kind != api.RemovedNotes }
	date := s.Moment(r.PersonalDataRemovedAt)
	if date == "" || !slices.ContainsFunc(r.PersonalDataRemoved, concernsShopper) {
		return nil
	}
	return []views.Note{{Text: s.Text("payment.removed", "Date", date)}}
}

// testBanner returns the text that marks a test invoice, and demo rates; empty for a live invoice.
func testBanner(r api.Resource, s pageContext) string {
	switch {
	case r.Mode != "test":
		return ""
	case r.RateSource == "demo" || s.Demo:
		return s.Text("test.demo")
	}
	return s.Text("test.banner")
}

// label returns the lines that identify the invoice: the shop's order number, if there is one, and the
// reference.
func label(r api.Resource, s pageContext) []string {
	reference := s.Text("head.reference", "Reference", views.Reference(r.ForeignID))
	if r.OrderID != "" {
		return []string{s.Text("head.order", "Order", r.OrderID) + " ·", reference}
	}
	return []string{reference}
}

// summary returns the summary of the order or the payment, with the price as pages show it.
func summary(r api.Resource, s pageContext, price string) views.Summary {
	heading := s.Text("summary.payment")
	if r.OrderID != "" || r.Description != "" {
		heading = s.Text("summary.order")
	}
	view := views.Summary{Heading: heading, Text: r.Description, Total: price}
	if r.VATRate != "" {
		view.VAT = views.VAT{Label: s.Text("summary.vat", "Percent", s.Decimal(r.VATRate)), Amount: s.Fiat(r.VATAmount, r.ClientCurrency)}
	}
	if s.English() { // numbers in words have a different grammar in each language
		view.Words = views.Words(r.ClientAmount, r.ClientCurrency)
	}
	return view
}

// titleWithShop returns the title of a page: the words and the shop's name, if it has one.
func titleWithShop(words string, s pageContext) string {
	if s.shop == s.Text("shop.unnamed") {
		return words
	}
	return words + " – " + s.shop
}

// ChangesIn returns the time until the page of an invoice changes without a new version of the invoice: until the quote or a payment
// request ends; 0 if it does not.
func ChangesIn(snapshot client.Snapshot, now time.Time) time.Duration {
	wait := time.Duration(max(snapshot.Resource.SecondsLeft, 0)) * time.Second
	for _, m := range snapshot.Resource.PaymentMethods {
		until, err := time.Parse(time.RFC3339, m.AddressUntil)
		if err != nil {
			continue
		}
		// AddressUntil has whole milliseconds. The clock of a service at another address may be behind.
		if left := max(until.Sub(now)+time.Millisecond, time.Second); left < wait {
			wait = left
		}
	}
	return wait
}
