package storage

import (
	"slices"
	"strings"

	"chequer/internal/invoice"
)

// listing is the part of a statement that selects a page of the list of invoices, with its arguments:
// the merchant, the mode and the limit, then those of the filters. Its rows have no order: see
// sortNewestFirst.
type listing statement

// selector is a filter of the list of invoices. One of those that are given drives the listing: an index
// serves its condition. The engine must not use an index for the others, as it would then have to sort.
type selector struct {
	isSet     bool
	condition fragment
	values    []any
	from      source
	// indexed is the part of the condition that needs no other column than those of the index; "" is the whole.
	indexed fragment
}

// filtering returns a filter with the condition in a form that no index serves. Both engines estimate that
// it selects half of the rows, so that they read the rows in the order of the list.
func (s selector) filtering() filter {
	if s.from == fromFlags {
		return filterIf(s.isSet, "EXISTS (SELECT 1 FROM invoice_flags WHERE invoice_id = invoices.id AND flag = ? LIMIT 1 OFFSET 0)", s.values...)
	}
	return filterIf(s.isSet, "COALESCE("+s.condition+", FALSE)", s.values...)
}

// source is the table that a selector reads first.
type source int

const (
	fromInvoices source = iota // by an index in the order of the list
	fromFlags                  // invoice_flags, by an index in the order of the list
	fromParts                  // a table with a few rows of an invoice; the invoices found are sorted
	fromNone                   // no index serves the condition, which never drives a listing
)

// selectors returns the selectors of a filter, the one with the fewest invoices first.
func selectors(f invoice.Filter) []selector {
	to, destinations := destinationsCondition(f.Scripts)
	bySource := f.Origin.ID != "" && f.Origin.Kind != invoice.FromAPI // the index of sources has no API keys
	return []selector{
		{isSet: f.Tx != "", condition: "id IN (SELECT invoice_id FROM transfers WHERE tx = ? AND tx <> '')", values: []any{f.Tx}, from: fromParts},
		{isSet: f.Scripts != nil, condition: to, values: destinations, from: fromParts},
		{isSet: f.OrderID != "", condition: "order_id = ? AND order_id <> ''", values: []any{f.OrderID}},
		{isSet: f.Reference != "", condition: "reference = ? AND reference <> ''", values: []any{f.Reference}},
		{isSet: !f.Price.IsZero(), condition: "price = ? AND currency = ?", values: priceValues(f), indexed: "price = ?"},
		{isSet: f.Exception != "", condition: "flag = ?", values: []any{string(f.Exception)}, from: fromFlags},
		{isSet: f.NeedsDecision, condition: "flag = ?", values: []any{decisionFlag}, from: fromFlags},
		{isSet: bySource, condition: "origin_id = ? AND origin = ? AND origin_id <> '' AND origin <> 'api'", values: []any{f.Origin.ID, string(f.Origin.Kind)},
			indexed: "origin_id = ? AND origin_id <> '' AND origin <> 'api'"},
		{isSet: f.PaidAsset != "", condition: "paid_asset = ? AND paid_asset <> '' AND COALESCE(status = 'paid', FALSE)", values: []any{f.PaidAsset},
			indexed: "paid_asset = ? AND paid_asset <> ''"},
		{isSet: selectsStatus(f), condition: statusCondition, values: []any{string(f.Status)}},
		{isSet: f.Origin.Kind != "" && !bySource, condition: "origin = ?", values: []any{string(f.Origin.Kind)}},
		{isSet: f.Origin.ID != "" && !bySource, condition: "COALESCE(origin_id = ?, FALSE)", values: []any{f.Origin.ID}, from: fromNone},
	}
}

// selectsStatus reports whether the status of a filter is a selector: the asset that paid an invoice selects the
// status paid already.
func selectsStatus(f invoice.Filter) bool {
	return f.Status != "" && (f.PaidAsset == "" || f.Status != invoice.Paid)
}

// statusCondition is the condition of the selector of a status.
const statusCondition = "status = ?"

func priceValues(f invoice.Filter) []any {
	if f.Price.IsZero() {
		return nil
	}
	return []any{f.Price.Cents(), f.Price.Currency().Code}
}

// destinationsCondition returns the condition for the invoices with one of some destinations.
func destinationsCondition(scripts []invoice.Script) (condition fragment, values []any) {
	if len(scripts) == 0 {
		return "1 = 0", nil
	}
	var parts []string
	for _, s := range scripts {
		part := "SELECT invoice_id FROM destinations WHERE script = ?"
		values = append(values, s.Script)
		if s.Network != "" {
			part += " AND network = ?"
			values = append(values, string(s.Network))
		}
		parts = append(parts, part)
	}
	return "id IN (" + fragment(strings.Join(parts, " UNION ALL ")) + ")", values
}

// bounds returns the conditions of the part of the list that a page may have. There is a single upper bound, the
// earlier of the position and the filter's end, since SQLite uses only one upper bound in the search of an index.
func bounds(f invoice.Filter, after invoice.Position, id fragment) []filter {
	last, lastID := after.CreatedAt.UnixMilli(), after.ID
	bounded := after != (invoice.Position{})
	if to := f.To.UnixMilli(); !f.To.IsZero() && (!bounded || to <= last) {
		last, lastID, bounded = to, "", true // every ID is greater than ""
	}
	return []filter{
		filterIf(!f.From.IsZero(), "created_at >= ?", f.From.UnixMilli()),
		filterIf(bounded, "(created_at, "+id+") < (?, ?)", last, lastID),
	}
}

// newListing returns the listing of a page. driver is the number of the selector that drives the listing; -1 = none.
func newListing(f invoice.Filter, after invoice.Position, limit, driver int) listing {
	args := []any{f.MerchantID, string(f.Mode), limit}
	all := selectors(f)
	if driver >= 0 && all[driver].from == fromFlags {
		return flaggedListing(f, all, driver, args, bounds(f, after, "invoice_id")...)
	}
	filters, merchantCondition := bounds(f, after, "id"), "merchant_id = $1"
	for i, s := range all {
		switch {
		case i != driver:
			filters = append(filters, s.filtering())
		case s.from == fromParts:
			merchantCondition = "merchant_id || '' = $1" // so that no index of the list is searched
			fallthrough
		default:
			filters = append(filters, filterIf(true, s.condition, s.values...))
		}
	}
	where, args := conditions(args, filters...)
	return listing{" FROM invoices WHERE " + merchantCondition + " AND mode = $2" + where + " ORDER BY created_at DESC, id DESC LIMIT $3", args}
}

// flaggedListing returns the listing of a filter that a flag drives. The flags have the status and the time of
// the invoice, so the invoice is read only if there are other filters.
func flaggedListing(f invoice.Filter, selectors []selector, driver int, args []any, bounds ...filter) listing {
	flags, args := conditions(args, append(bounds,
		filterIf(true, selectors[driver].condition, selectors[driver].values...),
		filterIf(f.Status != "", statusCondition, string(f.Status)))...)
	var others []filter
	for _, s := range slices.Delete(slices.Clone(selectors), driver, driver+1) {
		if s.condition != statusCondition {
			others = append(others, s.filtering())
		}
	}
	where, args := conditions(args, others...)
	if where != "" {
		flags += " AND EXISTS (SELECT 1 FROM invoices WHERE id = invoice_flags.invoice_id" + where + " LIMIT 1 OFFSET 0)"
	}
	return listing{" FROM invoices WHERE id IN (SELECT invoice_id FROM invoice_flags WHERE merchant_id = $1 AND mode = $2" + flags +
		" ORDER BY created_at DESC, invoice_id DESC LIMIT $3)", args}
}

// invoices returns the statement that reads columns of the invoices of the page.
func (l listing) invoices(columns string) statement {
	return statement{"SELECT " + columns + l.text, l.args}
}

// withText returns a statement for other rows of the invoices of the page. It replaces PAGE in the text by the
// statement that selects the identifiers of these invoices.
func (l listing) withText(text string) statement {
	return statement{strings.Replace(text, "PAGE", "(SELECT id"+l.text+")", 1), l.args}
}
