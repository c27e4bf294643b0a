package storage

import (
	"context"
	"fmt"

	"chequer/internal/audit"
	"chequer/internal/casework"
	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
)

const noteColumns = "id, invoice_id, merchant_id, author_id, author, at, body"

func readNote(row scanner) (n casework.Note, err error) {
	var at int64
	err = row.Scan(&n.ID, &n.InvoiceID, &n.MerchantID, &n.AuthorID, &n.Author, &at, &n.Text)
	n.At = utc(at)
	return n, err
}

// Notes implements casework.Storage.
func (s *Storage) Notes(ctx context.Context, invoiceID string) ([]casework.Note, error) {
	return readAll(ctx, s, "read notes", readNote, "SELECT "+noteColumns+" FROM team_notes WHERE invoice_id = $1 ORDER BY at, id", invoiceID)
}

// AddNote implements casework.Storage. It locks the invoice, which serializes the notes about it.
func (s *Storage) AddNote(ctx context.Context, n casework.Note) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		var isRemoved bool // personal data of the invoice
		err := q.QueryRowContext(ctx, "SELECT removed_at IS NOT NULL FROM invoices WHERE id = $1 AND merchant_id = $2"+s.engine.ForUpdate, n.InvoiceID, n.MerchantID).
			Scan(&isRemoved)
		if engine.Absent(err) {
			return fmt.Errorf("invoice %s: %w", n.InvoiceID, merchant.ErrNotFound)
		}
		if err != nil {
			return fmt.Errorf("lock invoice %s: %w", n.InvoiceID, err)
		}
		var count int
		if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM team_notes WHERE invoice_id = $1", n.InvoiceID).Scan(&count); err != nil {
			return fmt.Errorf("count notes: %w", err)
		}
		if count >= casework.MaxNotes {
			return casework.ErrTooMany
		}
		_, err = q.ExecContext(ctx, "INSERT INTO team_notes ("+noteColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
			n.ID, n.InvoiceID, n.MerchantID, n.AuthorID, n.Author, n.At.UnixMilli(), n.Text)
		if err != nil {
			return fmt.Errorf("write note: %w", err)
		}
		if isRemoved {
			if err := examineAgain(ctx, q, n.MerchantID, n.InvoiceID); err != nil {
				return err
			}
		}
		return s.record(ctx, q, audit.Change{MerchantID: n.MerchantID, Action: "note.added", Subject: n.InvoiceID, After: noteFields(n)})
	})
}

// RemoveNote implements casework.Storage.
func (s *Storage) RemoveNote(ctx context.Context, n casework.Note) error {
	c := audit.Change{MerchantID: n.MerchantID, Action: "note.removed", Subject: n.InvoiceID, Before: noteFields(n)}
	return s.changeRecorded(ctx, c, "delete note", merchant.ErrNotFound,
		"DELETE FROM team_notes WHERE id = $1 AND invoice_id = $2 AND merchant_id = $3", n.ID, n.InvoiceID, n.MerchantID)
}

// noteFields returns the values of a note without its text.
func noteFields(n casework.Note) audit.Fields { return fields("note", n.ID, "author", n.Author) }
