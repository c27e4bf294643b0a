package desk_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
)

// Every answer has the headers that keep other sites, frames and caches away.
func TestHeaders_exclude_other_sites_frames_and_caches(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for _, path := range []string{"/desk", "/desk/signin", "/desk/start", "/desk/shop/account", "/desk/shop/accounts", "/desk/shop/nothing", "/desk/nowhere/account"} {
		header := b.get(path).header
		for name, want := range map[string]string{
			"Content-Security-Policy":    "frame-ancestors 'none'",
			"X-Frame-Options":            "DENY",
			"Cache-Control":              "no-store",
			"Referrer-Policy":            "same-origin",
			"X-Content-Type-Options":     "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin",
			"X-Robots-Tag":               "noindex",
		} {
			if got := header.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		csp := header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q lacks %q", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "nonce") {
			t.Errorf("%s: the policy is %q, want it without unsafe and nonce", path, csp)
		}
	}
}

// Forms that pages of other sites send are refused, signed in or not, and change nothing.
func TestForeignForms_are_refused_without_an_effect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	form, before := b.formToken(), len(f.actions())
	for name, header := range map[string]map[string]string{
		"another_site":           {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
		"another_site_old":       {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
		"sibling":                {"Origin": "https://blog.shop.example", "Sec-Fetch-Site": "same-site"},
		"another_scheme":         {"Origin": "http://shop.example", "Sec-Fetch-Site": ""},
		"another_port":           {"Origin": "https://shop.example:8443", "Sec-Fetch-Site": "same-site"},
		"opaque_origin":          {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
		"opaque_origin_old":      {"Origin": "null", "Sec-Fetch-Site": ""},
		"neither_header":         {"Origin": "", "Sec-Fetch-Site": ""},
		"typed_by_an_attacker":   {"Sec-Fetch-Site": "none"},
		"contradicting_headers":  {"Origin": "https://evil.example"},
		"contradicting_headers2": {"Sec-Fetch-Site": "cross-site"},
	} {
		b.header = header
		b.post("/desk/shop/account/sessions/end", "form", form).want(http.StatusForbidden, "Form refused")
		b.post("/desk/signout", "form", form).want(http.StatusForbidden, "Form refused")
		victim := f.browser()
		victim.header = header
		victim.post("/desk/signin", "name", "Maren", "password", password, "code", f.code("Maren")).want(http.StatusForbidden, "Form refused")
		if victim.session() != "" || len(f.actions()) != before {
			t.Errorf("%s: the form had an effect", name)
		}
	}
	b.header = nil
	for _, token := range []string{"", "wrong", f.as("Tove", account.Manager).formToken()} {
		b.post("/desk/shop/account/sessions/end", "form", token).want(http.StatusForbidden, "Form refused")
	}
	b.header = map[string]string{"Origin": ""} // some browsers send only Sec-Fetch-Site
	b.post("/desk/shop/account/sessions/end", "form", form).wantRedirect("/desk/shop/account?done=ended")
}

// A session without a recent confirmation changes no sign-in method and no account, whatever it sends.
func TestStolenSession_changes_no_account(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.ownerByPassword()
	f.as("Tove", account.Manager)
	stolen := f.browser()
	stolen.cookies["__Host-desk"] = owner.cookies["__Host-desk"]
	f.clock.Advance(11 * time.Minute)
	team, err := f.accounts.Team(t.Context())
	f.must(err)
	before := f.actions()
	var guarded int
	for route, want := range routeAccess {
		method, path, _ := strings.Cut(route, " ")
		if !want.confirm || method != http.MethodPost {
			continue
		}
		guarded++
		path = strings.NewReplacer(":shop", shop, ":account", team[1].ID).Replace(path)
		stolen.send(path, "role", "owner", "password", "another long password", "id", team[0].ID).want(http.StatusForbidden, "Confirm it’s you")
	}
	if guarded < 10 {
		t.Errorf("%d routes need a confirmation, want at least 10", guarded)
	}
	stolen.send("/desk/shop/confirm", "confirm-password", "wrong password", "confirm-code", "000000").want(http.StatusUnprocessableEntity, "Name, password or code is wrong.")
	stolen.send("/desk/shop/confirm/passkey", "offer", "x", "credential", "{}").want(http.StatusUnprocessableEntity, "The page was open for too long")
	stranger := f.browser()
	offer, response := stolen.ceremony("/desk/shop/confirm/passkey/options", func(options string) string {
		stranger.key.auth.Options.UserHandle = []byte(team[0].ID)
		stranger.key.auth.AddCredential(stranger.key.cred)
		return stranger.key.get(options)
	}, "form", stolen.formToken())
	stolen.send("/desk/shop/confirm/passkey", "offer", offer, "credential", response).want(http.StatusUnprocessableEntity, "The passkey was not accepted.")
	if got := f.actions(); !slices.Equal(got, before) {
		t.Errorf("the audit log has new entries: %q", got[len(before):])
	}
	after, err := f.accounts.Team(t.Context())
	f.must(err)
	if len(after) != len(team) || !maps.Equal(after[1].Roles, team[1].Roles) || after[0].SignIn.Methods() != team[0].SignIn.Methods() {
		t.Errorf("the accounts are %+v, want them unchanged: %+v", after, team)
	}
}

// An action that needs a confirmed sign-in waits in the page that asks for the confirmation, and is done after it.
func TestConfirm_continues_the_requested_action(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	f.clock.Advance(11 * time.Minute)
	asked := b.send("/desk/shop/accounts/invite", "role", "bookkeeper").want(http.StatusForbidden, "Confirm it’s you")
	fields := asked.confirmFields()
	b.post("/desk/shop/confirm", append(fields, "confirm-password", password, "confirm-code", "000000")...).want(http.StatusUnprocessableEntity, "Name, password or code is wrong.")
	f.clock.Advance(time.Minute)
	done := b.post("/desk/shop/confirm", append(fields, "confirm-password", password, "confirm-code", f.code("Maren"))...)
	if location := done.header.Get("Location"); done.status != http.StatusTemporaryRedirect || location != "/desk/shop/accounts/invite" {
		t.Fatalf("answer %d to %q: %s", done.status, location, done.text())
	}
	b.post("/desk/shop/accounts/invite", append(fields, "confirm-password", password)...).want(http.StatusOK, "Send this link to the new Bookkeeper")
	f.clock.Advance(11 * time.Minute)
	b.get("/desk/shop/account/password").want(http.StatusForbidden, "Confirm it’s you")

	page := b.get("/desk/shop/confirm?next=%2Fdesk%2Fshop%2Faccount").want(http.StatusOK, "Confirm it’s you")
	if next := page.find(`input[name=confirm-next]`).AttrOr("value", ""); next != "/desk/shop/account" {
		t.Errorf("the page leads to %q", next)
	}
	for _, next := range []string{"https://evil.example/desk/", "//evil.example", "/desk/signin", ""} {
		f.clock.Advance(time.Minute)
		b.send("/desk/shop/confirm", "confirm-next", next, "confirm-post", "yes", "confirm-password", password, "confirm-code", f.code("Maren")).wantRedirect("/desk/shop")
	}
}

// The desk is served only at an address over which its secrets are protected.
func TestAddress_must_protect_the_secrets_of_the_desk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, base, host string
		header           map[string]string
		status           int
		want             string // in the page, or the address to which it leads
	}{
		{"own_host", site, "shop.example", nil, http.StatusSeeOther, "/desk/start"},
		{"proxy_that_changes_the_host", site, "127.0.0.1:8080", nil, http.StatusSeeOther, "/desk/start"},
		{"plain_http_past_the_proxy", site, "192.0.2.1:8080", map[string]string{"Sec-Fetch-Site": ""}, http.StatusForbidden, "Open the desk at https://shop.example/desk."},
		{"localhost", "http://localhost:8080", "localhost:8080", nil, http.StatusSeeOther, "/desk/start"},
		{"loopback_address", "http://localhost:8080", "127.0.0.1:8080", nil, http.StatusTemporaryRedirect, "http://localhost:8080/desk"},
		{"loopback_address_6", "http://localhost:8080", "[::1]:8080", nil, http.StatusTemporaryRedirect, "http://localhost:8080/desk"},
		{"localhost_from_elsewhere", "http://localhost:8080", "192.0.2.1:8080", map[string]string{"Sec-Fetch-Site": ""}, http.StatusForbidden, "Open the desk at http://localhost:8080/desk."},
		{"http_only", "http://shop.example", "shop.example", map[string]string{"Sec-Fetch-Site": ""}, http.StatusForbidden, "Set CHEQUER_BASE_URL to an https address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := fixtureAt(t, tt.base).browser()
			b.host, b.header = tt.host, tt.header
			got := b.get("/desk")
			if location := got.header.Get("Location"); got.status != tt.status || location != tt.want && !strings.Contains(got.text(), tt.want) {
				t.Errorf("answer %d to %q with %q, want %d with %q", got.status, location, got.text(), tt.status, tt.want)
			}
			if got.status == http.StatusForbidden {
				b.post("/desk/signin", "password", password).want(http.StatusForbidden, "The desk needs https")
			}
		})
	}
}

// On localhost the cookie has a plain name, because browsers accept __Host- only over https.
func TestCookie_on_localhost(t *testing.T) {
	t.Parallel()
	f := fixtureAt(t, "http://localhost:8080")
	b := f.browser()
	b.host, b.header = "localhost:8080", map[string]string{"Origin": "http://localhost:8080"}
	b.key.rp.ID, b.key.rp.Origin = "localhost", "http://localhost:8080"
	link := f.start()
	b.header["Accept"] = "application/json"
	sent := b.post("/desk/start/passkey/options", "token", link, "name", "Maren")
	offer, response := answered(t, sent, b.key.create)
	delete(b.header, "Accept")
	b.post("/desk/start/passkey", "token", link, "name", "Maren", "offer", offer, "credential", response).wantRedirect("/desk/shop/setup")
	if c := b.cookies["desk"]; c == nil || c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookies are %v, want desk with HttpOnly and SameSite=Lax, and without Secure", b.cookies)
	}
}

// Neither the pages of the desk nor the log contain the token of a link or of a session.
func TestTokens_are_not_in_pages_and_logs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.start()
	b := f.join(link, "Maren")
	for _, path := range []string{"/desk/shop/account", "/desk/shop/accounts", "/desk/shop/log", "/desk/signin"} {
		if page := b.get(path); strings.Contains(page.body, link) || strings.Contains(page.body, b.session()) {
			t.Errorf("%s has a secret", path)
		}
	}
	b.get("/desk/nothing/here")
	b.post("/desk/start", "token", link)
	if log := f.log.text.String(); strings.Contains(log, link) || strings.Contains(log, b.session()) {
		t.Errorf("the log has a secret: %s", log)
	}
}

// Text that PostgreSQL does not accept is not a position in a list, and not a path.
func TestMalformed_text_is_no_position_and_no_path(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.lateInvoice("1047", "0.00099")
	for _, after := range []string{"5-%00", "5-%ff", "5-a%00"} {
		for _, list := range []string{"payments", "attention"} {
			b.get("/desk/shop/"+list+"?mode=test&after="+after).want(http.StatusOK, "1047")
		}
	}
	for _, path := range []string{"payments/%00", "payments/" + inv.ID + "%00", "payments/%ff", "accounts/%00"} {
		b.get("/desk/shop/"+path).want(http.StatusNotFound, "Not found")
	}
}
