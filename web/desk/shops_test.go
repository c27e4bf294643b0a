package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/web/desk"
	"chequer/web/desk/visit"
)

// An account with roles in two shops changes between them, and has in each what its role there allows.
func TestTwo_shops_have_their_own_roles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	if n := b.get("/desk/shop/account").find("details.shop").Length(); n != 0 {
		t.Errorf("%d menus of shops for one shop, want none", n)
	}
	team, err := f.accounts.Team(t.Context())
	f.must(err)
	f.must(f.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Seller; return nil }))
	page := b.get("/desk/shop/account").want(http.StatusOK, "Nord Markt")
	if n := page.find(`details.shop a[href="/desk/other"]`).Length(); n != 2 {
		t.Errorf("%d links to the other shop, want 2", n)
	}
	b.get("/desk/other").wantRedirect("/desk/other/own")
	b.get("/desk/other/account").want(http.StatusOK, "Maren, Seller")
	b.get("/desk/other/accounts").want(http.StatusForbidden, "Not allowed for your role")
}

// The audit log of a server has the changes of all shops; an account reads those of its own and of the
// server.
func TestLog_leaves_out_changes_of_other_shops(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	team, err := f.accounts.Team(t.Context())
	f.must(err)
	// A seller may not view the log of the other shop.
	f.must(f.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Seller; return nil }))
	for _, c := range []audit.Change{
		{MerchantID: shop, Action: "product.changed", Subject: "print", Before: audit.Fields{"price": "38", "note": "no"}, After: audit.Fields{"price": "40", "name": "<b>"}},
		{MerchantID: "other", Action: "product.changed", Subject: "secret product"},
		{Action: "backup.created"},
	} {
		f.must(f.storage.Record(t.Context(), c))
	}
	page := b.get("/desk/shop/log").want(http.StatusOK, "Product changed: print system name: <b>, note: no →, price: 38 → 40")
	if text := page.text(); strings.Contains(text, "secret product") || !strings.Contains(text, "Backup created") || !strings.Contains(text, "Account created: Maren Maren role in shop: owner") {
		t.Errorf("the page is %q", text)
	}
	for range 60 {
		f.must(f.storage.Record(t.Context(), audit.Change{Action: "backup.created"}))
	}
	older := b.get("/desk/shop/log").find(".pager a").AttrOr("href", "")
	b.get(older).want(http.StatusOK, "Product changed: print")
	b.get("/desk/shop/log?below=nothing").want(http.StatusOK, "Backup created")
}

// The log says what was done in words, without the internal names of actions and fields.
func TestLog_words(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for action, want := range map[string]string{
		"endpoint.retried": "Webhook retried", "key.created": "API key created", "exchange_account.changed": "Exchange account changed", "case.snooze_ended": "Payment snooze ended",
		"sign_in.disabled": "Sign-in with a password disabled", "account.passkey_added": "Passkey added", "account.invitation_withdrawn": "Invitation withdrawn", "session.stepped_up": "Sign-in confirmed",
		"notifications.link_requested": "Notifications link requested", "link.restored": "Checkout link restored", "desk.link_created": "First-run link created",
	} {
		f.must(f.storage.Record(t.Context(), audit.Change{Action: action, Subject: "x", After: audit.Fields{"next_key": "1", "role in m_first": "owner"}}))
		if got := textOf(b.get("/desk/shop/log").find(".rows tbody tr").First().Find("th, .a5")); got != want+": x next key: 1, role in m_first: owner" {
			t.Errorf("%s: the row is %q, want %q", action, got, want)
		}
	}
}

// Below a base path, every address has it.
func TestBase_path_is_in_every_address(t *testing.T) {
	t.Parallel()
	f := fixtureAt(t, site+"/pay")
	b := f.browser()
	b.get("/pay/desk").wantRedirect("/pay/desk/start")
	link := f.start()
	b.header = map[string]string{"Accept": "application/json"}
	sent := b.post("/pay/desk/start/passkey/options", "token", link, "name", "Maren")
	offer, response := answered(t, sent, b.key.create)
	b.header = nil
	b.post("/pay/desk/start/passkey", "token", link, "name", "Maren", "offer", offer, "credential", response).wantRedirect("/pay/desk/shop/setup")
	page := b.get("/pay/desk/shop/account").want(http.StatusOK, "Your account")
	page.find("[href], [src], form[action]").Each(func(_ int, s *selection) {
		for _, name := range []string{"href", "src", "action"} {
			if address, has := s.Attr(name); has && !strings.HasPrefix(address, "/pay/") && address != "#main" {
				t.Errorf("the page has the address %s", address)
			}
		}
	})
	f.browser().get("/pay/desk/shop/account").wantRedirect("/pay/desk/signin?next=%2Fpay%2Fdesk%2Fshop%2Faccount")
	if got := (&visit.Site{BasePath: "/pay"}).LocalPath("/desk/shop"); got != "" {
		t.Errorf("an address outside the base path leads to %q", got)
	}
}

// An owner renames the shop, and creates another one, which the account then owns.
func TestShop_is_renamed_and_created(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/shop"
	b.get(at).want(http.StatusOK, "Atelier Nord", "ID, for commands shop", "New shop")

	for name, want := range map[string]string{
		"":                      "The name must not be empty.",
		strings.Repeat("x", 65): "The name must have at most 64 characters.",
		"nord markt":            "Another shop of this server has this name.",
	} {
		if got := b.send(at, "name", name, "seen", "Atelier Nord").want(http.StatusUnprocessableEntity); !strings.Contains(got.fault("name"), want) || got.find("#name").AttrOr("value", "") != name {
			t.Errorf("rename to %q: %q", name, got.fault("name"))
		}
		if got := b.send("/desk/shop/shops", "new", name).want(http.StatusUnprocessableEntity); !strings.Contains(got.fault("new"), want) || got.find("#new").AttrOr("value", "") != name {
			t.Errorf("create %q: %q", name, got.fault("new"))
		}
	}
	b.send(at, "name", "Atelier Süd", "seen", "Atelier Nord").wantRedirect(at + "?done=renamed")
	b.get(at+"?done=renamed").want(http.StatusOK, "The name was changed.", "Atelier Süd")
	b.send(at, "name", "Atelier West", "seen", "Atelier Nord").want(http.StatusConflict, "Another account has changed the name to Atelier Süd. Nothing was saved.")

	b.send("/desk/shop/shops", "new", "Café Ost").wantRedirect("/desk/m_cafe-ost?done=shop-created")
	b.get("/desk/m_cafe-ost?done=shop-created").want(http.StatusOK, "Café Ost", "The shop was created.", "First steps", "0 of 7 done")
	page := b.get("/desk/shop/shop")
	if n := page.find(`details.shop a[href="/desk/m_cafe-ost"]`).Length(); n != 2 {
		t.Errorf("%d links to the new shop, want 2", n)
	}
	b.get("/desk/m_cafe-ost/accounts").want(http.StatusOK, "Maren")
	b.get("/desk/m_cafe-ost/log").want(http.StatusOK, "Shop created: m_cafe-ost Maren", "owner: Maren")
	b.get("/desk/m_cafe-ost/products").want(http.StatusOK, "Products")
	if found := b.get("/desk/m_cafe-ost/shop").find(`a[href$="/s/m_cafe-ost"]`).Length(); found != 1 {
		t.Errorf("%d links to the storefront of the new shop, want 1", found)
	}
	b.send("/desk/shop/shops", "new", "Café Ost").want(http.StatusUnprocessableEntity, "Another shop of this server has this name.")

	named := f.config
	named.NamedShop = shop
	f.desk = desk.New(named)
	b.get(at).want(http.StatusOK, "Set by CHEQUER_SHOP_NAME.")
	b.send(at, "name", "Atelier West", "seen", "Atelier Süd").want(http.StatusConflict, "Set by CHEQUER_SHOP_NAME.")

	f.clock.Advance(11 * time.Minute)
	b.send("/desk/shop/shops", "new", "Café West").want(http.StatusForbidden, "Confirm it’s you")
	if all, err := f.merchants.Shops(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("got the shops %v, %v, want 3", all, err)
	}
}

// The pages of all shops show the shops in which the account has the permission, each row with its shop.
func TestAll_shops_are_those_with_the_permission(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	const at = "/desk/all"
	if n := b.get("/desk/shop?mode=test").find(`details.shop a[href="/desk/all"]`).Length(); n != 0 {
		t.Errorf("%d links to all shops for an account with one, want none", n)
	}
	f.must(f.storage.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m_third", Name: "Third", CreatedAt: f.clock.Now()}}))
	s.settle(s.sell(shop, "1", "40.00"), "0.0005")
	f.clock.Advance(time.Second)
	s.settle(s.sell("other", "2", "80.00"), "0.001")
	f.clock.Advance(time.Second)
	s.settle(s.sell("m_third", "3", "80.00"), "0.001")
	f.clock.Advance(time.Second)
	s.settle(s.sell("other", "4", "20.00"), "0.0003") // overpaid by 4.00
	f.clock.Advance(time.Second)
	s.settle(s.sell(shop, "5", "20.00"), "0.0003")
	f.clock.Advance(time.Second)
	s.settle(s.sell("m_third", "6", "20.00"), "0.0003")
	role := func(shopID string, role account.Role) {
		t.Helper()
		team, err := f.accounts.Team(t.Context())
		f.must(err)
		f.must(f.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r[shopID] = role; return nil }))
	}
	role("other", account.Manager)

	page := b.get(at+"?mode=test").want(http.StatusOK, "All shops", "Overview", "By shop")
	if got, want := page.totals(), "Received €160.00 €0.00 in the period before Payments 4 0 in the period before"; got != want {
		t.Errorf("the totals are %q, want %q", got, want)
	}
	if got, want := textOf(page.find("table[class!=rows] tbody tr, .tw tbody tr")), "Nord Markt 2 62.5 % €100.00 €0.00 Atelier Nord 2 37.5 % €60.00 €0.00"; !strings.Contains(got, want) {
		t.Errorf("the shops are %q, want %q", got, want)
	}
	if got, want := page.names(), "5 4 2 1"; got != want {
		t.Errorf("the newest payments are %q, want %q", got, want)
	}
	if got, want := page.find(`.rows a[href^="/desk/other/payments/"]`).Length(), 2; got != want {
		t.Errorf("%d links lead to payments of the other shop, want %d", got, want)
	}
	if text := page.text(); strings.Contains(text, "Third") {
		t.Errorf("the page shows a shop in which the account has no role: %s", text)
	}
	if n := page.find(`details.shop a[href="/desk/all"]`).Length(); n != 2 {
		t.Errorf("%d links to all shops, want 2", n)
	}
	if n := page.find("form.find, a[href$='/wallets']").Length(); n != 0 {
		t.Errorf("the page has %d searches and places of one shop", n)
	}
	cases := b.get(at+"/attention?mode=test").want(http.StatusOK, "Nord Markt · ", "Atelier Nord · ")
	if got, want := textOf(cases.find(".list h2")), "4: Overpaid 5: Overpaid"; got != want {
		t.Errorf("the cases are %q, want %q", got, want)
	}
	b.get(at + "/reports?mode=test&period=month").want(http.StatusUnprocessableEntity)
	b.get(at+"/reports?mode=test").want(http.StatusOK, "By shop", "Nord Markt 2 62.5 % €100.00", "Total 4 100.0 % €160.00")

	// A shop without payments is listed, and leads to its page.
	f.must(f.storage.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m_new", Name: "Unpaid", CreatedAt: f.clock.Now()}}))
	role("m_new", account.Owner)
	if n := b.get(at+"?mode=test").want(http.StatusOK, "Unpaid 0 0.0 % €0.00 €0.00").find(`th a[href="/desk/m_new?mode=test"]`).Length(); n != 1 {
		t.Errorf("%d links lead to a shop without payments, want 1", n)
	}

	// A seller in the other shop sees nothing of it.
	role("other", account.Seller)
	if text := b.get(at+"?mode=test").want(http.StatusOK, "Atelier Nord").text(); strings.Contains(text, "€100.00") || strings.Contains(text, "62.5") {
		t.Errorf("a seller sees the totals of the shop: %s", text)
	}
	if text := b.get(at + "/attention?mode=test").text(); strings.Contains(text, "4: Overpaid") {
		t.Errorf("a seller sees the cases of the shop: %s", text)
	}
	role("m_third", account.Bookkeeper)
	if text := b.get(at + "/attention?mode=test").text(); strings.Contains(text, "6: Overpaid") {
		t.Errorf("a bookkeeper sees the cases of the shop: %s", text)
	}
	b.get(at+"/reports?mode=test").want(http.StatusOK, "Third 2")
	f.browser().get(at).wantRedirect("/desk/signin?next=%2Fdesk%2Fall")
	if got := b.do(http.MethodPost, at, nil).status; got != http.StatusMethodNotAllowed && got != http.StatusNotFound {
		t.Errorf("a POST answers %d", got)
	}
}
