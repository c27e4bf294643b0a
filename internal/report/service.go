package report

import (
	"context"
	"slices"

	"chequer/internal/invoice"
)

// Service makes reports. It is safe for concurrent use.
type Service struct{ storage Storage }

// NewService returns a new Service.
func NewService(storage Storage) *Service { return &Service{storage} }

// Report returns the totals of a merchant's invoices that became paid in a period and are paid, compared
// to those of a previous period. It reads a number of rows that depends on the days and on the sources,
// not on the invoices.
func (s *Service) Report(ctx context.Context, merchantID string, mode invoice.Mode, p, previous Period, by By) (Report, error) {
	sums := s.storage.DaySums
	if by == ByMethod {
		sums = s.storage.MethodSums
	}
	current, err := sums(ctx, merchantID, mode, p)
	if err != nil {
		return Report{}, err
	}
	before, err := sums(ctx, merchantID, mode, previous)
	if err != nil {
		return Report{}, err
	}
	return newReport(p, previous, by, current, before), nil
}

// Sums returns the sum of a merchant's invoices that became paid in a period and are paid, for each currency. It reads
// as many rows as Report.
func (s *Service) Sums(ctx context.Context, merchantID string, mode invoice.Mode, p Period) ([]Sum, error) {
	days, err := s.storage.MethodSums(ctx, merchantID, mode, p)
	if err != nil {
		return nil, err
	}
	var sums []Sum
	for _, t := range newReport(p, Period{}, ByMethod, days, nil).Totals {
		sums = append(sums, t.Total)
	}
	return sums, nil
}

// ShopsReport returns the totals of several merchants as Report does, by merchant. Each currency has a group of
// every merchant.
func (s *Service) ShopsReport(ctx context.Context, merchantIDs []string, mode invoice.Mode, p, previous Period) (Report, error) {
	current, err := s.shopSums(ctx, merchantIDs, mode, p)
	if err != nil {
		return Report{}, err
	}
	before, err := s.shopSums(ctx, merchantIDs, mode, previous)
	if err != nil {
		return Report{}, err
	}
	r := newReport(p, previous, ByShop, current, before)
	for i, t := range r.Totals {
		for _, id := range merchantIDs {
			if !slices.ContainsFunc(t.Groups, func(g Group) bool { return g.Value == id }) {
				r.Totals[i].Groups = append(r.Totals[i].Groups, Group{id, zeroSum(t.Currency), zeroSum(t.Currency)})
			}
		}
	}
	return r, nil
}

// shopSums returns the sums of several merchants, each with its merchant.
func (s *Service) shopSums(ctx context.Context, merchantIDs []string, mode invoice.Mode, p Period) (all []DaySum, err error) {
	for _, id := range merchantIDs {
		sums, err := s.storage.MethodSums(ctx, id, mode, p)
		if err != nil {
			return nil, err
		}
		for i := range sums {
			sums[i].MerchantID = id
		}
		all = append(all, sums...)
	}
	return all, nil
}

// Lines returns at most limit of a merchant's invoices that became paid in a period, after a position, in
// the order in which they became paid. The zero position is the start of the period.
func (s *Service) Lines(ctx context.Context, merchantID string, mode invoice.Mode, p Period, after Position, limit int) ([]invoice.ExportLine, error) {
	return s.storage.PaidLines(ctx, merchantID, mode, p, after, limit)
}

// PositionOf returns the position of a line.
func PositionOf(l invoice.ExportLine) Position { return Position{l.PaidAt, l.ID} }
