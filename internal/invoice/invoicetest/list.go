package invoicetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"chequer/internal/invoice"
)

// Invoices implements invoice.ListStorage.
func (s *Storage) Invoices(_ context.Context, f invoice.Filter, after invoice.Position, limit int) ([]*invoice.Invoice, invoice.Position, error) {
	return page(s, f, after, limit, func(inv *invoice.Invoice) *invoice.Invoice { return inv })
}

// Summaries implements invoice.ListStorage.
func (s *Storage) Summaries(_ context.Context, f invoice.Filter, after invoice.Position, limit int) ([]invoice.Summary, invoice.Position, error) {
	return page(s, f, after, limit, (*invoice.Invoice).Summary)
}

// Undecided implements invoice.ListStorage.
func (s *Storage) Undecided(_ context.Context, merchantID string, mode invoice.Mode, _ time.Time, after invoice.Position, limit int) ([]*invoice.Invoice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := invoice.Filter{MerchantID: merchantID, Mode: mode, NeedsDecision: true}
	var invoices []*invoice.Invoice
	for _, inv := range s.invoices {
		if f.Selects(inv) && newestFirst(after, inv.Position()) > 0 {
			invoices = append(invoices, Clone(inv))
		}
	}
	slices.SortFunc(invoices, func(a, b *invoice.Invoice) int { return newestFirst(b.Position(), a.Position()) })
	return invoices[:min(limit, len(invoices))], nil
}

// ExportLines implements invoice.ListStorage.
func (s *Storage) ExportLines(_ context.Context, f invoice.Filter, after invoice.Position, limit int) ([]invoice.ExportLine, invoice.Position, error) {
	return page(s, f, after, limit, (*invoice.Invoice).ExportLine)
}

// Refunds implements invoice.ListStorage.
func (s *Storage) Refunds(_ context.Context, f invoice.RefundFilter, after invoice.Position, limit int) ([]invoice.ListedRefund, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []invoice.ListedRefund
	for _, inv := range s.invoices {
		for _, r := range inv.Refunds {
			l := invoice.ListedRefund{Refund: r, InvoiceID: inv.ID, OrderID: inv.Terms.OrderID}
			behind := after == (invoice.Position{}) || newestFirst(l.Position(), after) > 0
			if inv.MerchantID == f.MerchantID && inv.Mode == f.Mode && (f.State == "" || f.State == r.State) && (f.ID == "" || f.ID == r.ID) && behind {
				list = append(list, l)
			}
		}
	}
	slices.SortFunc(list, func(a, b invoice.ListedRefund) int { return newestFirst(a.Position(), b.Position()) })
	return list[:min(limit, len(list))], nil
}

// page returns a page of a list in one of its forms, and the position after which there are more.
func page[T any](s *Storage, f invoice.Filter, after invoice.Position, limit int, form func(*invoice.Invoice) T) ([]T, invoice.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages = append(s.pages, limit); len(s.pages) == s.failing {
		return nil, invoice.Position{}, invoice.ErrUnavailable
	}
	var invoices []*invoice.Invoice
	for _, inv := range s.invoices {
		behind := after == (invoice.Position{}) || newestFirst(inv.Position(), after) > 0
		if behind && f.Selects(inv) {
			invoices = append(invoices, inv)
		}
	}
	slices.SortFunc(invoices, func(a, b *invoice.Invoice) int { return newestFirst(a.Position(), b.Position()) })
	var more invoice.Position
	if len(invoices) > limit {
		invoices = invoices[:limit]
		more = invoices[limit-1].Position()
	}
	var list []T
	for _, inv := range invoices {
		list = append(list, form(Clone(inv)))
	}
	return list, more, nil
}

// FailPage makes the read of the n-th page fail.
func (s *Storage) FailPage(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = n
}

// Tally implements invoice.ListStorage.
func (s *Storage) Tally(_ context.Context, merchantID string, mode invoice.Mode, _ time.Time) (invoice.Tally, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := invoice.NewTally()
	for _, inv := range s.invoices {
		if inv.MerchantID == merchantID && inv.Mode == mode {
			t.Add(inv.Summary())
		}
	}
	return t, nil
}

// PageLimits returns the limits with which pages were read.
func (s *Storage) PageLimits() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pages)
}

func newestFirst(a, b invoice.Position) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}
