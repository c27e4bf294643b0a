package desk_test

import (
	"net/http"
	"strings"
	"testing"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/web/desk/visit"
)

// An account with roles in two shops changes between them, and has in each what its role there allows.
func TestTwo_shops(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	b := l.owner()
	if n := b.get("/desk/shop/account").find("details.shop").Length(); n != 0 {
		t.Errorf("%d menus of shops for one shop, want none", n)
	}
	team, err := l.accounts.Team(t.Context())
	l.must(err)
	l.must(l.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Seller; return nil }))
	page := b.get("/desk/shop/account").want(http.StatusOK, "Nord Markt")
	if n := page.find(`details.shop a[href="/desk/other"]`).Length(); n != 2 {
		t.Errorf("%d links to the other shop, want 2", n)
	}
	b.get("/desk/other").leads("/desk/other/account")
	b.get("/desk/other/account").want(http.StatusOK, "Maren, Seller")
	b.get("/desk/other/accounts").want(http.StatusForbidden, "Not allowed for your role")
}

// The audit log of a server has the changes of all shops; an account reads those of its own and of the
// server.
func TestLog(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	b := l.owner()
	team, err := l.accounts.Team(t.Context())
	l.must(err)
	// A seller may not view the log of the other shop.
	l.must(l.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Seller; return nil }))
	for _, c := range []audit.Change{
		{MerchantID: shop, Action: "product.changed", Subject: "print", Before: audit.Fields{"price": "38", "note": "no"}, After: audit.Fields{"price": "40", "name": "<b>"}},
		{MerchantID: "other", Action: "product.changed", Subject: "secret product"},
		{Action: "backup.created"},
	} {
		l.must(l.storage.Record(t.Context(), c))
	}
	page := b.get("/desk/shop/log").want(http.StatusOK, "print: product.changed system name: <b>, note: no →, price: 38 → 40")
	if text := page.text(); strings.Contains(text, "secret product") || !strings.Contains(text, "backup.created") || !strings.Contains(text, "Maren: account.created Maren role in shop: owner") {
		t.Errorf("the page is %q", text)
	}
	for range 60 {
		l.must(l.storage.Record(t.Context(), audit.Change{Action: "backup.created"}))
	}
	older := b.get("/desk/shop/log").find(".pager a").AttrOr("href", "")
	b.get(older).want(http.StatusOK, "print: product.changed")
	b.get("/desk/shop/log?below=nothing").want(http.StatusOK, "backup.created")
}

// Below a base path, every address has it.
func TestBase_path(t *testing.T) {
	t.Parallel()
	l := labAt(t, site+"/pay")
	b := l.browser()
	b.get("/pay/desk").leads("/pay/desk/start")
	link := l.start()
	b.header = map[string]string{"Accept": "application/json"}
	sent := b.post("/pay/desk/start/passkey/options", "token", link, "name", "Maren")
	offer, response := answered(t, sent, b.key.create)
	b.header = nil
	b.post("/pay/desk/start/passkey", "token", link, "name", "Maren", "offer", offer, "credential", response).leads("/pay/desk/shop/account?done=joined")
	page := b.get("/pay/desk/shop/account").want(http.StatusOK, "Your account")
	page.find("[href], [src], form[action]").Each(func(_ int, s *selection) {
		for _, name := range []string{"href", "src", "action"} {
			if address, has := s.Attr(name); has && !strings.HasPrefix(address, "/pay/") && address != "#main" {
				t.Errorf("the page has the address %s", address)
			}
		}
	})
	l.browser().get("/pay/desk/shop/account").leads("/pay/desk/signin?next=%2Fpay%2Fdesk%2Fshop%2Faccount")
	if got := (&visit.Site{BasePath: "/pay"}).LocalPath("/desk/shop"); got != "" {
		t.Errorf("an address outside the base path leads to %q", got)
	}
}
