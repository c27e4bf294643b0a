package payments

import (
	"cmp"
	"strings"

	"chequer/internal/invoice"
	"chequer/web/desk/visit"
)

// keyName returns the name of the shop's API key with an ID, or "" if there is none. The keys are read once per page. If they
// cannot be read, every name is "".
func (v *page) keyName(id string) string {
	if v.keyNames == nil {
		v.keyNames = map[string]string{}
		keys, err := v.Merchants.Keys(v.Request().Context(), v.Shop.ID)
		if err != nil {
			v.Log.ErrorContext(v.Request().Context(), "names of API keys not read", "error", err)
		}
		for _, k := range keys {
			v.keyNames[k.ID] = visit.KeyName(k)
		}
	}
	return v.keyNames[id]
}

// actorName returns an actor of a decision as pages show it. Invoices store the shopper, the name of an account, or the ID
// of an API key.
func (v *page) actorName(actor string) string {
	if actor == string(invoice.Shopper) {
		return v.Text("desk.refund.shopper")
	}
	if actor == invoice.RefundNetwork {
		return v.Text("desk.actor.network")
	}
	if name := v.keyName(actor); name != "" {
		return v.Text("desk.actor.key", "Name", name)
	}
	return actor
}

// originName returns the source of an invoice as pages show it: its kind, with the slug of a product or a link, the name of a
// terminal or the name of an API key; "" for an unknown source.
func (v *page) originName(o invoice.Origin) string {
	kind := v.OriginName(o.Kind)
	if kind == "" {
		return ""
	}
	name := o.ID
	switch {
	case o.ID == "": // all sources of the kind
	case o.Kind == invoice.FromAPI, o.Kind == invoice.FromSignedLink:
		name = cmp.Or(v.keyName(o.ID), o.ID)
	case o.Kind == invoice.FromTerminal:
		name = v.terminalName(o.ID)
	}
	return strings.TrimSpace(kind + " " + name)
}

// terminalName returns the name of a terminal of the shop, or its ID if it was removed or cannot be read.
func (v *page) terminalName(id string) string {
	all, err := v.Terminals.List(v.Request().Context(), v.Shop.ID)
	if err != nil {
		v.Log.ErrorContext(v.Request().Context(), "names of terminals not read", "error", err)
	}
	return nameOf(all, id)
}
