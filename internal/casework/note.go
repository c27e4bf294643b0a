package casework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/audit"
	"chequer/internal/merchant"
)

// Note is a note of the team about an invoice. Shoppers never see it.
type Note struct {
	ID         string
	InvoiceID  string
	MerchantID string
	AuthorID   string // account
	Author     string // name of the account when it wrote the note
	At         time.Time
	Text       string
}

const (
	// MaxNote is the largest number of characters of a note.
	MaxNote = 2000
	// MaxNotes is the largest number of notes about an invoice.
	MaxNotes = 100
)

// NoteField is the name of the text of a note in errors.
const NoteField = "note"

var (
	// ErrAuthor means that another account wrote the note.
	ErrAuthor = errors.New("another account wrote the note")
	// ErrTooMany means that the invoice already has the maximum number of notes.
	ErrTooMany = errors.New("the invoice already has the maximum number of notes")
)

// Notes lists the notes about an invoice, oldest first.
func (s *Service) Notes(ctx context.Context, invoiceID string) ([]Note, error) {
	return s.Storage.Notes(ctx, invoiceID)
}

// AddNote adds a note of the account that makes the request. The error is a *merchant.FieldError if the text breaks
// a rule, merchant.ErrNotFound, or ErrTooMany.
func (s *Service) AddNote(ctx context.Context, merchantID, invoiceID, text string) error {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if err := cmp.Or(checkNotEmpty(text), merchant.CheckParagraph(text, MaxNote)); err != nil {
		return &merchant.FieldError{Field: NoteField, Fault: err.Error()}
	}
	by := audit.ActorOf(ctx)
	n := Note{ID: "note_" + s.Token(24), InvoiceID: invoiceID, MerchantID: merchantID, AuthorID: by.ID, Author: by.Name, At: s.Now(), Text: text}
	if err := s.Storage.AddNote(ctx, n); err != nil {
		return fmt.Errorf("add note: %w", err)
	}
	return nil
}

func checkNotEmpty(text string) error {
	if text == "" {
		return errors.New("must contain a text")
	}
	return nil
}

// Note returns a note about an invoice of a merchant, or merchant.ErrNotFound.
func (s *Service) Note(ctx context.Context, merchantID, invoiceID, id string) (Note, error) {
	all, err := s.Storage.Notes(ctx, invoiceID)
	if err != nil {
		return Note{}, err
	}
	i := slices.IndexFunc(all, func(n Note) bool { return n.ID == id && n.MerchantID == merchantID })
	if i < 0 {
		return Note{}, fmt.Errorf("note %s: %w", id, merchant.ErrNotFound)
	}
	return all[i], nil
}

// RemoveNote removes a note. The error is ErrAuthor if another account wrote it and the caller may not remove the notes of
// other accounts, and merchant.ErrNotFound if there is no such note.
func (s *Service) RemoveNote(ctx context.Context, n Note, mayRemoveOthers bool) error {
	if !mayRemoveOthers && n.AuthorID != audit.ActorOf(ctx).ID {
		return ErrAuthor
	}
	if err := s.Storage.RemoveNote(ctx, n); err != nil {
		return fmt.Errorf("remove note: %w", err)
	}
	return nil
}
