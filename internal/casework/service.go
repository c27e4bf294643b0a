// Package casework keeps what the team of a shop adds to the facts of its invoices: notes, the time until which a
// case is snoozed, and the actor that resolved it.
package casework

import (
	"context"
	"time"
)

// Storage stores notes. It is safe for concurrent use.
type Storage interface {
	// Notes lists the notes about an invoice, oldest first.
	Notes(ctx context.Context, invoiceID string) ([]Note, error)
	// AddNote writes a note with an entry of the audit log. It returns merchant.ErrNotFound if the merchant has no such
	// invoice, and ErrTooMany if the invoice has MaxNotes notes.
	AddNote(ctx context.Context, n Note) error
	// RemoveNote deletes a note, with an entry of the audit log. It returns merchant.ErrNotFound if there is no such note.
	RemoveNote(ctx context.Context, n Note) error
}

// Config configures a Service. All fields are required.
type Config struct {
	Storage Storage
	Now     func() time.Time
	// Token returns a random text with a length.
	Token func(length int) string
}

// Service manages notes. It is safe for concurrent use.
type Service struct {
	Config
}

// NewService returns a new Service.
func NewService(c Config) *Service { return &Service{c} }
