// Package present turns invoices, links, products and terminals into the view models of package views, in the
// language of a reader. It is pure: it calls no service, serves no request, and takes the time from
// its caller.
package present

// Site holds the values that all pages of a site have in common.
type Site struct {
	// BasePath is the prefix of every path: "" or "/pay".
	BasePath string
	// BaseURL is the public address, such as "https://shop.example/pay".
	BaseURL string
	// Root is the path of the shop's pages below the base path: "" for the shop at the root, or "/s/m_nord".
	Root string
	// ShopID is the ID of the shop of a page about an invoice, a link or a terminal; "" for the shop at the root.
	ShopID string
	// ShopName is shown where an invoice does not name its merchant.
	ShopName string
	// Storefront enables the form for an open amount.
	Storefront bool
	// Currency is the storefront's currency; EUR when empty.
	Currency string
	// Demo marks rates as demo rates.
	Demo bool
	// StayOnPage keeps the shopper on the page of a paid invoice until a click on the link to the shop,
	// even if the merchant's theme does not.
	StayOnPage bool
	// EmbedOrigins are the origins whose pages may show payments in a frame. If it is empty, no page
	// may.
	EmbedOrigins []string
}

// Path adds the base path to a path of this site.
func (s *Site) Path(path string) string { return s.BasePath + path }

// ShopPath adds the base path and the root of the shop to a path of the shop, which is "" for its first page.
func (s *Site) ShopPath(path string) string {
	if s.Root+path == "" {
		return s.Path("/")
	}
	return s.Path(s.Root + path)
}
