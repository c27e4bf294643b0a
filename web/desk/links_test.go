package desk_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/merchant"
)

func (f *fixture) checkLink(want merchant.Link) {
	f.t.Helper()
	got, err := f.links.Link(f.t.Context(), want.Slug)
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		f.t.Errorf("link, error %v (-got +want):\n%s", err, diff)
	}
}

// addLink adds a checkout link to the shop.
func (f *fixture) addLink(slug string, change func(*merchant.Link)) merchant.Link {
	f.t.Helper()
	link := merchant.Link{Slug: slug, MerchantID: shop, Mode: merchant.Live, Amount: "3.50", Currency: "EUR", Description: "Filter coffee"}
	if change != nil {
		change(&link)
	}
	made, err := f.links.Create(f.t.Context(), link)
	f.must(err)
	return made
}

// A developer creates a link with all its values, reads its address and QR code, changes it and removes it.
func TestLinks_are_created_changed_and_removed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Ida", account.Developer)
	before := len(f.actions())
	b.get("/desk/shop/links").want(http.StatusOK, "No checkout links.")
	form := b.get("/desk/shop/links/new").want(http.StatusOK, "Create link").fields("edit")
	b.post("/desk/shop/links/new", with(form,
		"slug", "workshop", "amount", "85,00", "fiat_currency", "USD", "description", "Workshop\r\n5 December", "language", "de", "ends_at", "2026-12-05T18:00", "max_uses", "6",
		"url_success", "https://nord.example/thanks", "url_failure", "https://nord.example/back", "method-LTC", "1", "method-BTC", "1")...).wantRedirect("/desk/shop/links/workshop/edit?done=link-added")
	want := merchant.Link{
		Slug: "workshop", MerchantID: shop, Mode: merchant.Live, Amount: "85.00", Currency: "USD", Description: "Workshop\n5 December", Language: "de",
		URLSuccess: "https://nord.example/thanks", URLFailure: "https://nord.example/back", Methods: "BTC LTC", EndsAt: time.Date(2026, 12, 5, 18, 0, 0, 0, time.UTC), MaxUses: 6, CreatedAt: f.clock.Now(),
	}
	f.checkLink(want)
	at := "/desk/shop/links/workshop"
	edit := b.get(at+"/edit?done=link-added").want(http.StatusOK, "The link was created.").want(http.StatusOK, "https://shop.example/pay/workshop").want(http.StatusOK, "Invoices paid or still payable 0 of 6")
	if n := edit.find(".qr path").Length(); n != 1 {
		t.Errorf("the page has %d QR codes, want 1", n)
	}
	if n := edit.find(`button.scripted[data-copies=address]`).Length(); n != 1 {
		t.Errorf("the page has %d buttons that copy the address, want 1", n)
	}
	b.post(at+"/edit", edit.fields("edit")...).wantRedirect(at + "/edit?done=link-changed")
	f.checkLink(want) // a form that was not changed changes nothing
	b.post(at+"/edit", with(edit.fields("edit"), "amount", "", "max_uses", "", "ends_at", "", "language", "", "method-BTC", "", "method-LTC", "")...).wantRedirect(at + "/edit?done=link-changed")
	want.Amount, want.MaxUses, want.EndsAt, want.Language, want.Methods = "", 0, time.Time{}, "", ""
	f.checkLink(want)
	b.get("/desk/shop/links").want(http.StatusOK, "/pay/workshop Workshop 5 December Active – – Any amount, USD")
	ask := b.get(at+"/remove").want(http.StatusOK, "Remove /pay/workshop?").want(http.StatusOK, "Codes on paper and buttons on pages stop working.")
	b.post(at+"/remove", ask.fields("decide")...).wantRedirect("/desk/shop/links?done=link-removed")
	b.get(at+"/edit").want(http.StatusNotFound, "Not found")

	answer := b.post("/desk/shop/links/new?mode=test", form...)
	if got := answer.header.Get("Location"); answer.status != http.StatusSeeOther || !strings.HasSuffix(got, "/edit?done=link-added") {
		t.Errorf("a link without a slug: %d to %q: %s", answer.status, got, answer.text())
	}
	all, err := f.links.Links(t.Context(), shop, merchant.Test, merchant.LinkPosition{}, 10)
	if err != nil || len(all) != 1 || len(all[0].Slug) != 16 || all[0].Mode != merchant.Test {
		t.Errorf("links %+v, error %v, want one link in test mode with a random slug", all, err)
	}
	got := f.actions()[before:]
	if want := []string{"Ida: link.created", "Ida: link.changed", "Ida: link.changed", "Ida: link.removed", "Ida: link.created"}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// A refused form keeps its values and names the field.
func TestLinks_refuses_invalid_forms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	coffee := f.addLink("coffee", func(link *merchant.Link) { link.EndsAt = storedEnd })
	valid := with(b.get("/desk/shop/links/new").fields("edit"), "slug", "tea", "amount", "2.50", "description", "Green tea")
	edit := b.get("/desk/shop/links/coffee/edit").fields("edit")
	for name, tt := range map[string]struct{ field, value, want string }{
		"slug in use":      {"slug", "coffee", "Error: Slug is in use already."},
		"wrong slug":       {"slug", "a_b", "Error: Slug must have 1 to 64 letters a to z, digits and hyphens."},
		"wrong amount":     {"amount", "2,500", "Error: Amount must be a number, digits with at most one dot, such as 12.50."},
		"unknown currency": {"fiat_currency", "XXX", "Currency must be EUR or USD."},
		"wrong end":        {"ends_at", "tomorrow", "Error: Ends (UTC) must be a day and a time such as 2026-12-31 18:00."},
		"too many uses":    {"max_uses", "1000001", "Error: Maximum number of invoices must be a whole number from 0 to 1000000."},
		"plain http":       {"url_success", "http://nord.example", "Error: Return address after the payment must be an absolute https address with a host name, and without a user name."},
		"no address":       {"url_failure", "back", "Error: Return address without a payment must be an absolute https address with a host name, and without a user name."},
		"wrong language":   {"language", "d", "Language must be a language tag such as de or pt-BR."},
		"long description": {"description", strings.Repeat("é", 513), "Error: Description must have at most 512 characters."},
	} {
		answer := b.post("/desk/shop/links/new", with(valid, tt.field, tt.value)...).want(http.StatusUnprocessableEntity, "Nothing was saved.")
		if got := answer.fault(tt.field); got != tt.want {
			t.Errorf("%s, new: %q, want %q", name, got, tt.want)
		}
		if got, sent := answer.fields("edit"), with(valid, tt.field, tt.value); !slices.Equal(withoutToken(got), withoutToken(sent)) {
			t.Errorf("%s: the form has the values %q, want %q", name, got, sent)
		}
		if tt.field == "slug" {
			continue
		}
		if got := b.post("/desk/shop/links/coffee/edit", with(edit, tt.field, tt.value)...).want(http.StatusUnprocessableEntity, "Nothing was saved.").fault(tt.field); got != tt.want {
			t.Errorf("%s, change: %q, want %q", name, got, tt.want)
		}
	}
	f.checkLink(coffee)
	b.post("/desk/shop/links/coffee/edit", with(edit, "description", "Espresso")...).wantRedirect("/desk/shop/links/coffee/edit?done=link-changed")
	coffee.Description = "Espresso"
	f.checkLink(coffee) // with the seconds of its end, which the form does not show
}

var storedEnd = time.Date(2026, 12, 5, 18, 0, 7, 0, time.UTC)

// A change and a removal of a link that was changed meanwhile are answered with the new facts.
func TestLinks_refuse_changes_of_an_old_version(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.addLink("coffee", nil)
	at := "/desk/shop/links/coffee"
	edit, ask := b.get(at+"/edit").fields("edit"), b.get(at+"/remove").want(http.StatusOK, "Remove /pay/coffee, €3.50?").fields("decide")
	link, err := f.links.Change(t.Context(), shop, merchant.Live, "coffee", func(l *merchant.Link) error { l.Amount, l.MaxUses = "4", 9; return nil })
	f.must(err)
	stale := b.post(at+"/edit", with(edit, "description", "Espresso", "max_uses", "2")...).want(http.StatusConflict, "It was changed after you opened the page. Nothing was saved.")
	for field, want := range map[string]string{"amount": "Error: Stored meanwhile: 4", "description": "Error: Stored meanwhile: Filter coffee", "max_uses": "Error: Stored meanwhile: 9", "ends_at": ""} {
		if got := stale.fault(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	b.post(at+"/remove", ask...).want(http.StatusConflict, "Remove /pay/coffee, €4.00?").want(http.StatusConflict, "Nothing was removed.")
	f.checkLink(link)
	b.post(at+"/edit", stale.fields("edit")...).wantRedirect(at + "/edit?done=link-changed")
	link.Amount, link.Description, link.MaxUses = "3.50", "Espresso", 2
	f.checkLink(link)
}

// The list has the newest links first, in pages. An ended link has that state, and a link of another shop is not found.
func TestLinks_are_listed_newest_first_in_pages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for i := range 51 {
		f.addLink(fmt.Sprintf("l%02d", i), func(link *merchant.Link) {
			if i == 50 {
				link.EndsAt = f.clock.Now().Add(-time.Second)
			}
		})
	}
	f.addLink("test", func(link *merchant.Link) { link.Mode = merchant.Test })
	f.addLink("foreign", func(link *merchant.Link) { link.MerchantID = "other" })
	first := b.get("/desk/shop/links").want(http.StatusOK, "50 links, newest first").want(http.StatusOK, "/pay/l50 Filter coffee Ended – – €3.50")
	older := first.find(".pager a").AttrOr("href", "")
	last := b.get(older).want(http.StatusOK, "/pay/l00 Filter coffee Active – – €3.50")
	if n := last.find(".rows tbody tr").Length(); n != 1 || last.find(".pager a").Length() != 0 {
		t.Errorf("the last page has %d rows, want 1 and no older page", n)
	}
	if text := first.text() + last.text(); strings.Contains(text, "foreign") || strings.Contains(text, "/pay/test") {
		t.Errorf("the lists have a link of another shop or of test mode: %q", text)
	}
	b.get("/desk/shop/links?mode=test").want(http.StatusOK, "/pay/test")
	b.get("/desk/shop/links/foreign/edit").want(http.StatusNotFound, "Not found")
	b.send("/desk/shop/links/foreign/edit").want(http.StatusNotFound, "Not found")
	b.send("/desk/shop/links/foreign/remove").want(http.StatusNotFound, "Not found")
}

// The second page begins after the last link of the first one, also if that link was removed meanwhile.
func TestLinks_list_after_a_removed_link(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for i := range 52 {
		f.addLink(fmt.Sprintf("l-%02d", i), nil)
	}
	older := b.get("/desk/shop/links").find(".pager a").AttrOr("href", "")
	f.must(f.links.Remove(t.Context(), shop, merchant.Live, "l-02"))
	page := b.get(older)
	if got := textOf(page.find(".rows tbody tr")); page.find(".rows tbody tr").Length() != 2 || !strings.Contains(got, "/pay/l-01") || !strings.Contains(got, "/pay/l-00") {
		t.Errorf("the second page has %q, want the two oldest links", got)
	}
	b.get("/desk/shop/links?after=l-02").want(http.StatusOK, "50 links, newest first")
}

// The end of a link is read in the zone that the form showed, even if the shop's zone changes meanwhile.
func TestLinks_end_in_the_zone_of_the_form(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.inZone(shop, "Europe/Berlin")
	end := time.Date(2026, 12, 31, 17, 0, 30, 0, time.UTC)
	f.addLink("coffee", func(l *merchant.Link) { l.EndsAt = end })
	const at = "/desk/shop/links/coffee/edit"
	form, empty := b.get(at).want(http.StatusOK, "Ends (Europe/Berlin)").fields("edit"), b.get("/desk/shop/links/new").fields("edit")
	f.inZone(shop, "Asia/Kathmandu")
	check := func(slug string, want time.Time) {
		t.Helper()
		l, err := f.links.Link(t.Context(), slug)
		f.must(err)
		if !l.EndsAt.Equal(want) {
			t.Errorf("%s ends at %s, want %s", slug, l.EndsAt, want)
		}
	}
	b.post(at, with(form, "description", "Espresso")...).wantRedirect(at + "?done=link-changed")
	check("coffee", end)
	form = with(b.get(at).want(http.StatusOK, "Ends (Asia/Kathmandu)").fields("edit"), "ends_at", "2026-12-31 20:45")
	f.inZone(shop, "UTC")
	refused := b.post(at, with(form, "amount", "x")...).want(http.StatusUnprocessableEntity, "Ends (Asia/Kathmandu)")
	b.post(at, with(refused.fields("edit"), "amount", "3.50")...).wantRedirect(at + "?done=link-changed")
	check("coffee", time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC))
	b.post("/desk/shop/links/new", with(empty, "slug", "tea", "description", "Tea", "amount", "3.00", "ends_at", "2026-12-31 18:00")...).wantRedirect("/desk/shop/links/tea/edit?done=link-added")
	check("tea", time.Date(2026, 12, 31, 17, 0, 0, 0, time.UTC))
}

// The removal of a link can be undone for 30 days. While the link is removed, its page does not exist.
func TestLinks_removal_is_undone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	link := f.addLink("coffee", nil)
	at := "/desk/shop/links/coffee"
	b.post(at+"/remove", b.get(at+"/remove").want(http.StatusOK, "You can undo this for 30 days").fields("decide")...).wantRedirect("/desk/shop/links?done=link-removed")
	list := b.get("/desk/shop/links").want(http.StatusOK, "Removed in the last 30 days /pay/coffee €3.50 · removed")
	b.get(at + "/edit").want(http.StatusNotFound)
	if list.find("#removed form").Length() != 1 || b.get("/desk/shop/links?mode=test").find("#removed").Length() != 0 {
		t.Error("want the removed link in live mode only")
	}
	undo := list.hidden("#removed form")
	b.send("/desk/other/links/coffee/restore", undo...).want(http.StatusNotFound)
	b.send(at+"/restore", undo...).wantRedirect("/desk/shop/links?done=link-restored")
	f.checkLink(link)
	b.send(at+"/restore", undo...).want(http.StatusConflict, "cannot be restored any more")
	if got := strings.Join(f.actions(), "; "); !strings.Contains(got, "Maren: link.removed; Maren: link.restored") {
		t.Errorf("the audit log is %s, want the removal and the restoration by Maren in it", got)
	}
	f.must(f.links.Remove(t.Context(), shop, merchant.Live, "coffee"))
	f.clock.Advance(30*24*time.Hour + time.Millisecond)
	if removed, err := f.links.Removed(t.Context(), shop); err != nil || len(removed) != 0 {
		t.Errorf("after 30 days: %v, error %v", removed, err)
	}
	if err := f.links.Restore(t.Context(), shop, merchant.Live, "coffee"); !errors.Is(err, merchant.ErrNotFound) {
		t.Errorf("after 30 days: got error %v", err)
	}
}
