package e2e_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/pquerna/otp/totp"

	"chequer/internal/api"
	"chequer/internal/app"
)

// office is a program without an account of the desk, and the link that creates the first one.
type office struct {
	url  string // of the desk's site
	link string
}

func openOffice(t *testing.T) office {
	t.Helper()
	a, err := app.New(t.Context(), settings(t, "CHEQUER_SHOP_NAME=Atelier Nord"), app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	runApp(t, a)
	link, err := a.DeskLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return office{url: strings.TrimSuffix(link.URL[:strings.IndexByte(link.URL, '#')], "/desk/start"), link: link.URL}
}

// openAlone opens a tab that shares no cookies with other tabs.
func openAlone(t *testing.T, s screen) *tab {
	t.Helper()
	return open(t, s, chromedp.WithNewBrowserContext())
}

// authenticator gives the tab's browser a platform authenticator, such as a fingerprint reader.
func (b *tab) authenticator() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, webauthn.Enable, webauthn.EnableParams{})
	b.check(err)
	_, err = chromedp.Call(b.ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, AutomaticPresenceSimulation: true, IsUserVerified: true,
	}})
	b.check(err)
}

// The first run by passkey: the link, one field and one button. The token is in no address that the
// server receives.
func TestDesk_first_run_by_passkey(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	b := openAlone(t, screen{width: 390, height: 844})
	b.authenticator()
	b.visit(o.url + "/desk")
	b.waitFor("h1", "Not set up", nil)
	b.visit("about:blank") // a fragment alone would not load the page again
	b.visit(o.link)
	b.waitFor("h1", "Create the owner account", nil)
	if at := get(b, chromedp.Location()); strings.Contains(at, "#") || at != o.url+"/desk/start" {
		t.Errorf("the address is %s", at)
	}
	b.types("#name", "Maren")
	b.click("form[data-passkey] button")
	b.waitFor("h1", "Your account", nil)
	b.waitFor("#methods", "Passkey “Chrome on Linux”", nil)
	b.waitFor("[role=status]", "Your account is ready.", nil)

	b.click(".bar details summary")
	b.click(".bar form button")
	b.waitFor("[role=status]", "You are signed out.", nil)
	b.click("form[data-passkey] button")
	b.waitFor("h1", "Overview", nil)
	b.visit(o.url + "/desk/start")
	b.waitFor("h1", "Open a link", nil)
	b.checkConsole()
}

// The first run without JavaScript: paste the link, choose a password, enter the app's code.
func TestDesk_first_run_without_javascript(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	b := openAlone(t, screen{width: 390, height: 844, noJS: true})
	b.visit(o.url + "/desk/start")
	b.types("#token", o.link)
	b.send("#paste button")
	b.waitFor("h1", "Create the owner account", nil)
	if get(b, chromedp.Evaluate[bool](`document.querySelector("form[data-passkey]").checkVisibility()`)) {
		t.Error("the form for a passkey is visible without JavaScript")
	}
	b.types("#name", "Maren")
	b.types("#password", deskPassword)
	b.send("button[form=join]")
	b.waitFor("h1", "Authenticator app", nil)
	seed := b.text(".facts .addr")
	code, err := totp.GenerateCode(seed, time.Now())
	b.check(err)
	b.types("#code", code)
	b.send("form button")
	b.waitFor("h1", "Your account", nil)
	b.waitFor("#methods", "10 of 10 recovery codes unused", nil)
	b.click(".bar details summary")
	b.send(".bar form button")
	b.waitFor("h1", "Sign in", nil)
	b.types("#name", "Maren")
	b.types("#password", deskPassword)
	code, err = totp.GenerateCode(seed, time.Now().Add(30*time.Second)) // each code is used once
	b.check(err)
	b.types("#code", code)
	b.send(`form[action="/desk/signin"] button`)
	b.waitFor("h1", "Overview", nil)
	b.checkConsole()
}

const deskPassword = "correct horse battery"

// clerk is an account of the desk with a session, outside a browser.
type clerk struct {
	t       *testing.T
	url     string
	client  *http.Client
	session *http.Cookie
}

// newClerk creates the account of a link with a password and a code.
func newClerk(t *testing.T, link, name string) *clerk {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &clerk{t: t, url: u.Scheme + "://" + u.Host, client: &http.Client{Jar: jar}}
	doc := c.post("/desk/start/password", "token", u.Fragment, "name", name, "password", deskPassword)
	code, err := totp.GenerateCode(doc.Find("input[name=seed]").AttrOr("value", ""), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.post("/desk/start/code", "token", u.Fragment, "offer", doc.Find("input[name=offer]").AttrOr("value", ""), "code", code)
	for _, cookie := range jar.Cookies(u) {
		c.session = cookie
	}
	if c.session == nil {
		t.Fatal("there is no session")
	}
	return c
}

// post sends a form as a page of the desk does.
func (c *clerk) post(path string, pairs ...string) *goquery.Document {
	c.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", c.url)
	answer, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s, error %v:\n%s", path, answer.Status, err, body)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	return doc
}

// signInAs gives the tab the session of an account.
func (b *tab) signInAs(c *clerk) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.session.Name, Value: c.session.Value, URL: c.url})
	b.check(err)
}

// in returns the account for a subtest.
func (c *clerk) in(t *testing.T) *clerk {
	return &clerk{t: t, url: c.url, client: c.client, session: c.session}
}

// deskShop is the path of the first shop's desk.
const deskShop = "/desk/m_first"

// read reads a page of the desk.
func (c *clerk) read(path string) *goquery.Document {
	c.t.Helper()
	answer, err := c.client.Get(c.url + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	doc, err := goquery.NewDocumentFromReader(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return doc
}

// invite returns the link of a new invitation.
func (c *clerk) invite(role string) string {
	c.t.Helper()
	form := c.read(deskShop+"/accounts").Find("input[name=form]").AttrOr("value", "")
	return c.post(deskShop+"/accounts/invite", "form", form, "role", role).Find("#link").Text()
}

// atDesk returns a step that visits a page of the desk without an account.
func atDesk(path string) func(*tab, *demoSite) {
	return func(b *tab, w *demoSite) { b.t.Helper(); b.visit(w.clerk.url + path) }
}

// signedIn returns a step that visits a page of the shop's desk as the owner.
func signedIn(path string) func(*tab, *demoSite) {
	return func(b *tab, w *demoSite) {
		b.t.Helper()
		b.signInAs(w.clerk)
		b.visit(w.clerk.url + deskShop + path)
	}
}

// invited visits the page of an invitation.
func invited(b *tab, w *demoSite) {
	b.t.Helper()
	b.visit(w.clerk.invite("bookkeeper"))
	b.do(chromedp.WaitVisible(chromedp.CSS("#name")))
}

// ownMember visits the page of the owner's account as the owner sees it.
func ownMember(b *tab, w *demoSite) {
	b.t.Helper()
	b.signInAs(w.clerk)
	b.visit(w.clerk.url + w.clerk.read(deskShop+"/accounts").Find(".rows a").First().AttrOr("href", ""))
}

// refusedAtDesk visits a page that the account's role does not allow.
func refusedAtDesk(b *tab, w *demoSite) {
	b.t.Helper()
	b.signInAs(w.seller)
	b.visit(w.seller.url + deskShop + "/accounts")
}

// atPayment returns a step that visits an invoice in the desk.
func atPayment(change func(*api.InvoiceRequest), actions ...string) func(*tab, *demoSite) {
	return inTurn(paying(change, actions...), func(b *tab, w *demoSite) {
		b.t.Helper()
		signedIn("/payments/"+idOf(w.page))(b, w)
	})
}

// deciding returns a step that visits the page with the consequences of a decision about an invoice.
func deciding(decision string, change func(*api.InvoiceRequest), actions ...string) func(*tab, *demoSite) {
	return inTurn(paying(change, actions...), func(b *tab, w *demoSite) {
		b.t.Helper()
		signedIn("/payments/"+idOf(w.page)+"/"+decision)(b, w)
	})
}

// The owner finds a late payment, reads the consequences, accepts it, and finds the entry in the audit log; with
// and without JavaScript.
func TestDesk_accept_a_late_payment(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{{name: "phone", width: 390, height: 844}, {name: "without JavaScript", width: 390, height: 844, noJS: true}} {
		t.Run(s.name, func(t *testing.T) {
			w, b := site.in(t), openAlone(t, s)
			b.observe()
			paying(forOrder, api.SimulateLate, api.SimulateConfirm)(b, w)
			id := idOf(w.page)
			signedIn("/attention?mode=test")(b, w)
			b.send(`.list a[href$="` + id + `"]`)
			b.waitFor(".ask h2", "A payment arrived after the quote expired", nil)
			b.send(`.ask a[href$="/accept"]`)
			b.waitFor("h1", "Accept €56.50 as full payment of €56.50?", nil)
			b.send("#decide button")
			b.waitFor("[role=status]", "The invoice was accepted as paid.", nil)
			b.waitFor(".sum .tag", "Paid", nil)
			signedIn("/log")(b, w)
			b.waitFor("main", id+": invoice.changed", nil)
			b.checkConsole()
		})
	}
}

// TestDesk_keyboard reaches every control of the list, finds a payment and uses a menu with the keyboard only.
func TestDesk_keyboard(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{screens[0], screens[1], zoomed} {
		t.Run(s.name, func(t *testing.T) {
			w, b := site.in(t), openAlone(t, s)
			b.observe()
			paying(forOrder)(b, w)
			signedIn("/payments?mode=test")(b, w)
			b.waitLoaded()
			get(b, chromedp.Evaluate[any](naming))
			want := get(b, chromedp.Evaluate[[]string](reachable))
			if len(want) < 10 || want[0] != "a Skip to content" {
				t.Fatalf("the page has the controls %s", strings.Join(want, ", "))
			}
			if diff := cmp.Diff(b.tabThrough(chromedp.KeyEvent(kb.Tab)), want); diff != "" {
				t.Errorf("the Tab key reaches (-got +want):\n%s", diff)
			}
			b.key("/")
			b.checkFocus("q")
			get(b, chromedp.Evaluate[any](`void (document.activeElement.value = "")`)) // the protocol sends the character apart from its key
			b.do(chromedp.KeyEvent(idOf(w.page) + kb.Enter))
			b.waitFor("h1", "€56.50", nil)
			if at := get(b, chromedp.Location()); !strings.HasSuffix(at, "/payments/"+idOf(w.page)) {
				t.Errorf("the search leads to %s", at)
			}
			menu := ".bar details summary"
			if s.width > 900 {
				menu = ".me summary"
			}
			b.do(chromedp.Focus(chromedp.CSS(menu)))
			b.key(kb.Enter)
			b.do(chromedp.WaitVisible(chromedp.CSS("details[open] form button")))
			b.key(kb.Escape)
			if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll("details.menu[open]").length`)); n != 0 {
				t.Errorf("%d menus are open after Escape", n)
			}
			b.checkConsole()
		})
	}
}
