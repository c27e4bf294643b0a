package report

import (
	"context"
	"slices"
	"time"

	"chequer/internal/invoice"
)

// Service makes reports. It is safe for concurrent use.
type Service struct{ storage Storage }

// NewService returns a new Service.
func NewService(storage Storage) *Service { return &Service{storage} }

// Report returns the totals of a merchant's invoices that became paid in a period and are paid, compared
// to those of a previous period. It reads a number of rows that depends on the days and on the sources,
// not on the invoices.
func (s *Service) Report(ctx context.Context, merchantID string, mode invoice.Mode, p, previous Period, by Grouping) (Report, error) {
	sums, err := s.storage.DaySums(ctx, merchantID, mode, p, previous, by != ByMethod)
	if err != nil {
		return Report{}, err
	}
	r := newReport(p, previous, by, sums.Current, sums.Previous)
	r.Zones, r.Removed = []*time.Location{sums.Zone}, sums.Removed
	return r, nil
}

// Removed returns the days whose invoices were removed from a merchant's books.
func (s *Service) Removed(ctx context.Context, merchantID string) (Removed, error) {
	sums, err := s.storage.DaySums(ctx, merchantID, invoice.Live, Period{}, Period{}, false)
	return sums.Removed, err
}

// MaxOldInvoices is the number up to which OldInvoices counts.
const MaxOldInvoices = 1000

// OldInvoices returns the largest number of a merchant's invoices that a removal with a cut deletes, at most MaxOldInvoices.
func (s *Service) OldInvoices(ctx context.Context, merchantID string, cut time.Time) (int64, error) {
	return s.storage.CountBooks(ctx, merchantID, cut, MaxOldInvoices)
}

// Sums returns the sum of a merchant's invoices that became paid in a period and are paid, for each currency. It reads
// as many rows as Report.
func (s *Service) Sums(ctx context.Context, merchantID string, mode invoice.Mode, p Period) ([]Sum, error) {
	days, err := s.storage.DaySums(ctx, merchantID, mode, p, Period{}, false)
	if err != nil {
		return nil, err
	}
	var sums []Sum
	for _, t := range newReport(p, Period{}, ByMethod, days.Current, nil).Totals {
		sums = append(sums, t.Total)
	}
	return sums, nil
}

// ShopsReport returns the totals of several merchants as Report does, by merchant. Each currency has a group of
// every merchant. The days of each merchant are those of its own time zone.
func (s *Service) ShopsReport(ctx context.Context, merchantIDs []string, mode invoice.Mode, p, previous Period) (Report, error) {
	var all DaySums
	var zones []*time.Location
	var removed Removed
	for _, id := range merchantIDs {
		sums, err := s.storage.DaySums(ctx, id, mode, p, previous, false)
		if err != nil {
			return Report{}, err
		}
		all.Current, all.Previous = appendSums(all.Current, id, sums.Current), appendSums(all.Previous, id, sums.Previous)
		if sums.Removed.Before > removed.Before || removed.At.IsZero() {
			removed = sums.Removed
		}
		if !slices.Contains(zones, sums.Zone) {
			zones = append(zones, sums.Zone)
		}
	}
	r := newReport(p, previous, ByShop, all.Current, all.Previous)
	r.Zones, r.Removed = zones, removed
	for i, t := range r.Totals {
		for _, id := range merchantIDs {
			if !slices.ContainsFunc(t.Groups, func(g Group) bool { return g.Value == id }) {
				r.Totals[i].Groups = append(r.Totals[i].Groups, Group{id, zeroSum(t.Currency), zeroSum(t.Currency)})
			}
		}
	}
	return r, nil
}

// appendSums appends the sums of a merchant, each with its ID.
func appendSums(all []DaySum, merchantID string, sums []DaySum) []DaySum {
	for _, d := range sums {
		d.MerchantID = merchantID
		all = append(all, d)
	}
	return all
}

// Lines returns at most limit of a merchant's invoices that became paid in a period, after a position, in
// the order in which they became paid. The days are those of a zone. The zero position is the start of the period.
func (s *Service) Lines(ctx context.Context, merchantID string, mode invoice.Mode, p Period, zone *time.Location, after Position, limit int) ([]invoice.ExportLine, error) {
	return s.storage.PaidLines(ctx, merchantID, mode, p.Start(zone), p.End(zone), after, limit)
}

// PositionOf returns the position of a line.
func PositionOf(l invoice.ExportLine) Position { return Position{l.PaidAt, l.ID} }
