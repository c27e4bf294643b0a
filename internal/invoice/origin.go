package invoice

// Origin is the source of the request that created an invoice. The zero value is an unknown source, as
// of invoices that were created before origins were recorded.
type Origin struct {
	Kind OriginKind
	// ID identifies the source among those of its kind: an API key or a terminal by its identifier, a
	// checkout link or a product by its slug. It is empty for the storefront.
	ID string
}

// OriginKind is a kind of source of invoices.
type OriginKind string

// The kinds of sources.
const (
	FromAPI        OriginKind = "api"
	FromStorefront OriginKind = "storefront"
	FromProduct    OriginKind = "product"
	FromLink       OriginKind = "link"
	FromSignedLink OriginKind = "signed_link" // a link that the merchant signed with an API key
	FromTerminal   OriginKind = "terminal"
)
