package storage

import (
	"context"
	"fmt"

	"chequer/internal/api"
	"chequer/internal/invoice"
)

// fillBatch is the number of invoices in one transaction of fillLists.
const fillBatch = 500

// fillLists writes the columns of lists for the invoices that were created before these columns existed:
// see migration 28. The migration cannot do it, because the amounts received follow from the rules.
func (s *Storage) fillLists(ctx context.Context) error {
	unlisted, err := readOne(ctx, s, column[bool], "SELECT EXISTS (SELECT 1 FROM invoices WHERE NOT listed)")
	if err != nil {
		return fmt.Errorf("find invoices without the columns of lists: %w", err)
	}
	filled := 0
	for unlisted {
		n, err := answer(ctx, s.write, s.fillSome)
		if err != nil {
			return fmt.Errorf("fill the columns of lists: %w", err)
		}
		filled += n
		unlisted = n > 0
	}
	if filled > 0 {
		s.log.Info("columns of lists filled", "invoices", filled)
	}
	return nil
}

// fillSome fills the columns of some invoices and returns their number.
func (s *Storage) fillSome(ctx context.Context, q querier) (int, error) {
	unlisted := listing{" FROM invoices WHERE NOT listed ORDER BY id LIMIT $1", []any{fillBatch}}
	p := newPage(unlisted)
	p.invoices.text += s.engine.ForUpdate
	records, err := s.readPage(ctx, q, p)
	if err != nil {
		return 0, err
	}
	var changes []addendChange
	for _, r := range records {
		inv, err := r.invoice()
		if err != nil {
			return 0, err
		}
		before := r.row.addend()
		if inv.Origin == (invoice.Origin{}) {
			inv.Origin = likelyOrigin(inv.Terms)
		}
		t := termsToColumns(inv.Terms)
		_, err = q.ExecContext(ctx, `
			UPDATE invoices SET listed = TRUE, description = $2, reference = $3, note = $4, disable_sale = $5, tolerance = $6,
				received = $7, origin = $8, origin_id = $9
			WHERE id = $1`,
			inv.ID, t.description, t.reference, t.note, t.disableSale, t.tolerance, receivedToText(inv.ReceivedAmounts()), string(inv.Origin.Kind), inv.Origin.ID)
		if err != nil {
			return 0, fmt.Errorf("invoice %s: %w", inv.ID, err)
		}
		r.row.origin, r.row.originID = string(inv.Origin.Kind), inv.Origin.ID
		changes = append(changes, addendChange{before, r.row.addend()})
	}
	return len(records), s.saveDaySums(ctx, q, changes...)
}

// likelyOrigin returns the origin of an invoice by its metadata. The origin is unknown if the invoice was created
// by the API, or by the storefront without a reference.
func likelyOrigin(t invoice.Terms) invoice.Origin {
	switch {
	case t.Metadata[api.MetadataProduct] != "":
		return invoice.Origin{Kind: invoice.FromProduct, ID: t.Metadata[api.MetadataProduct]}
	case t.Metadata[api.MetadataTerminal] != "":
		return invoice.Origin{Kind: invoice.FromTerminal, ID: t.Metadata[api.MetadataTerminal]}
	case t.Reference() != "":
		return invoice.Origin{Kind: invoice.FromStorefront}
	}
	return invoice.Origin{}
}
