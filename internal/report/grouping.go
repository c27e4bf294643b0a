package report

import "chequer/internal/invoice"

// Grouping is the property by which a report groups invoices.
type Grouping string

// The properties.
const (
	ByMethod   Grouping = "method"   // the asset that completed the amount
	ByOrigin   Grouping = "origin"   // the kind of source
	ByProduct  Grouping = "product"  // the slug of the product
	ByLink     Grouping = "link"     // the slug of the checkout link
	ByTerminal Grouping = "terminal" // the identifier of the terminal
	ByKey      Grouping = "key"      // the identifier of the API key that created the invoice, or signed its link
	ByShop     Grouping = "shop"     // the ID of the merchant, in a report of several
)

// Properties are all properties by which a report of one merchant groups invoices.
var Properties = []Grouping{ByMethod, ByOrigin, ByProduct, ByLink, ByTerminal, ByKey}

// originKinds are the kinds of origins whose ID is the value of a property.
var originKinds = map[Grouping][]invoice.OriginKind{
	ByProduct: {invoice.FromProduct}, ByLink: {invoice.FromLink}, ByTerminal: {invoice.FromTerminal},
	ByKey: {invoice.FromAPI, invoice.FromSignedLink},
}

// Value returns the value of the property for invoices with a key. It is "" for invoices without the
// property, such as those of a terminal in a report by product.
func (g Grouping) Value(k Key) string {
	switch g {
	case ByMethod:
		return k.PaidAsset
	case ByOrigin:
		return string(k.Origin.Kind)
	case ByShop:
		return k.MerchantID
	}
	for _, kind := range originKinds[g] {
		if k.Origin.Kind == kind {
			return k.Origin.ID
		}
	}
	return ""
}
