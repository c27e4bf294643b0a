package payments

import (
	"slices"
	"strings"

	"chequer/internal/invoice"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// originKinds are the kinds of sources, in the order of the list to choose from.
var originKinds = []invoice.OriginKind{
	invoice.FromProduct, invoice.FromLink, invoice.FromTerminal, invoice.FromStorefront, invoice.FromAPI, invoice.FromSignedLink,
}

// origin returns the source that the query selects: a kind, or one source of a kind as in "product:coffee". ok is
// false if there is no such kind.
func (q listQuery) origin() (o invoice.Origin, ok bool) {
	kind, id, _ := strings.Cut(q.values.Get("source"), ":")
	o = invoice.Origin{Kind: invoice.OriginKind(kind), ID: id}
	return o, o.Kind == "" && id == "" || slices.Contains(originKinds, o.Kind) && visit.IsText(id)
}

// sources returns the field that selects a source: a kind of sources, or the single source that the query names.
func (q listQuery) sources(v *page) desk.Filter {
	chosen := q.values.Get("source")
	f := desk.Filter{Name: "source", Label: v.Text("desk.origin"), Options: []desk.Option{{Text: v.Text("desk.source.all"), Chosen: chosen == ""}}}
	if o, ok := q.origin(); ok && o.ID != "" {
		f.Options = append(f.Options, desk.Option{Value: chosen, Text: v.originName(o), Chosen: true})
	}
	for _, kind := range originKinds {
		f.Options = append(f.Options, desk.Option{Value: string(kind), Text: v.OriginName(kind), Chosen: chosen == string(kind)})
	}
	return f
}
