package casework

import (
	"context"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
)

// ResolutionAge is the age up to which resolutions are kept.
const ResolutionAge = 7 * 24 * time.Hour

// Resolution is an invoice that has stopped waiting for a decision.
type Resolution struct {
	Summary invoice.Summary
	At      time.Time
	Actor   audit.Actor // its kind and its name
	Kept    bool        // the merchant keeps the surplus
	Refund  invoice.RefundState
}

// Outcome is the way in which a case was resolved.
type Outcome string

// The outcomes.
const (
	Accepted  Outcome = "accepted" // as the full price
	Kept      Outcome = "kept"     // the surplus
	Refunded  Outcome = "refunded"
	Declined  Outcome = "declined"  // the refund that the shopper asked for
	Cancelled Outcome = "cancelled" // the refund
	Requoted  Outcome = "requoted"
	Paid      Outcome = "paid" // the rest of the price
	Gone      Outcome = "gone" // the payment is no longer on the network
)

// Outcome returns the way in which the case was resolved, according to the present facts of the invoice.
func (r Resolution) Outcome() Outcome {
	s := r.Summary
	switch {
	case r.Refund == invoice.RefundDeclined && (s.Decided || s.Status == invoice.Paid):
		return Declined
	case s.Decided && r.Kept:
		return Kept
	case r.Refund == invoice.RefundCancelled && s.Status == invoice.Paid && !s.Accepted:
		return Cancelled
	case s.Decided, r.Refund == invoice.RefundSent && s.Status == invoice.Paid && !s.Accepted:
		return Refunded
	case s.Accepted:
		return Accepted
	case s.Status == invoice.Paid:
		return Paid
	case s.Status == invoice.Created, s.Status == invoice.Pending:
		return Requoted
	}
	return Gone
}

// Resolutions lists at most limit invoices that have stopped waiting for a decision in the last seven days, newest
// first.
func (s *Service) Resolutions(ctx context.Context, merchantID string, mode invoice.Mode, limit int) ([]Resolution, error) {
	return s.Storage.Resolutions(ctx, merchantID, mode, s.Now().Add(-ResolutionAge), limit)
}
