// Package manual holds the pages of the manual as Markdown, renders them as HTML, and
// searches them.
package manual

import (
	"embed"
	"slices"
	"strings"
)

//go:generate go test ../config -run TestManual_table -count=1 -args -update

// files are the pages, by slug with the ending ".md".
//
//go:embed *.md
var files embed.FS

// Page is a page of the manual. Its title is the first heading of its file.
type Page struct {
	Slug    string `json:"slug"` // last part of its address, and the topic of chequer help
	Title   string `json:"title"`
	Summary string `json:"summary"` // one line, without a full stop
}

// pages are in the order of reading.
var pages = []Page{
	{"start", "Start", "Build the program, run the demo shop, go live"},
	{"merchant-desk", "The desk", "Run the shop in a browser: payments, products, wallets, webhooks, reports and accounts"},
	{"accept-payments", "Accept payments", "Create invoices and read them by the API"},
	{"plugins", "Shop plug-ins", "Connect WooCommerce and other shops with plug-ins made for BTCPay Server"},
	{"links-and-products", "Links and products", "Checkout links, products, the storefront, payments on your own page"},
	{"terminals", "Terminals", "Sell at a counter with a phone"},
	{"payment-page", "The payment page", "Theme, languages and receipts"},
	{"webhooks", "Webhooks", "Receive the events of invoices"},
	{"testing", "Testing", "Simulate payments and receive events on your machine"},
	{"bitcoin", "Bitcoin", "Go live with Bitcoin and Litecoin"},
	{"ethereum", "Ethereum and tokens", "Go live with EURC, USDC, Ether and other coins of EVM networks"},
	{"selling", "Selling for euro", "Sell received coins at Kraken or Bitstamp"},
	{"configuration", "Configuration", "Every setting with its default"},
	{"operations", "Operations", "Backup, upgrade, metrics and logs"},
	{"scaling", "Scaling", "Several processes, and measurements of speed, memory and growth"},
	{"security", "Security", "What the server holds, and proof of addresses"},
	{"settlement", "Settlement", "When an invoice is paid, late, underpaid or undone"},
	{"limits", "Limits", "Numbers that bound what the program does"},
	{"developing", "Developing", "Tests, page budgets and how the manual is kept"},
}

// APIReference is the slug of the API reference, which is not one of Pages.
const APIReference = "api"

// Pages returns the pages in the order of reading.
func Pages() []Page { return slices.Clone(pages) }

// Find returns the page with a slug.
func Find(slug string) (Page, bool) {
	i := slices.IndexFunc(pages, func(p Page) bool { return p.Slug == slug })
	if i < 0 {
		return Page{}, false
	}
	return pages[i], true
}

// Markdown returns the text of a page without its HTML comments. It panics if Pages does not
// contain the page.
func (p Page) Markdown() string {
	var builder strings.Builder
	for line := range strings.Lines(string(p.source())) {
		if !strings.HasPrefix(line, "<!--") {
			builder.WriteString(line)
		}
	}
	return builder.String()
}

// source returns the file of a page.
func (p Page) source() []byte {
	text, err := files.ReadFile(p.Slug + ".md")
	if err != nil {
		panic("manual: no page " + p.Slug)
	}
	return text
}
