package casework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
)

// Snooze hides an invoice that waits for a decision until a time, or until its facts change.
type Snooze struct {
	InvoiceID  string
	MerchantID string
	Mode       invoice.Mode
	Until      time.Time
	By         string // name of the account
}

// Snoozed is a snoozed invoice.
type Snoozed struct {
	Snooze
	Summary invoice.Summary
}

// SnoozeDays are the numbers of days for which a case can be snoozed.
var SnoozeDays = []int{1, 3, 7}

// ErrDays means that a case cannot be snoozed for a number of days.
var ErrDays = errors.New("a case is snoozed for 1, 3 or 7 days")

// Snooze snoozes an invoice for a number of days, from now. The errors are ErrDays, invoice.ErrStale if the invoice has
// another version than the given one, and invoice.ErrState if it does not wait for a decision.
func (s *Service) Snooze(ctx context.Context, inv *invoice.Invoice, days int) error {
	if !slices.Contains(SnoozeDays, days) {
		return ErrDays
	}
	z := Snooze{InvoiceID: inv.ID, MerchantID: inv.MerchantID, Mode: inv.Mode, Until: s.Now().Add(time.Duration(days) * 24 * time.Hour), By: audit.ActorOf(ctx).Name}
	if err := s.Storage.Snooze(ctx, z, inv.Version); err != nil {
		return fmt.Errorf("snooze case: %w", err)
	}
	return nil
}

// EndSnooze ends a snooze. It does nothing if the invoice is not snoozed.
func (s *Service) EndSnooze(ctx context.Context, inv *invoice.Invoice) error {
	if err := s.Storage.EndSnooze(ctx, inv.MerchantID, inv.ID); err != nil {
		return fmt.Errorf("end snooze: %w", err)
	}
	return nil
}

// SnoozeOf returns the snooze of an invoice that is in force; the zero Snooze if there is none.
func (s *Service) SnoozeOf(ctx context.Context, invoiceID string) (Snooze, error) {
	z, err := s.Storage.FindSnooze(ctx, invoiceID)
	if err != nil || !z.Until.After(s.Now()) {
		return Snooze{}, err
	}
	return z, nil
}

// Snoozed lists at most limit snoozed invoices, in the order in which their snoozes end.
func (s *Service) Snoozed(ctx context.Context, merchantID string, mode invoice.Mode, limit int) ([]Snoozed, error) {
	return s.Storage.Snoozed(ctx, merchantID, mode, s.Now(), limit)
}
