package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/casework"
	"chequer/internal/merchant"
	"chequer/internal/storage"
)

func newNote(id string, at time.Time) casework.Note {
	return casework.Note{ID: id, InvoiceID: "a", MerchantID: "shop", AuthorID: "acc_1", Author: "Tove", At: at, Text: "First line\nsecond line"}
}

func TestNotes_are_changed_only_by_their_merchant(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		create(t, s, creation("b", "bakery"))
		first, second := newNote("n1", noon), newNote("n2", noon.Add(time.Minute))
		for _, n := range []casework.Note{second, first} {
			if err := s.AddNote(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		foreign := newNote("n3", noon)
		foreign.InvoiceID = "b"
		if err := s.AddNote(t.Context(), foreign); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("note about an invoice of another merchant: got %v", err)
		}
		notes := func() []casework.Note {
			t.Helper()
			all, err := s.Notes(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if diff := cmp.Diff([]casework.Note{first, second}, notes()); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		foreign = first
		foreign.MerchantID = "bakery"
		if err := s.RemoveNote(t.Context(), foreign); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("removal by another merchant: got %v", err)
		}
		for _, want := range []error{nil, merchant.ErrNotFound} {
			if err := s.RemoveNote(t.Context(), first); !errors.Is(err, want) {
				t.Errorf("removal: got %v, want %v", err, want)
			}
		}
		if diff := cmp.Diff([]casework.Note{second}, notes()); diff != "" {
			t.Errorf("notes after a removal (-want +got):\n%s", diff)
		}
		var actions []string
		log, err := s.AuditLog(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			if e.Change.Subject == "a" {
				actions = append(actions, e.Change.Action)
			}
			if text := fmt.Sprint(e); strings.Contains(text, "line") {
				t.Errorf("the audit log has the text of a note: %s", text)
			}
		}
		if diff := cmp.Diff([]string{"note.removed", "note.added", "note.added"}, actions); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

func TestAddNote_limits_the_notes_about_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		for i := range casework.MaxNotes {
			if err := s.AddNote(t.Context(), newNote(fmt.Sprint("n", i), noon)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.AddNote(t.Context(), newNote("more", noon)); !errors.Is(err, casework.ErrTooMany) {
			t.Errorf("got %v", err)
		}
	})
}
