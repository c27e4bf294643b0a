package e2e_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
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

// firstRunDesk is a program without an account of the desk, and the link that creates the first one.
type firstRunDesk struct {
	url  string // of the desk's site
	link string
}

func newFirstRunDesk(t *testing.T, more ...string) firstRunDesk {
	t.Helper()
	a, err := app.New(t.Context(), settings(t, append(more, "CHEQUER_SHOP_NAME=Atelier Nord")...), app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	runApp(t, a)
	link, err := a.DeskLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return firstRunDesk{url: strings.TrimSuffix(link.URL[:strings.IndexByte(link.URL, '#')], "/desk/start"), link: link.URL}
}

// openAlone opens a tab that shares no cookies with other tabs.
func openAlone(t *testing.T, s screen) *tab {
	t.Helper()
	return open(t, s, chromedp.WithNewBrowserContext())
}

// addAuthenticator gives the tab's browser a platform authenticator, such as a fingerprint reader, that confirms each
// request at once.
func (b *tab) addAuthenticator() webauthn.AuthenticatorID {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, webauthn.Enable, webauthn.EnableParams{})
	b.check(err)
	added, err := chromedp.Call(b.ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, AutomaticPresenceSimulation: true, IsUserVerified: true,
	}})
	b.check(err)
	return added.AuthenticatorID
}

// touch sets whether a finger touches an authenticator.
func (b *tab) touch(id webauthn.AuthenticatorID, touches bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, webauthn.SetAutomaticPresenceSimulation, webauthn.SetAutomaticPresenceSimulationParams{AuthenticatorID: id, Enabled: touches})
	b.check(err)
}

// The first run by passkey: the link, one field and one button. The token is in no address that the
// server receives.
func TestDesk_first_run_by_passkey(t *testing.T) {
	t.Parallel()
	desk := newFirstRunDesk(t)
	tab := openAlone(t, screen{width: 390, height: 844})
	authenticator := tab.addAuthenticator()
	tab.visit(desk.url + "/desk")
	tab.waitFor("h1", "Not set up", nil)
	tab.visit("about:blank") // a fragment alone would not load the page again
	tab.visit(desk.link)
	tab.waitFor("h1", "Create the owner account", nil)
	if at := get(tab, chromedp.Location()); strings.Contains(at, "#") || at != desk.url+"/desk/start" {
		t.Errorf("the address is %s, want %s/desk/start without a fragment", at, desk.url)
	}
	tab.typeInto("#name", "Maren")
	tab.click("form[data-passkey] button")
	tab.waitFor("h1", "Your shop", nil)
	if got, want := get(tab, chromedp.Evaluate[string](`document.getElementById("time_zone").value`)), get(tab, chromedp.Evaluate[string](`Intl.DateTimeFormat().resolvedOptions().timeZone`)); got != want {
		t.Errorf("the time zone is %q, want the browser's, %q", got, want)
	}
	tab.click("main form .go")
	tab.waitFor("h1", "Overview", nil)
	tab.waitFor(".note.ok", "Your account is ready.", nil)
	tab.visit(strings.TrimSuffix(get(tab, chromedp.Location()), "?done=joined") + "/account")
	tab.waitFor("#methods", "Passkey “Chrome on Linux”", nil)

	tab.touch(authenticator, false) // the sign-in page asks for a passkey
	tab.click(".bar details summary")
	tab.click(".bar form button")
	tab.waitFor("[role=status]", "You are signed out.", nil)
	tab.touch(authenticator, true)
	tab.visit(desk.url + "/desk/signin")
	tab.waitFor("h1", "Overview", nil)
	tab.visit(desk.url + "/desk/start")
	tab.waitFor("h1", "Open a link", nil)
	tab.checkConsole()
}

// The first run without JavaScript: paste the link, choose a password, enter the app's code.
func TestDesk_first_run_without_javascript(t *testing.T) {
	t.Parallel()
	desk := newFirstRunDesk(t)
	tab := openAlone(t, screen{width: 390, height: 844, noJS: true})
	tab.visit(desk.url + "/desk/start")
	tab.typeInto("#token", desk.link)
	tab.send("#paste button")
	tab.waitFor("h1", "Create the owner account", nil)
	if get(tab, chromedp.Evaluate[bool](`document.querySelector("form[data-passkey]").checkVisibility()`)) {
		t.Error("the form for a passkey is visible without JavaScript")
	}
	tab.typeInto("#name", "Maren")
	tab.typeInto("#password", deskPassword)
	tab.send("button[form=join]")
	tab.waitFor("h1", "Authenticator app", nil)
	seed := tab.text(".facts .addr")
	code, err := totp.GenerateCode(seed, time.Now())
	tab.check(err)
	tab.typeInto("#code", code)
	tab.send("form button")
	tab.waitFor("h1", "Your shop", nil)
	tab.send("main form .go")
	tab.waitFor("h1", "Overview", nil)
	tab.visit(strings.TrimSuffix(get(tab, chromedp.Location()), "?done=joined") + "/account")
	tab.waitFor("#methods", "10 of 10 recovery codes unused", nil)
	tab.click(".bar details summary")
	tab.send(".bar form button")
	tab.waitFor("h1", "Sign in", nil)
	tab.typeInto("#name", "Maren")
	tab.typeInto("#password", deskPassword)
	code, err = totp.GenerateCode(seed, time.Now().Add(30*time.Second)) // each code is used once
	tab.check(err)
	tab.typeInto("#code", code)
	tab.send(`form[action="/desk/signin"] button`)
	tab.waitFor("h1", "Overview", nil)
	tab.checkConsole()
}

// In the menu of phones, each entry has an icon at the same distance from its text.
func TestDesk_menu_of_phones(t *testing.T) {
	t.Parallel()
	site, tab := newDemoSite(t), openAlone(t, screen{width: 390, height: 844})
	signedIn("/payments")(tab, site)
	tab.click(".bar details summary")
	tab.do(chromedp.WaitVisible(chromedp.CSS(".bar .drop")))
	places := get(tab, chromedp.Evaluate[[]string](`[...document.querySelectorAll(".bar .drop a, .bar .drop button")].map(e => {
		const icon = e.querySelector("svg").getBoundingClientRect(), text = document.createRange();
		text.selectNodeContents(e.lastChild);
		return icon.left + " " + icon.width + " " + text.getBoundingClientRect().left;
	})`))
	if len(places) < 5 || len(slices.Compact(places)) != 1 {
		t.Errorf("the places of icons and texts are %q, want the same place in 5 entries or more", places)
	}
}

const deskPassword = "correct horse battery"

// deskClient is an account of the desk with a session, outside a browser.
type deskClient struct {
	t       *testing.T
	url     string
	client  *http.Client
	session *http.Cookie
	seed    string // of the authenticator app

	confirmation *confirmation
}

// confirmation is the last confirmation of the sign-in of an account.
type confirmation struct {
	mu sync.Mutex
	at time.Time
}

// confirmAgain is the age of a confirmation from which it is repeated. It is valid for ten minutes.
const confirmAgain = 5 * time.Minute

// confirm confirms the sign-in of the account if that was long ago, because the states of the pages take longer than a confirmation is
// valid.
func (c *deskClient) confirm() {
	c.t.Helper()
	c.confirmation.mu.Lock()
	defer c.confirmation.mu.Unlock()
	if time.Since(c.confirmation.at) < confirmAgain {
		return
	}
	code, err := totp.GenerateCode(c.seed, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	form := c.read(deskShop+"/confirm").Find("input[name=form]").AttrOr("value", "")
	c.post(deskShop+"/confirm", "form", form, "next", "/", "confirm-password", deskPassword, "confirm-code", code)
	c.confirmation.at = time.Now()
}

// newDeskClient creates the account of a link with a password and a code.
func newDeskClient(t *testing.T, link, name string) *deskClient {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &deskClient{t: t, url: u.Scheme + "://" + u.Host, client: &http.Client{Jar: jar}}
	doc := c.post("/desk/start/password", "token", u.Fragment, "name", name, "password", deskPassword)
	c.seed = doc.Find("input[name=seed]").AttrOr("value", "")
	code, err := totp.GenerateCode(c.seed, time.Now())
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
	c.confirmation = &confirmation{at: time.Now()}
	return c
}

// send sends a form as a page of the desk does.
func (c *deskClient) send(path string, pairs ...string) *http.Response {
	c.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", c.url)
	response, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// post sends a form, and returns the page that answers it.
func (c *deskClient) post(path string, pairs ...string) *goquery.Document {
	c.t.Helper()
	response := c.send(path, pairs...)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s, error %v:\n%s", path, response.Status, err, body)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	return doc
}

// signInAs gives the tab the session of an account.
func (b *tab) signInAs(c *deskClient) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{Name: c.session.Name, Value: c.session.Value, URL: c.url})
	b.check(err)
}

// in returns the account for a subtest.
func (c *deskClient) in(t *testing.T) *deskClient {
	return &deskClient{t: t, url: c.url, client: c.client, session: c.session, seed: c.seed, confirmation: c.confirmation}
}

// deskShop is the path of the first shop's desk.
const deskShop = "/desk/m_first"

// read reads a page of the desk.
func (c *deskClient) read(path string) *goquery.Document {
	c.t.Helper()
	response, err := c.client.Get(c.url + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	doc, err := goquery.NewDocumentFromReader(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return doc
}

// invite returns the link of a new invitation.
func (c *deskClient) invite(role string) string {
	c.t.Helper()
	form := c.read(deskShop+"/accounts").Find("input[name=form]").AttrOr("value", "")
	return c.post(deskShop+"/accounts/invite", "form", form, "role", role).Find("#link").Text()
}

// atDesk returns a step that visits a page of the desk without an account.
func atDesk(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) { b.t.Helper(); b.visit(site.owner.url + path) }
}

// signedIn returns a step that visits a page of the shop's desk as the owner.
func signedIn(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		b.signInAs(site.owner)
		b.visit(site.owner.url + deskShop + path)
	}
}

// atOwnDesk returns a step that visits a page of a new server as its only owner. The other states add shops and owners to
// the server that they share.
func atOwnDesk(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		b.visit(newOwner(b, site).url + deskShop + path)
	}
}

// newOwner signs the tab in as the only owner of a new server, whose shop has no wallets.
func newOwner(b *tab, site *demoSite) *deskClient {
	b.t.Helper()
	owner := newDeskClient(site.t, newFirstRunDesk(site.t).link, "Maren")
	b.signInAs(owner)
	return owner
}

// atAllShops returns a step that visits a page of all shops, as an owner of the shop and of a new one.
func atAllShops(path string) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		state := site.t.Name()[strings.LastIndexByte(site.t.Name(), '/')+1:]
		owner := newDeskClient(site.t, site.owner.invite("owner"), "Nora of "+state)
		form := owner.read(deskShop+"/shop").Find("input[name=form]").AttrOr("value", "")
		if response := owner.send(deskShop+"/shops", "form", form, "new", "Café Süd "+state); response.StatusCode >= http.StatusBadRequest {
			b.t.Fatalf("creating a shop returned status %d, want one below 400", response.StatusCode)
		}
		b.signInAs(owner)
		b.visit(owner.url + "/desk/all" + path)
	}
}

// invited visits the page of an invitation.
func invited(b *tab, site *demoSite) {
	b.t.Helper()
	b.visit(site.owner.invite("bookkeeper"))
	b.do(chromedp.WaitVisible(chromedp.CSS("#name")))
}

// ownMember visits the page of the account of a shop's only owner, as the owner sees it.
func ownMember(b *tab, site *demoSite) {
	b.t.Helper()
	owner := newOwner(b, site) // the shop of the other states gets more owners
	b.visit(owner.url + owner.read(deskShop+"/accounts").Find(".rows a").First().AttrOr("href", ""))
}

// refusedAtDesk visits a page that the account's role does not allow.
func refusedAtDesk(b *tab, site *demoSite) {
	b.t.Helper()
	b.signInAs(site.seller)
	b.visit(site.seller.url + deskShop + "/accounts")
}

// atPayment returns a step that visits an invoice in the desk.
func atPayment(change func(*api.InvoiceRequest), actions ...string) func(*tab, *demoSite) {
	return inOrder(atInvoice(change, actions...), func(b *tab, site *demoSite) {
		b.t.Helper()
		signedIn("/payments/"+idOf(site.page))(b, site)
	})
}

// snoozed snoozes the case of a late payment.
var snoozed = inOrder(deciding("snooze", forOrder, api.SimulateLate), press("#decide .go", "#snoozed"))

// acceptedAtDesk accepts the payment.
func acceptedAtDesk(b *tab, site *demoSite) {
	b.t.Helper()
	inOrder(signedIn("/payments/"+idOf(site.page)+"/accept"), press("#decide .go", ".big"))(b, site)
}

// withNote visits a payment about which the team has written a note.
var withNote = inOrder(atPayment(forOrder), enter("#note", "Called the shopper: ships on Monday.\nAsk for the size: "+strings.Repeat("x", 60)), press("#notes button", "#notes li"))

// deciding returns a step that visits the page with the consequences of a decision about an invoice.
func deciding(decision string, change func(*api.InvoiceRequest), actions ...string) func(*tab, *demoSite) {
	return inOrder(atInvoice(change, actions...), func(b *tab, site *demoSite) {
		b.t.Helper()
		signedIn("/payments/"+idOf(site.page)+"/"+decision)(b, site)
	})
}

// refundAsked visits the desk's page of refunds of an overpaid invoice whose shopper gave an address.
var refundAsked = inOrder(
	atInvoice(forOrder, api.SimulateOver, api.SimulateConfirm), refundToNew,
	func(b *tab, site *demoSite) {
		b.t.Helper()
		signedIn("/payments/"+idOf(site.page)+"/refund")(b, site)
	})

// lightningRefund visits the desk's page of refunds of an invoice that was overpaid over Lightning, whose shopper gave a payment
// request.
var lightningRefund = inOrder(
	atInvoice(only("BTC-LN"), api.SimulateOver), refundToRequest,
	func(b *tab, site *demoSite) {
		b.t.Helper()
		signedIn("/payments/"+idOf(site.page)+"/refund")(b, site)
	},
)

// refundReady visits the same page after the refund was prepared.
var refundReady = inOrder(refundAsked, press("#prepare button", ".qr"))

// The owner finds a late payment, reads the consequences, accepts it, and finds the entry in the audit log; with
// and without JavaScript.
func TestDesk_accept_a_late_payment(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{{name: "phone", width: 390, height: 844}, {name: "without JavaScript", width: 390, height: 844, noJS: true}} {
		t.Run(s.name, func(t *testing.T) {
			site, tab := site.in(t), openAlone(t, s)
			tab.observe()
			atInvoice(forOrder, api.SimulateLate, api.SimulateConfirm)(tab, site)
			id := idOf(site.page)
			signedIn("/attention?mode=test")(tab, site)
			tab.send(`.list a[href$="` + id + `"]`)
			tab.waitFor(".ask h2", "A payment arrived after the quote expired", nil)
			tab.send(`.ask a[href$="/accept"]`)
			tab.waitFor("h1", "Accept €56.50 as full payment of €56.50?", nil)
			tab.send("#decide button")
			tab.waitFor(".note[role=status]", "The invoice was accepted as paid.", nil)
			tab.waitFor(".sum .tag", "Paid", nil)
			signedIn("/log")(tab, site)
			tab.waitFor("main", "Invoice changed: "+id, nil)
			tab.checkConsole()
		})
	}
}

// The keyboard alone reaches every control of the list, finds a payment and uses a menu.
func TestDesk_keyboard_reaches_every_control(t *testing.T) {
	site := newDemoSite(t)
	for _, s := range []screen{phoneScreen, deskScreen, zoomed} {
		t.Run(s.name, func(t *testing.T) {
			site, tab := site.in(t), openAlone(t, s)
			tab.observe()
			atInvoice(forOrder)(tab, site)
			signedIn("/payments?mode=test")(tab, site)
			tab.waitLoaded()
			get(tab, chromedp.Evaluate[any](naming))
			want := get(tab, chromedp.Evaluate[[]string](reachable))
			if len(want) < 10 || want[0] != "a Skip to content" {
				t.Fatalf("the page has the controls %s", strings.Join(want, ", "))
			}
			if diff := cmp.Diff(tab.tabThrough(chromedp.KeyEvent(kb.Tab)), want); diff != "" {
				t.Errorf("the Tab key reaches (-got +want):\n%s", diff)
			}
			tab.pressKey("/")
			tab.checkFocus("q")
			get(tab, chromedp.Evaluate[any](`void (document.activeElement.value = "")`)) // the protocol sends the character apart from its key
			tab.do(chromedp.KeyEvent(idOf(site.page) + kb.Enter))
			tab.waitFor("h1", "€56.50", nil)
			if at := get(tab, chromedp.Location()); !strings.HasSuffix(at, "/payments/"+idOf(site.page)) {
				t.Errorf("the search leads to %s", at)
			}
			menu := ".bar details summary"
			if s.width > 900 {
				menu = ".me summary"
			}
			tab.do(chromedp.Focus(chromedp.CSS(menu)))
			tab.pressKey(kb.Enter)
			tab.do(chromedp.WaitVisible(chromedp.CSS("details[open] form button")))
			tab.pressKey(kb.Escape)
			if n := get(tab, chromedp.Evaluate[int](`document.querySelectorAll("details.menu[open]").length`)); n != 0 {
				t.Errorf("%d menus are open after Escape", n)
			}
			tab.checkConsole()
		})
	}
}
