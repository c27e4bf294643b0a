package report

import "chequer/internal/invoice"

// By is the property by which a report groups invoices.
type By string

// The properties.
const (
	ByMethod   By = "method"   // the asset that completed the amount
	ByOrigin   By = "origin"   // the kind of source
	ByProduct  By = "product"  // the slug of the product
	ByLink     By = "link"     // the slug of the checkout link
	ByTerminal By = "terminal" // the identifier of the terminal
	ByKey      By = "key"      // the identifier of the API key that created the invoice, or signed its link
	ByShop     By = "shop"     // the ID of the merchant, in a report of several
)

// Properties are all properties by which a report of one merchant groups invoices.
var Properties = []By{ByMethod, ByOrigin, ByProduct, ByLink, ByTerminal, ByKey}

// originKinds are the kinds of origins that have a property.
var originKinds = map[By][]invoice.OriginKind{
	ByProduct: {invoice.FromProduct}, ByLink: {invoice.FromLink}, ByTerminal: {invoice.FromTerminal},
	ByKey: {invoice.FromAPI, invoice.FromSignedLink},
}

// Value returns the value of the property for invoices with a key. It is "" for invoices without the
// property, such as those of a terminal in a report by product.
func (b By) Value(k Key) string {
	switch b {
	case ByMethod:
		return k.PaidAsset
	case ByOrigin:
		return string(k.Origin.Kind)
	case ByShop:
		return k.MerchantID
	}
	for _, kind := range originKinds[b] {
		if k.Origin.Kind == kind {
			return k.Origin.ID
		}
	}
	return ""
}
