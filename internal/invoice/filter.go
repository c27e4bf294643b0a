package invoice

import (
	"slices"
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Filter selects the invoices of a list. Empty fields select everything.
type Filter struct {
	MerchantID string
	Mode       Mode
	Status     Status
	From, To   time.Time // time of creation, from From until before To
	OrderID    string
	Reference  string // see Summary
	Price      money.Amount
	Origin     Origin    // an empty ID selects every source of the kind
	Exception  Exception // one of the exceptions
	// NeedsDecision selects the invoices that wait for a decision of the merchant.
	NeedsDecision bool
	// PaidAsset selects paid invoices by the code of the asset of the transfer that completed the amount.
	PaidAsset string
	// Tx is the identifier of a transaction with a transfer to the invoice.
	Tx string
	// Scripts are destinations, one of which is the invoice's.
	Scripts []Script
}

// Script is the script of a destination on a network.
type Script struct {
	Network chain.ID
	Script  string
}

// Selects reports whether the filter selects an invoice.
func (f Filter) Selects(inv *Invoice) bool {
	return inv.MerchantID == f.MerchantID && inv.Mode == f.Mode &&
		(f.Status == "" || inv.State.Status == f.Status) &&
		!inv.CreatedAt.Before(f.From) && (f.To.IsZero() || inv.CreatedAt.Before(f.To)) &&
		(f.OrderID == "" || inv.Terms.OrderID == f.OrderID) &&
		(f.Reference == "" || inv.Terms.Reference() == f.Reference) &&
		(f.Price.IsZero() || inv.Terms.Price.Equal(f.Price)) &&
		(f.Origin.Kind == "" || inv.Origin.Kind == f.Origin.Kind) && (f.Origin.ID == "" || inv.Origin.ID == f.Origin.ID) &&
		(f.Exception == "" || inv.State.Has(f.Exception)) && (!f.NeedsDecision || inv.NeedsDecision()) &&
		(f.PaidAsset == "" || inv.State.Status == Paid && inv.State.PaidAsset == f.PaidAsset) &&
		(f.Tx == "" || slices.ContainsFunc(inv.Transfers, func(t Transfer) bool { return t.Tx == f.Tx })) &&
		(f.Scripts == nil || slices.ContainsFunc(inv.Methods, f.pays))
}

// pays reports whether a method pays to one of the filter's scripts.
func (f Filter) pays(m Method) bool {
	return slices.Contains(f.Scripts, Script{m.Asset.Network, m.Destination.Script})
}
