package payments

import (
	"errors"
	"net/http"

	"chequer/internal/account"
	"chequer/internal/casework"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
	"chequer/views"
	"chequer/views/desk"
)

// notes returns the notes about an invoice, with the form for a new one.
func (v *page) notes(inv *invoice.Invoice, field desk.Field) (desk.Notes, error) {
	all, err := v.Casework.Notes(v.Request().Context(), inv.ID)
	if err != nil {
		return desk.Notes{}, err
	}
	n := desk.Notes{Field: field, Action: v.Below("/payments/" + inv.ID + "/notes"), Removed: v.removed(inv, invoice.TeamNotes)}
	for _, note := range all {
		row := desk.Note{Text: note.Text, Author: note.Author, Time: wire.Time(note.At), At: v.Clock(note.At)}
		if v.mayRemove(note) {
			row.Remove = n.Action + "/" + note.ID + "/remove"
		}
		n.Rows = append(n.Rows, row)
	}
	return n, nil
}

// mayRemove reports whether the account may remove a note.
func (v *page) mayRemove(n casework.Note) bool {
	return n.AuthorID == v.Account.ID || v.May(account.RemoveNotes)
}

// noteField returns the field for a new note. After a refusal, text is the refused text and fault the reason.
func (v *page) noteField(text, fault string) desk.Field {
	f := v.TextField(casework.NoteField, "desk.notes.new", "desk.notes.hint", text)
	f.Lines, f.Error = 3, fault
	return f
}

// addNote adds a note about an invoice.
func (v *page) addNote() error {
	inv, err := v.shopInvoice()
	if err != nil {
		return err
	}
	text := v.FormValue(casework.NoteField)
	err = v.Casework.AddNote(v.Request().Context(), v.Shop.ID, inv.ID, text)
	wrong, isField := errors.AsType[*merchant.FieldError](err)
	switch {
	case isField:
		return v.showPaymentWith(http.StatusUnprocessableEntity, inv, v.Text("desk.problem.field"), v.noteField(text, v.Text("desk.field.fault", "Name", v.Text("desk.notes.new"), "Fault", wrong.Fault)))
	case errors.Is(err, casework.ErrTooMany):
		return v.showPaymentWith(http.StatusUnprocessableEntity, inv, v.Text("desk.notes.many"), v.noteField(text, ""))
	case err != nil:
		return err
	}
	return v.Done(v.Below("/payments/"+inv.ID), "note-added")
}

// removableNote returns the note in the path with its invoice. It refuses accounts that may not remove the note.
func (v *page) removableNote() (*invoice.Invoice, casework.Note, error) {
	inv, err := v.shopInvoice()
	if err != nil {
		return nil, casework.Note{}, err
	}
	n, err := v.Casework.Note(v.Request().Context(), v.Shop.ID, inv.ID, v.Param("note"))
	if err == nil && !v.mayRemove(n) {
		err = v.Require(account.RemoveNotes)
	}
	return inv, n, err
}

// askToRemoveNote shows the consequences before a note is removed.
func (v *page) askToRemoveNote() error {
	inv, n, err := v.removableNote()
	if err != nil {
		return err
	}
	heading := v.Text("desk.notes.remove.heading", "Author", n.Author, "Time", v.Clock(n.At))
	f, err := v.paymentFrame(inv, heading)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, desk.DecisionPage(desk.Decision{
		Frame: f, Heading: heading, Back: views.Link{Text: v.InvoiceName(inv.Terms.OrderID, inv.ID), URL: v.Below("/payments/" + inv.ID)},
		Quote:   n.Text,
		Results: []desk.Result{{Shape: "ok", Text: v.Text("desk.notes.remove.log")}, {Shape: "warn", Text: v.Text("desk.cancel.final")}},
		Action:  v.Below("/payments/" + inv.ID + "/notes/" + n.ID + "/remove"), Button: v.Text("desk.notes.remove"), Danger: true,
	}))
}

// removeNote removes a note.
func (v *page) removeNote() error {
	inv, n, err := v.removableNote()
	if err == nil {
		err = v.Casework.RemoveNote(v.Request().Context(), n, v.May(account.RemoveNotes))
	}
	if err != nil {
		return err
	}
	return v.Done(v.Below("/payments/"+inv.ID), "note-removed")
}
