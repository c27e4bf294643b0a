package desk_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"chequer/internal/account"
)

// A form that is sent twice creates one object, and both answers are the same: after a double click, a browser shows
// the answer to the second click.
func TestForms_sent_twice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	form := []string{"label", "Web shop", "mode", "test", "scope", "read", "form", b.formToken()}
	answers := make([]page, 5)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() { answers[i] = b.copy().post("/desk/shop/keys", form...) })
	}
	clicks.Wait()
	all := f.keys(shop)
	if len(all) != 1 {
		t.Fatalf("%d keys were created, want 1", len(all))
	}
	for _, a := range answers {
		a.want(http.StatusOK, "Web shop was created")
		if got := a.find("#secret-1").Text(); got != all[0].Secret || a.header.Get("Content-Type") != answers[0].header.Get("Content-Type") {
			t.Errorf("an answer has the secret %q of type %q, want %q", got, a.header.Get("Content-Type"), all[0].Secret)
		}
	}

	form = with(b.get("/desk/shop/terminals/new").fields("edit"), "name", "Bar", "method-LTC", "1")
	first := b.post("/desk/shop/terminals/new", form...).want(http.StatusOK, "It is shown only now.")
	second := b.post("/desk/shop/terminals/new", form...)
	if terminals, err := f.terminals.List(t.Context(), shop); err != nil || len(terminals) != 1 || first.status != second.status || first.body != second.body {
		t.Errorf("%d terminals (%v), answers %d and %d", len(terminals), err, first.status, second.status)
	}
}

// Other values, another page, another session and a form that was refused are no repetition.
func TestForms_sent_again(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	token := b.formToken()
	b.post("/desk/shop/keys", "label", "Web shop", "scope", "cook", "form", token).want(http.StatusUnprocessableEntity, "cook")
	b.post("/desk/shop/keys", "label", "Web shop", "scope", "cook", "form", token).want(http.StatusUnprocessableEntity, "cook")
	b.post("/desk/shop/keys", "label", "Web shop", "scope", "read", "form", token).want(http.StatusOK, "was created")
	b.post("/desk/shop/keys", "label", "Second shop", "scope", "read", "form", token).want(http.StatusOK, "Second shop was created")
	b.send("/desk/shop/keys", "label", "Web shop", "scope", "read").want(http.StatusOK, "was created")
	if n := len(f.keys(shop)); n != 3 {
		t.Errorf("%d keys, want 3", n)
	}
	other := f.as("Emil", account.Developer)
	other.post("/desk/shop/keys", "label", "Web shop", "scope", "read", "form", token).want(http.StatusForbidden, "Form refused")
}

// A form with another file is no repetition.
func TestForms_sent_again_with_another_file(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/theme"
	form := []string{"name", "Nord", "accent", "#0A7D5A", "form", b.formToken()}
	b.uploadForm(at, "logo", picture(t, 64), form...).wantRedirect(at + "?done=theme")
	first := f.currentTheme()
	b.uploadForm(at, "logo", picture(t, 64), form...).wantRedirect(at + "?done=theme")
	b.uploadForm(at, "logo", picture(t, 32), form...).want(http.StatusConflict) // the theme has changed
	if f.currentTheme().Hash() != first.Hash() {
		t.Error("a form for an older theme changed it")
	}
}

// An answer is not repeated to an account that has lost its permission.
func TestForms_sent_twice_by_a_changed_role(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Emil", account.Developer)
	form := []string{"label", "Web shop", "scope", "read", "form", b.formToken()}
	b.post("/desk/shop/keys", form...).want(http.StatusOK, "was created")
	team, err := f.accounts.Team(t.Context())
	f.must(err)
	for _, a := range team {
		if a.Name == "Emil" {
			f.must(f.accounts.ChangeRoles(t.Context(), a.ID, func(r map[string]account.Role) error { r[shop] = account.Bookkeeper; return nil }))
		}
	}
	b.post("/desk/shop/keys", form...).want(http.StatusForbidden, "Not allowed for your role")
}

// The form token is masked: no two pages contain the same text.
func TestForms_masked_token(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	first, second := b.formToken(), b.formToken()
	if first == second {
		t.Errorf("two pages have the form token %q", first)
	}
	for _, wrong := range []string{first[:43], first + first, second[:43] + first[43:], strings.Repeat("A", len(first))} {
		b.post("/desk/shop/account/sessions/end", "form", wrong).want(http.StatusForbidden, "Form refused")
	}
	b.post("/desk/shop/account/sessions/end", "form", first).wantRedirect("/desk/shop/account?done=ended")
}

// Only the last form of a page is repeated: a value that is saved again after another one is stored again.
func TestForms_sent_with_earlier_values(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	token := b.formToken()
	for _, zone := range []string{"Europe/Berlin", "Europe/Riga", "Europe/Berlin"} {
		b.post(notifications+"/times", "zone", zone, "quiet_from", "", "quiet_to", "", "form", token).wantRedirect(notifications + "?done=notifications")
		if got := b.get(notifications).find("#zone").AttrOr("value", ""); got != zone {
			t.Errorf("after %q was saved, the time zone is %q", zone, got)
		}
	}
}
