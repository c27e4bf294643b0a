package visit

import "chequer/internal/invoice"

// originNames are the keys of the names of origins.
var originNames = map[invoice.OriginKind]string{
	invoice.FromAPI: "desk.origin.api", invoice.FromStorefront: "desk.origin.storefront", invoice.FromProduct: "desk.origin.product",
	invoice.FromLink: "desk.origin.link", invoice.FromSignedLink: "desk.origin.signed", invoice.FromTerminal: "desk.origin.terminal",
}

// OriginName returns the name of a kind of origin, or "" if the kind is unknown.
func (v *Visit) OriginName(kind invoice.OriginKind) string {
	key, known := originNames[kind]
	if !known {
		return ""
	}
	return v.Text(key)
}
