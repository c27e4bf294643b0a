package desk_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
)

// notices returns the texts of the notices on the overview.
func (b *browser) notices() (all []string) {
	b.fixture.t.Helper()
	b.get("/desk/shop").want(http.StatusOK, "Overview").find("#security h3").Each(func(_ int, s *selection) { all = append(all, s.Text()) })
	return all
}

// Every owner sees the changes of wallets, owners and sign-in methods of the last 7 days, until the owner dismisses them.
func TestNotices_are_shown_to_owners_until_dismissed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	maren := f.owner()
	if got := maren.notices(); len(got) > 0 {
		t.Errorf("a new desk has the notices %q", got)
	}
	tove, nora := f.as("Tove", account.Manager), f.as("Nora", account.Owner)
	asked := maren.send("/desk/shop/wallets/add", "asset", "BTC", "key", zpub84, "address", zpub84at0).want(http.StatusOK)
	maren.send("/desk/shop/wallets/confirm", asked.hidden("#decide")...).wantRedirect("/desk/shop/wallets?done=wallet")
	offer, response := tove.ceremony("/desk/shop/account/passkey/options", newAuthenticator(t).create, "form", tove.formToken())
	tove.send("/desk/shop/account/passkey", "offer", offer, "credential", response).wantRedirect("/desk/shop/account?done=added")
	f.setRole("Tove", account.Owner)
	f.setRole("Tove", account.Seller)

	want := []string{"Tove is no longer an owner", "Tove became an owner", "Tove has a new passkey", "A wallet was added: BTC", "Nora became an owner"}
	if diff := cmp.Diff(want, maren.notices()); diff != "" {
		t.Errorf("the notices of Maren (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(slices.Clone(want[:4]), "Maren became an owner"), nora.notices()); diff != "" { // without the notice that Nora became an owner
		t.Errorf("the notices of Nora (-want +got):\n%s", diff)
	}
	f.setRole("Tove", account.Manager)
	if got := tove.notices(); len(got) > 0 {
		t.Errorf("a manager sees %q", got)
	}
	page := maren.get("/desk/shop").want(http.StatusOK, "Audit log")
	link, _ := page.find("#security li").Eq(3).Find("a").Attr("href")
	maren.get(link).want(http.StatusOK, "Wallet added: ")
	newest := page.attribute("#security input[name=newest]", "value")

	f.clock.Advance(time.Minute)
	f.setRole("Nora", account.Manager) // after the page was read
	maren.send("/desk/shop/notices/dismiss", "newest", newest).wantRedirect("/desk/shop")
	if diff := cmp.Diff([]string{"Nora is no longer an owner"}, maren.notices()); diff != "" {
		t.Errorf("after the dismissal (-want +got):\n%s", diff)
	}
	f.setRole("Nora", account.Owner)
	if got := nora.notices(); len(got) != 7 {
		t.Errorf("the dismissal of Maren leaves Nora the notices %q", got)
	}
	maren.send("/desk/shop/notices/dismiss", "newest", strconv.Itoa(1<<40)).wantRedirect("/desk/shop")
	f.setRole("Nora", account.Manager)
	if got := maren.notices(); len(got) != 1 {
		t.Errorf("a later change after the dismissal of all: %q", got)
	}
	before := len(f.actions())
	tove.send("/desk/shop/notices/dismiss", "newest", newest).wantRedirect("/desk/shop")
	maren.send("/desk/shop/notices/dismiss", "newest", "x").wantRedirect("/desk/shop")
	if got := f.actions(); len(got) != before || !strings.Contains(strings.Join(got, "\n"), "Maren: account.notices_dismissed") {
		t.Errorf("the audit log is %q, want the dismissal by Maren and %d entries", got, before)
	}
	f.clock.Advance(time.Since(f.clock.Now()) + 7*24*time.Hour + time.Minute) // the storage has the clock of the system
	if got := f.as("Ida", account.Owner).notices(); len(got) > 0 {
		t.Errorf("after 7 days the notices are %q, want none", got)
	}
}

// The notices of a shop do not mention the owners and the members of other shops.
func TestNotices_of_other_shops(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	maren := f.owner()
	link, err := f.accounts.Invite(t.Context(), map[string]account.Role{shop: account.Seller, "other": account.Owner})
	f.must(err)
	b := f.browser()
	offer, response := b.ceremony("/desk/start/passkey/options", b.key.create, "token", link.Token, "name", "Otto")
	b.post("/desk/start/passkey", "token", link.Token, "name", "Otto", "offer", offer, "credential", response).want(http.StatusSeeOther)
	_, err = f.accounts.Recover(t.Context(), "Otto")
	f.must(err)
	if got := maren.notices(); len(got) != 1 || got[0] != "A recovery link for Otto was created" {
		t.Errorf("the notices about a member are %q, want only that of the recovery link", got)
	}
	otto, err := f.storage.AccountNamed(t.Context(), account.NameKey("Otto"))
	f.must(err)
	f.must(f.accounts.ChangeRoles(t.Context(), otto.ID, func(roles map[string]account.Role) error { delete(roles, shop); return nil }))
	if got := maren.notices(); len(got) > 0 {
		t.Errorf("the notices are %q, want none", got)
	}
}

// setRole sets the role of an account in the shop.
func (f *fixture) setRole(name string, role account.Role) {
	f.t.Helper()
	a, err := f.storage.AccountNamed(f.t.Context(), account.NameKey(name))
	f.must(err)
	f.must(f.accounts.ChangeRoles(f.t.Context(), a.ID, func(roles map[string]account.Role) error { roles[shop] = role; return nil }))
}
