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
	// Parent is the slug of the page to whose group the page belongs; "" for most pages.
	Parent string `json:"parent,omitempty"`
}

// pages are in the order of reading.
var pages = []Page{
	{Slug: "start", Title: "Start", Summary: "Build the program, run the demo shop, go live"},
	{Slug: "merchant-desk", Title: "The desk", Summary: "Run the shop in a browser: payments, products, wallets, webhooks, reports and accounts"},
	{Slug: "accept-payments", Title: "Accept payments", Summary: "Create invoices and read them by the API"},
	{Slug: "plugins", Title: "Shop plug-ins", Summary: "Connect WooCommerce and other shops with plug-ins made for BTCPay Server"},
	{Slug: "woocommerce", Title: "WooCommerce", Summary: "Connect a shop with WooCommerce", Parent: "plugins"},
	{Slug: "prestashop", Title: "PrestaShop", Summary: "Connect a shop with PrestaShop", Parent: "plugins"},
	{Slug: "magento", Title: "Magento 2", Summary: "Connect a shop with Magento 2", Parent: "plugins"},
	{Slug: "opencart", Title: "OpenCart", Summary: "Connect a shop with OpenCart", Parent: "plugins"},
	{Slug: "shopware", Title: "Shopware", Summary: "Connect a shop with Shopware", Parent: "plugins"},
	{Slug: "givewp", Title: "GiveWP", Summary: "Take donations with GiveWP", Parent: "plugins"},
	{Slug: "virtuemart", Title: "VirtueMart", Summary: "Connect a shop with VirtueMart", Parent: "plugins"},
	{Slug: "xenforo", Title: "XenForo", Summary: "Sell in a forum with XenForo", Parent: "plugins"},
	{Slug: "wix", Title: "Wix", Summary: "Connect a shop with Wix", Parent: "plugins"},
	{Slug: "medusa", Title: "Medusa", Summary: "Connect a shop with Medusa", Parent: "plugins"},
	{Slug: "links-and-products", Title: "Links and products", Summary: "Checkout links, products, the storefront, payments on your own page"},
	{Slug: "terminals", Title: "Terminals", Summary: "Sell at a counter with a phone"},
	{Slug: "payment-page", Title: "The payment page", Summary: "Theme, languages and receipts"},
	{Slug: "webhooks", Title: "Webhooks", Summary: "Receive the events of invoices"},
	{Slug: "testing", Title: "Testing", Summary: "Simulate payments and receive events on your machine"},
	{Slug: "bitcoin", Title: "Bitcoin", Summary: "Go live with Bitcoin and Litecoin"},
	{Slug: "monero", Title: "Monero", Summary: "Go live with Monero, by the view key and your own node"},
	{Slug: "ethereum", Title: "Ethereum and tokens", Summary: "Go live with EURC, USDC, Ether and other coins of EVM networks"},
	{Slug: "accounting", Title: "Books for an accountant", Summary: "Close months, export their lines, verify them"},
	{Slug: "offline-signing", Title: "Sign a sweep offline", Summary: "Sign the plan of a sweep on a computer without a network"},
	{Slug: "lightning-network", Title: "Lightning", Summary: "Connect a Lightning wallet or node"},
	{Slug: "selling", Title: "Selling for euro", Summary: "Sell received coins at Kraken or Bitstamp"},
	{Slug: "configuration", Title: "Configuration", Summary: "Every setting with its default"},
	{Slug: "operations", Title: "Operations", Summary: "Backup, upgrade, metrics and logs"},
	{Slug: "scaling", Title: "Scaling", Summary: "Several processes, and measurements of speed, memory and growth"},
	{Slug: "security", Title: "Security", Summary: "What the server holds, and proof of addresses"},
	{Slug: "settlement", Title: "Settlement", Summary: "When an invoice is paid, late, underpaid or undone"},
	{Slug: "limits", Title: "Limits", Summary: "Numbers that bound what the program does"},
	{Slug: "developing", Title: "Developing", Summary: "Tests, page budgets and how the manual is kept"},
}

// Group returns the pages of the group of a page, in the order of reading: those whose parent it is.
func (p Page) Group() []Page {
	return slices.DeleteFunc(Pages(), func(o Page) bool { return o.Parent != p.Slug })
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
