// Package casework manages the data that the team of a shop adds to the facts of its invoices: notes, and the times
// until which cases are snoozed. It also lists resolved cases, each with the actor that resolved it.
package casework

import (
	"context"
	"time"

	"chequer/internal/invoice"
)

// Storage stores notes, snoozes and resolutions. It is safe for concurrent use.
type Storage interface {
	// Notes lists the notes about an invoice, oldest first.
	Notes(ctx context.Context, invoiceID string) ([]Note, error)
	// AddNote writes a note with an entry of the audit log. It returns merchant.ErrNotFound if the merchant has no such
	// invoice, and ErrTooMany if the invoice has MaxNotes notes.
	AddNote(ctx context.Context, n Note) error
	// RemoveNote deletes a note, with an entry of the audit log. It returns merchant.ErrNotFound if there is no such note.
	RemoveNote(ctx context.Context, n Note) error
	// Snooze writes the snooze of an invoice in place of an earlier snooze, with an entry of the audit log. It returns
	// invoice.ErrNotFound if the merchant has no such invoice, invoice.ErrStale if the invoice has another version than
	// seen, and invoice.ErrState if it does not wait for a decision. A change of the facts of the invoice deletes the
	// snooze.
	Snooze(ctx context.Context, z Snooze, seen int64) error
	// EndSnooze deletes the snooze of an invoice, if there is one, with an entry of the audit log.
	EndSnooze(ctx context.Context, merchantID, invoiceID string) error
	// FindSnooze returns the snooze of an invoice, which may have ended; the zero Snooze if there is none.
	FindSnooze(ctx context.Context, invoiceID string) (Snooze, error)
	// Snoozed lists the invoices whose snooze ends after a time, ordered by the end of the snooze.
	Snoozed(ctx context.Context, merchantID string, mode invoice.Mode, at time.Time, limit int) ([]Snoozed, error)
	// Resolutions lists the invoices that stopped waiting for a decision after a time, newest first.
	Resolutions(ctx context.Context, merchantID string, mode invoice.Mode, since time.Time, limit int) ([]Resolution, error)
}

// Config configures a Service. All fields are required.
type Config struct {
	Storage Storage
	Now     func() time.Time
	// Token returns a random text of the given length.
	Token func(length int) string
}

// Service manages notes, snoozes and resolutions. It is safe for concurrent use.
type Service struct {
	Config
}

// NewService returns a new Service.
func NewService(c Config) *Service { return &Service{c} }
