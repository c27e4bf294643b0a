package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
)

// On the first run with a password and a code, only the form that creates the account uses up the link. The pages
// before it can be opened several times.
func TestFirst_run_link_ends_with_the_new_account(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.browser()
	b.get("/desk").wantRedirect("/desk/start")
	b.get("/desk/signin").wantRedirect("/desk/start")
	b.get("/desk/start").want(http.StatusOK, "Use the link that the server printed")
	b.post("/desk/start", "token", "wrong").want(http.StatusUnprocessableEntity, "This link was used, has expired or is incomplete")

	link, err := f.accounts.NewStart(t.Context(), shop)
	f.must(err)
	b.post("/desk/start", "token", link.Token).want(http.StatusOK, "Create the owner account")
	b.post("/desk/start", "token", "  "+site+"/desk/start#"+link.Token+"\n").want(http.StatusOK, "expires at 12:30 UTC")
	refused := b.post("/desk/start/password", "token", link.Token, "name", "Maren", "password", "short").want(http.StatusUnprocessableEntity, "must have at least 12 characters")
	if name := refused.find("input#name").AttrOr("value", ""); name != "Maren" {
		t.Errorf("the form has the name %q", name)
	}
	codes := b.post("/desk/start/password", "token", link.Token, "name", "Maren", "password", password).want(http.StatusOK, "Authenticator app")
	if n := codes.find(".codes li").Length(); n != 10 {
		t.Errorf("%d recovery codes, want 10", n)
	}
	f.seeds["Maren"] = codes.find("input[name=seed]").AttrOr("value", "")
	fields := []string{"token", link.Token}
	for _, name := range []string{"offer", "seed", "uri", "codes"} {
		fields = append(fields, name, codes.find("input[name="+name+"]").AttrOr("value", ""))
	}
	again := b.post("/desk/start/code", append(fields, "code", "000000")...).want(http.StatusUnprocessableEntity, "The code is wrong")
	if again.find(".codes li").Length() != 10 || again.find("svg.qr path[d]").Length() != 1 {
		t.Error("the page with a wrong code does not show the QR code and the recovery codes again")
	}
	b.post("/desk/start/code", append(fields, "code", f.code("Maren"))...).wantRedirect("/desk/shop/setup")
	if skip := b.get("/desk/shop/setup").find("main .end a").AttrOr("href", ""); skip != "/desk/shop?done=joined" {
		t.Errorf("the link that skips the step leads to %q, want /desk/shop?done=joined", skip)
	}
	b.get("/desk/shop?done=joined").want(http.StatusOK, "Overview", "Your account is ready.")
	b.get("/desk").wantRedirect("/desk/shop")
	other := f.browser()
	other.post("/desk/start", "token", link.Token).want(http.StatusUnprocessableEntity, "This link was used")
	other.post("/desk/start/code", append(fields, "code", f.code("Maren"))...).want(http.StatusUnprocessableEntity, "This link was used")
	other.get("/desk/start").want(http.StatusOK, "Invitations and recoveries are links that work once")
	other.get("/desk").wantRedirect("/desk/signin")
}

func TestInvitation_works_once_unless_withdrawn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	made := owner.send("/desk/shop/accounts/invite", "role", "seller").want(http.StatusOK, "Send this link to the new Seller")
	link := made.find("#link").Text()
	if made.find(`button[data-copies="link"]`).Length() != 1 {
		t.Error("the page has no button that copies the link")
	}
	if !strings.HasPrefix(link, site+"/desk/start#") {
		t.Fatalf("the link is %q, want it to begin with %s/desk/start#", link, site)
	}
	owner.get("/desk/shop/accounts").want(http.StatusOK, "Created by Maren")
	_, token, _ := strings.Cut(link, "#")
	f.join(token, "Jonas")
	if page := owner.get("/desk/shop/accounts"); strings.Contains(page.text(), "Created by Maren") || !strings.Contains(page.text(), "Jonas") {
		t.Errorf("the page after the invitation was used: %s", page.text())
	}
	f.browser().post("/desk/start", "token", token).want(http.StatusUnprocessableEntity, "This link was used")

	link = owner.send("/desk/shop/accounts/invite", "role", "owner").find("#link").Text()
	id := owner.get("/desk/shop/accounts").find(`form[action="/desk/shop/accounts/withdraw"] input[name=id]`).AttrOr("value", "")
	owner.send("/desk/shop/accounts/withdraw", "id", id).wantRedirect("/desk/shop/accounts?done=withdrawn")
	_, token, _ = strings.Cut(link, "#")
	f.browser().post("/desk/start", "token", token).want(http.StatusUnprocessableEntity, "This link was used")
	owner.send("/desk/shop/accounts/invite", "role", "root").want(http.StatusUnprocessableEntity, "The role must be one of")
}

// An owner cannot withdraw an invitation to a shop in which the owner has no role.
func TestInvitation_of_another_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	link, err := f.accounts.Invite(t.Context(), map[string]account.Role{"other": account.Seller})
	f.must(err)
	owner.send("/desk/shop/accounts/withdraw", "id", link.Ticket.ID).want(http.StatusNotFound, "Not found")
	if strings.Contains(owner.get("/desk/shop/accounts").text(), "Open invitations") {
		t.Error("the page shows the invitation of another shop")
	}
}

func TestRecovery_ends_sessions_and_keeps_the_account(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	link, err := f.accounts.Recover(t.Context(), "Maren")
	f.must(err)
	owner.get("/desk/shop/account").wantRedirect("/desk/signin?next=%2Fdesk%2Fshop%2Faccount")
	b := f.browser()
	form := b.post("/desk/start", "token", link.Token).want(http.StatusOK, "The account is Maren")
	if form.find("#name").Length() != 0 {
		t.Error("the form of a recovery asks for a name")
	}
	f.clock.Advance(time.Minute)
	f.join(link.Token, "Maren")
	if team, err := f.accounts.Team(t.Context()); err != nil || len(team) != 1 {
		t.Errorf("there are %d accounts, error %v", len(team), err)
	}
}
