package invoice

import (
	"time"

	"chequer/internal/money"
)

// Summary is an invoice in a list, without its methods, quotes and transfers.
type Summary struct {
	ID          string
	Mode        Mode
	Version     int64
	Status      Status
	Exceptions  []Exception
	Price       money.Amount
	Paid        money.Amount
	Due         money.Amount
	Overpaid    money.Amount
	OrderID     string
	Description string
	// Reference is the text that a shopper entered in the storefront's form.
	Reference string
	Origin    Origin
	CreatedAt time.Time
	ExpiresAt time.Time // see Invoice.ExpiresAt
	PaidAt    time.Time // zero unless the invoice is paid
	PaidAsset string    // see State
	Received  []Received
	// Accepted reports whether the merchant accepted transfers as the full price.
	Accepted bool
}

// ExportLine is an invoice as a line of an export for bookkeeping.
type ExportLine struct {
	Summary
	Note        string // of the shopper
	DisableSale bool
	Tolerance   money.Amount
	PaidTx      string
	Refund      Refund
	PaidCount   int64
	FirstPaidAt time.Time
	AcceptedAt  time.Time
	AcceptedBy  string
	Sales       []Sale
}

// Shortfall returns the fiat that the merchant accepted as missing; see Invoice.Shortfall.
func (l ExportLine) Shortfall() money.Amount {
	if l.AcceptedAt.IsZero() {
		return money.Zero(l.Price.Currency())
	}
	return l.Price.Sub(l.Paid)
}

// Received is an amount that the merchant received with one transfer, whether or not it counts.
type Received struct {
	Asset  string // code
	Amount money.Amount
	State  PaymentState // PaymentConfirmed, PaymentSeen or PaymentLate
}

// ReceivedAmounts returns the received amounts of the reported payments.
func (inv *Invoice) ReceivedAmounts() []Received {
	if len(inv.Transfers) == 0 {
		return nil
	}
	var received []Received
	reported, _ := inv.ReportedPayments()
	for _, p := range reported {
		switch p.State {
		case PaymentConfirmed, PaymentSeen, PaymentLate:
			received = append(received, Received{Asset: p.Asset, Amount: p.Amount, State: p.State})
		}
	}
	return received
}

// Summary returns the invoice in its short form.
func (inv *Invoice) Summary() Summary {
	return Summary{
		ID: inv.ID, Mode: inv.Mode, Version: inv.Version, Status: inv.State.Status, Exceptions: inv.State.Exceptions,
		Price: inv.Terms.Price, Paid: inv.State.Paid, Due: inv.State.Due, Overpaid: inv.State.Overpaid,
		OrderID: inv.Terms.OrderID, Description: inv.Terms.Description, Reference: inv.Terms.Reference(), Origin: inv.Origin,
		CreatedAt: inv.CreatedAt, ExpiresAt: inv.ExpiresAt(), PaidAt: inv.State.PaidAt, PaidAsset: inv.State.PaidAsset,
		Received: inv.ReceivedAmounts(), Accepted: len(inv.Accepted) > 0,
	}
}

// ExportLine returns the invoice as a line of an export.
func (inv *Invoice) ExportLine() ExportLine {
	return ExportLine{
		Summary: inv.Summary(), Note: inv.Terms.Note(), DisableSale: inv.Terms.DisableSale, Tolerance: inv.Terms.Rules.Tolerance,
		PaidTx: inv.State.PaidTx, Refund: inv.Refund, PaidCount: inv.PaidCount, FirstPaidAt: inv.FirstPaidAt,
		AcceptedAt: inv.AcceptedAt, AcceptedBy: inv.AcceptedBy, Sales: inv.Sales,
	}
}

// NeedsDecision reports whether received money waits for a decision of the merchant: to accept it, to
// pay it back or to keep it. An underpaid invoice waits for the shopper until it has ended.
func (s Summary) NeedsDecision() bool { return needsDecision(s.Status, s.Exceptions, s.Accepted) }

// NeedsDecision reports whether received money waits for a decision of the merchant; see
// Summary.NeedsDecision.
func (inv *Invoice) NeedsDecision() bool {
	return needsDecision(inv.State.Status, inv.State.Exceptions, len(inv.Accepted) > 0)
}

func needsDecision(status Status, exceptions []Exception, accepted bool) bool {
	for _, e := range exceptions {
		switch e {
		case Overpaid, WrongAsset:
			return true
		case Late, Older:
			if !accepted {
				return true
			}
		case Underpaid:
			if !accepted && (status == Expired || status == Declined) {
				return true
			}
		}
	}
	return false
}
