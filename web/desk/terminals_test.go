package desk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"chequer/internal/account"
	"chequer/internal/merchant"
)

// A manager adds a terminal, reads its address once, and removes it: the address then stops working.
func TestTerminals_show_their_address_once(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Tove", account.Manager)
	before := len(f.actions())
	b.get("/desk/shop/terminals").want(http.StatusOK, "No terminals.")
	form := b.get("/desk/shop/terminals/new").want(http.StatusOK, "Add terminal").fields("edit")
	added := b.post("/desk/shop/terminals/new", with(form, "name", "Market stall", "fiat_currency", "USD", "method-LTC", "1")...).want(http.StatusOK, "It is shown only now.")
	address := added.find("#address").Text()
	secret := strings.TrimPrefix(address, "https://shop.example/pos/")
	got, err := f.terminals.Find(t.Context(), secret)
	want := merchant.Terminal{ID: got.ID, MerchantID: shop, Mode: merchant.Live, Name: "Market stall", Currency: "USD", Methods: "LTC", CreatedAt: f.clock.Now()}
	if err != nil || got != want {
		t.Fatalf("the terminal of %s is %+v, error %v, want %+v", address, got, err, want)
	}
	if n := added.find(".qr path").Length(); n != 1 {
		t.Errorf("the page has %d codes, want 1", n)
	}
	list := b.get("/desk/shop/terminals").want(http.StatusOK, "Market stall USD · created 12:00 · LTC")
	if strings.Contains(list.body, secret) || strings.Contains(f.log.text.String(), secret) {
		t.Error("the list or the log has the secret")
	}
	if text := b.get("/desk/shop/terminals?mode=test").text(); strings.Contains(text, "Market stall") {
		t.Errorf("the list of test terminals has a live one: %q", text)
	}
	at := "/desk/shop/terminals/" + got.ID + "/remove"
	ask := b.get(at).want(http.StatusOK, "Remove Market stall?").want(http.StatusOK, "Its address stops working within seconds.")
	b.post(at, ask.fields("decide")...).wantRedirect("/desk/shop/terminals?done=terminal-removed")
	if got, err := f.terminals.Find(t.Context(), secret); err == nil {
		t.Errorf("the removed terminal is found: %+v", got)
	}
	b.send(at).want(http.StatusNotFound, "Not found")
	if got, want := f.actions()[before:], []string{"Tove: terminal.created", "Tove: terminal.removed"}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// A refused form keeps its values and names the field, and a terminal of another shop is not found.
func TestTerminals_refuses_invalid_forms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	form := with(b.get("/desk/shop/terminals/new").fields("edit"), "name", "Bar")
	for _, tt := range []struct{ field, value, want string }{
		{"name", strings.Repeat("x", 65), "Error: Name must have at most 64 characters."},
		{"fiat_currency", "XXX", "Currency must be EUR or USD."},
	} {
		sent := with(form, tt.field, tt.value)
		answer := b.post("/desk/shop/terminals/new", sent...).want(http.StatusUnprocessableEntity, "Nothing was saved.")
		if got := answer.fault(tt.field); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.field, got, tt.want)
		}
		if got := answer.fields("edit"); !slices.Equal(withoutToken(got), withoutToken(sent)) {
			t.Errorf("the form has the values %q, want %q", got, sent)
		}
	}
	if all, err := f.terminals.List(t.Context(), shop); err != nil || len(all) != 0 {
		t.Errorf("%d terminals, error %v, want none", len(all), err)
	}
	foreign, err := f.terminals.Create(t.Context(), merchant.Terminal{MerchantID: "other", Mode: merchant.Live, Name: "Door", Currency: "EUR"})
	f.must(err)
	b.get("/desk/shop/terminals/"+foreign.ID+"/remove").want(http.StatusNotFound, "Not found")
	b.send("/desk/shop/terminals/"+foreign.ID+"/remove").want(http.StatusNotFound, "Not found")
	developer := f.as("Ida", account.Developer)
	if n := developer.get("/desk/shop/links").want(http.StatusOK, "Checkout links").find(`a[href$="/terminals"]`).Length(); n != 0 {
		t.Errorf("the page of a developer has %d links to the terminals, which refuse the developer", n)
	}
	developer.get("/desk/shop/terminals").want(http.StatusForbidden, "Theme, payment settings and terminals are managed by: Owner: Maren.")
}
