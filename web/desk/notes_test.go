package desk_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/account"
)

// A note is shown to the team with its author, and removed by the author or an owner only.
func TestNotes_are_shown_to_the_team(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	author, other := f.as("Tove", account.Manager), f.as("Runa", account.Bookkeeper)
	inv := f.testInvoices.sell(shop, "1047", "80.00")
	at := "/desk/shop/payments/" + inv.ID
	before := len(f.actions())
	author.send(at+"/notes", "note", "  Called the shopper.\r\n<b>Ships</b> on Monday. ").wantRedirect(at + "?done=note-added")
	page := other.get(at+"?done=note-added").want(http.StatusOK, "The note was added.").want(http.StatusOK, "Tove ·")
	if got, want := page.find("#notes .said").Text(), "Called the shopper.\n<b>Ships</b> on Monday."; got != want {
		t.Errorf("the page shows the note %q, want %q", got, want)
	}
	if n := page.find(`#notes a[href$="/remove"]`).Length(); n != 0 {
		t.Errorf("the page of another account has %d links to remove the note", n)
	}
	remove := owner.get(at).find(`#notes a[href$="/remove"]`).AttrOr("href", "")
	other.get(remove).want(http.StatusForbidden, "Notes of other accounts are removed by: Owner: Maren.")
	other.send(remove).want(http.StatusForbidden, "Notes of other accounts are removed by: Owner: Maren.")
	author.get(remove).want(http.StatusOK, "Remove the note by Tove of").want(http.StatusOK, "Ships")
	owner.send(remove).wantRedirect(at + "?done=note-removed")
	author.get(remove).want(http.StatusNotFound)
	author.send(remove).want(http.StatusNotFound)
	author.send(at+"/notes", "note", "Again").wantRedirect(at + "?done=note-added")
	author.send(author.get(at).find(`#notes a[href$="/remove"]`).AttrOr("href", "")).wantRedirect(at + "?done=note-removed")
	if got, want := f.actions()[before:], "Tove: note.added, Maren: note.removed, Tove: note.added, Tove: note.removed"; strings.Join(got, ", ") != want {
		t.Errorf("the audit log has %q, want %s", got, want)
	}
	if log := owner.get("/desk/shop/log").text(); strings.Contains(log, "Called") {
		t.Errorf("the audit log shows the text of a note: %s", log)
	}
}

// A refused note keeps its text. The notes of another shop are not found.
func TestNotes_are_refused_with_their_text_kept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv, foreign := f.testInvoices.sell(shop, "1047", "80.00"), f.testInvoices.sell("other", "1", "5.00")
	at := "/desk/shop/payments/" + inv.ID + "/notes"
	for text, want := range map[string]string{
		" \n ":                    "New note must contain a text.",
		strings.Repeat("å", 2001): "New note must have at most 2000 characters.",
		"a\x00b":                  "New note must not contain the invisible character U+0000.",
		"a\xffb":                  "New note must be valid UTF-8.",
		"a\u202eb":                "New note must not contain the invisible character U+202E.",
	} {
		page := b.send(at, "note", text).want(http.StatusUnprocessableEntity, want)
		if got := page.find("#note").Text(); strings.TrimSpace(text) != "" && len(got) < 3 {
			t.Errorf("the field after %q has %q, want the entered text", text, got)
		}
	}
	b.send(at, "note", strings.Repeat("å", 2000)).wantRedirect("/desk/shop/payments/" + inv.ID + "?done=note-added")
	b.send("/desk/shop/payments/"+foreign.ID+"/notes", "note", "Hello").want(http.StatusNotFound, "Not found")
	b.get("/desk/shop/payments/"+foreign.ID+"/notes/note_1/remove").want(http.StatusNotFound, "Not found")
}
