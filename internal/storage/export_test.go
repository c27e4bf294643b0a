package storage

import (
	"context"

	"chequer/internal/invoice"
)

// Write runs a test's own function in a transaction.
func (s *Storage) Write(ctx context.Context, do func(ctx context.Context) error) error {
	return s.write(ctx, func(ctx context.Context, _ querier) error { return do(ctx) })
}

// Waiting returns the number of callers that wait for SQLite's writer or, on PostgreSQL, for
// another caller of their group.
func (s *Storage) Waiting() int {
	callers, _ := s.engine.Waiting()
	return callers
}

// RunningGroups returns the number of groups with running transactions. It works only with PostgreSQL.
func (s *Storage) RunningGroups() int {
	_, groups := s.engine.Waiting()
	return groups
}

// ReadChangingPage reads a page of the live invoices of one merchant, and one part of the page of another
// merchant: "transfers", "sales" or "refunds". Such a part has invoices that the page does not have.
func (s *Storage) ReadChangingPage(ctx context.Context, merchantID, otherID, part string) error {
	newPageOf := func(merchantID string) page {
		return newPage(newListing(invoice.Filter{MerchantID: merchantID, Mode: invoice.Live}, invoice.Position{}, 10, -1))
	}
	p, other := newPageOf(merchantID), newPageOf(otherID)
	switch part {
	case "transfers":
		p.transfers = other.transfers
	case "sales":
		p.sales = other.sales
	case "refunds":
		p.refunds = other.refunds
	}
	return s.snapshot(ctx, func(ctx context.Context, q querier) error {
		_, err := s.readPage(ctx, q, p)
		return err
	})
}
