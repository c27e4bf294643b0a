package report

import (
	"context"

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
	current, err := s.storage.DaySums(ctx, merchantID, mode, p)
	if err != nil {
		return Report{}, err
	}
	before, err := s.storage.DaySums(ctx, merchantID, mode, previous)
	if err != nil {
		return Report{}, err
	}
	return newReport(p, previous, by, current, before), nil
}

// Lines returns at most limit of a merchant's invoices that became paid in a period, after a position, in
// the order in which they became paid. The zero position is the start of the period.
func (s *Service) Lines(ctx context.Context, merchantID string, mode invoice.Mode, p Period, after Position, limit int) ([]invoice.ExportLine, error) {
	return s.storage.PaidLines(ctx, merchantID, mode, p, after, limit)
}

// PositionOf returns the position of a line.
func PositionOf(l invoice.ExportLine) Position { return Position{l.PaidAt, l.ID} }
