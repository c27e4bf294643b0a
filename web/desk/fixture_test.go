package desk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/labstack/echo/v4"
	"github.com/pquerna/otp/totp"
	"golang.org/x/net/html"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/casework"
	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/clocktest"
	"chequer/internal/guard"
	"chequer/internal/keys"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/notify"
	"chequer/internal/readiness"
	"chequer/internal/report"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/token"
	"chequer/internal/wire"
	"chequer/web/desk"
	"chequer/web/desk/changes"
	"chequer/web/desk/health"
	"chequer/web/desk/sell"
	"chequer/web/desk/sweeps"
	"chequer/web/desk/visit"
	"chequer/web/desk/wallets"
)

const (
	password = "correct horse battery"
	shop     = "shop"
	site     = "https://shop.example"
)

// fixture is a desk with the real services, a real storage, and a clock that the test moves.
type fixture struct {
	t            *testing.T
	desk         http.Handler
	accounts     *account.Service
	database     string // its URL
	storage      *storage.Storage
	clock        *clocktest.Clock
	log          *lockedLog
	testInvoices *testInvoices
	reports      *reportStorage
	networks     []readiness.Network
	unreadable   []string         // identifiers of invoices
	findings     []health.Finding // of the next examination
	examinations int              // number of examinations so far
	examineError error
	access       lightning.Access         // of the next examination of a connection
	demo         bool                     // the server is a demo
	received     *report.Received         // of every shop; nil if the storage has it
	unused       int64                    // unused addresses of every wallet in a row; 0 if the storage has them
	offered      func(keys.Kind) []string // methods that a wallet makes available
	backups      *stubBackups
	sweeps       *stubNetwork
	config       desk.Config
	seeds        map[string]string // of authenticator apps, by the name of the account
	endpoints    *merchant.Endpoints
	merchants    *merchant.Service
	settings     *merchant.Settings
	products     *merchant.Products
	links        *merchant.Links
	terminals    *merchant.Terminals
	changes      *changes.Hub
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for name, newDatabase := range map[string]func(testing.TB) string{"sqlite": storagetest.File, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fixtureOn(t, newDatabase(t), site))
		})
	}
}

func newFixture(t *testing.T) *fixture { return fixtureAt(t, site) }

// fixtureAt returns a fixture with a base URL.
func fixtureAt(t *testing.T, base string) *fixture {
	t.Helper()
	return fixtureOn(t, storagetest.File(t), base)
}

// fixtureOn returns a fixture with a database and a base URL.
func fixtureOn(t *testing.T, database, base string) *fixture {
	t.Helper()
	clock := clocktest.New(storagetest.Noon)
	f := &fixture{t: t, offered: func(kind keys.Kind) []string { return []string{string(kind)} }, database: database, storage: storagetest.OpenWithClock(t, database, clock.Now), clock: clock, log: &lockedLog{}, seeds: map[string]string{}}
	f.reports = &reportStorage{Storage: f.storage}
	for id, name := range map[string]string{shop: "Atelier Nord", "other": "Nord Markt"} {
		f.must(f.storage.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: id, Name: name, CreatedAt: f.clock.Now()}}))
	}
	prices := merchant.NewPrices(nil, "1000000")
	f.products = merchant.NewProducts(merchant.ProductsConfig{Storage: f.storage, Prices: prices, Now: f.clock.Now})
	f.links = merchant.NewLinks(merchant.LinksConfig{Storage: f.storage, Prices: prices, Now: f.clock.Now, Token: token.New})
	f.terminals = merchant.NewTerminals(merchant.TerminalsConfig{Storage: f.storage, Prices: prices, Now: f.clock.Now, Token: token.New})
	f.merchants = merchant.NewService(f.storage, f.clock.Now, token.New)
	f.settings = merchant.NewSettings(merchant.SettingsConfig{
		Storage: f.storage, Merchants: f.merchants, Overrides: merchant.Overrides{},
		Prices: prices,
		CheckLanguages: func(codes []string) error {
			_, err := locale.All().Subset("en", codes...)
			return err
		},
		Networks: []string{"base", "bitcoin", "simnet"},
	})
	f.endpoints = merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: f.storage, Check: (guard.Policy{}).Check, EncodeTest: wire.TestEvent, Now: f.clock.Now, Token: token.New,
	})
	f.changes = changes.New(changes.Config{Position: f.storage.FeedPosition, Interval: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(f.changes.Close)
	c := desk.Config{Audit: f.storage, Reports: report.NewService(f.reports), Endpoints: f.endpoints, Sell: sell.Screens{Products: f.products, Links: f.links, Terminals: f.terminals, Reports: report.NewService(f.reports), Prices: prices, Languages: func(context.Context, string) *locale.Languages { return locale.All() }, AnyAmount: func(context.Context, string) bool { return false }, EmbedOrigins: []string{"https://nord.example"}}, Site: visit.Site{
		IsDemo:    func(context.Context) (bool, error) { return f.demo, nil },
		Merchants: f.merchants, PaymentSettings: f.settings, Changes: f.changes, Casework: casework.NewService(casework.Config{Storage: f.storage, Now: f.clock.Now, Token: token.New}), Themes: merchant.NewThemes(f.storage, f.clock.Now),
		BaseURL: base, RootShop: shop, Words: locale.All().Default(), IPExtractor: echo.ExtractIPDirect(), Now: f.clock.Now,
		Log: slog.New(slog.NewTextHandler(f.log, nil)),
	}}
	accountSite, err := account.NewSite(base)
	if !errors.Is(err, account.ErrInsecure) {
		f.must(err)
	}
	f.accounts, err = account.NewService(account.Config{
		Storage: f.storage, Box: storagetest.Box(t, 1), Site: accountSite, Issuer: "Atelier Nord", Encode: wire.AccountEvent, Now: f.clock.Now, Token: token.New, HashMemory: 64,
	})
	f.must(err)
	c.Accounts = f.accounts
	c.BasePath = accountSite.Path
	c.Notifications = notify.NewService(notify.ServiceConfig{
		Storage: f.storage, CheckURL: func(url string) error { return (guard.Policy{}).Check(url, true) }, HasMail: true, Now: f.clock.Now,
	})
	f.testInvoices = newTestInvoices(f)
	c.Invoices = f.testInvoices.Service
	c.Wallets = wallets.Screens{
		Wallets: merchant.NewWallets(merchant.WalletsConfig{Storage: f.storage, Encode: wire.WalletEvent, Examine: f.examineConnection, Now: f.clock.Now, Token: token.New}), Storage: walletStorage{f.storage, f},
		Examine: func(context.Context, merchant.Wallet) (lightning.Access, error) { return f.access, f.examineError },
		Kind: func(kind keys.Kind) (wallets.Kind, error) {
			return wallets.Kind{Network: keys.Main, Chains: []chain.ID{chain.ID(kind)}, Offered: f.offered(kind), Off: []string{"EURC-BASE: needs a node"}}, nil
		},
	}
	f.backups = &stubBackups{parent: t.TempDir(), shops: []string{shop}}
	c.Backups = f.backups
	c.Health = &health.Screens{
		Networks: func(context.Context, string) ([]readiness.Network, error) { return f.networks, nil }, Name: func(id chain.ID) string { return "Network " + string(id) },
		Examine: func(context.Context, merchant.Merchant) ([]health.Finding, error) {
			f.examinations++
			return f.findings, f.examineError
		},
	}
	c.Health.Failed = c.Notifications.Failed
	c.Health.Unreadable = func(context.Context) ([]string, error) { return f.unreadable, nil }
	f.sweeps = newStubNetwork(f)
	c.Sweeps = sweeps.Screens{Storage: f.storage, Network: f.sweeps}
	f.config, f.desk = c, desk.New(c)
	return f
}

// examineConnection examines the text of a connection like a wallet that allows f.access. Its name is its first word.
func (f *fixture) examineConnection(_ context.Context, text string) (merchant.Connection, error) {
	name, _, _ := strings.Cut(text, " ")
	return merchant.Connection{Name: name, Text: text, Spending: f.access.Spending}, f.examineError
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// lockedLog collects the log.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// String returns the log.
func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// browser is a browser with its cookies.
type browser struct {
	fixture *fixture
	cookies map[string]*http.Cookie
	header  map[string]string // of every request, in place of those that a browser sends
	host    string
	key     *authenticator
}

func (f *fixture) browser() *browser {
	return &browser{fixture: f, cookies: map[string]*http.Cookie{}, host: strings.TrimPrefix(site, "https://"), key: newAuthenticator(f.t)}
}

// copy returns another tab of the browser, which sends the same cookies.
func (b *browser) copy() *browser {
	c := *b
	c.cookies = maps.Clone(b.cookies)
	return &c
}

// selection is an alias, so that tests need not import goquery.
type selection = goquery.Selection

// page is an answer of the desk.
type page struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (b *browser) do(method, path string, form url.Values) page {
	b.fixture.t.Helper()
	w := httptest.NewRecorder()
	b.fixture.desk.ServeHTTP(w, b.request(method, path, form))
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return page{t: b.fixture.t, status: w.Code, header: w.Header(), body: w.Body.String()}
}

// request returns a request as the browser sends it.
func (b *browser) request(method, path string, form url.Values) *http.Request {
	r := httptest.NewRequestWithContext(b.fixture.t.Context(), method, path, strings.NewReader(form.Encode()))
	r.Host, r.RemoteAddr = b.host, "192.0.2.7:1234"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", site)
	}
	for name, value := range b.header {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	for _, c := range b.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	return r
}

func (b *browser) get(path string) page { b.fixture.t.Helper(); return b.do(http.MethodGet, path, nil) }

func (b *browser) post(path string, pairs ...string) page {
	b.fixture.t.Helper()
	return b.do(http.MethodPost, path, values(pairs...))
}

// send posts a form with the form token of the session.
func (b *browser) send(path string, pairs ...string) page {
	b.fixture.t.Helper()
	return b.post(path, append(pairs, "form", b.formToken())...)
}

func values(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

// formToken returns the form token of the session's pages.
func (b *browser) formToken() string {
	b.fixture.t.Helper()
	token := b.get("/desk/"+shop+"/account").find("input[name=form]").AttrOr("value", "")
	if token == "" {
		b.fixture.t.Fatal("the page has no form token")
	}
	return token
}

// session returns the token in the session's cookie.
func (b *browser) session() string {
	if c := b.cookies["__Host-desk"]; c != nil {
		return c.Value
	}
	return ""
}

// find returns the elements of the page that a selector matches.
func (p page) find(selector string) *goquery.Selection {
	p.t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(p.body))
	if err != nil {
		p.t.Fatal(err)
	}
	return doc.Find(selector)
}

// want fails the test unless the page has a status and contains a text.
func (p page) want(status int, texts ...string) page {
	p.t.Helper()
	got := p.text()
	for _, text := range texts {
		if p.status != status || !strings.Contains(got, text) {
			p.t.Fatalf("answer %d, location %q, page %q, want %d with %q", p.status, p.header.Get("Location"), got, status, text)
		}
	}
	if p.status != status {
		p.t.Fatalf("answer %d, location %q, page %q, want %d", p.status, p.header.Get("Location"), got, status)
	}
	return p
}

// wantRedirect fails the test unless the page redirects to an address.
func (p page) wantRedirect(address string) page {
	p.t.Helper()
	if got := p.header.Get("Location"); p.status != http.StatusSeeOther || got != address {
		p.t.Fatalf("answer %d, location %q, page %q, want %d to %q", p.status, got, p.text(), http.StatusSeeOther, address)
	}
	return p
}

// joins fails unless the answer to the use of a link leads to the first page of the account, to the account after a
// recovery, or to the second step of the first run.
func (p page) joins() {
	p.t.Helper()
	if at := p.header.Get("Location"); at != "/desk/"+shop+"/setup" && at != "/desk/"+shop+"/account?done=joined" {
		p.wantRedirect("/desk/" + shop + "?done=joined")
	}
}

// text returns the text of the page's body.
func (p page) text() string { return textOf(p.find("body")) }

// textOf returns the text of elements, with a space between two of them.
func textOf(s *selection) string {
	var parts []string
	var read func(*html.Node)
	read = func(n *html.Node) {
		if n.Type == html.TextNode {
			parts = append(parts, strings.Fields(n.Data)...)
		}
		for c := range n.ChildNodes() {
			read(c)
		}
	}
	for _, n := range s.Nodes {
		read(n)
	}
	return strings.Join(parts, " ")
}

// code returns the code of an account's authenticator app.
func (f *fixture) code(name string) string {
	f.t.Helper()
	code, err := totp.GenerateCode(f.seeds[name], f.clock.Now())
	f.must(err)
	return code
}

// joinByPassword creates the account of a link by the forms that work without JavaScript.
func (f *fixture) joinByPassword(token, name string) *browser {
	f.t.Helper()
	b := f.browser()
	codes := b.post("/desk/start/password", "token", token, "name", name, "password", password).want(http.StatusOK, "Recovery codes")
	f.seeds[name] = codes.find("input[name=seed]").AttrOr("value", "")
	offer := codes.find("input[name=offer]").AttrOr("value", "")
	b.post("/desk/start/code", "token", token, "offer", offer, "code", f.code(name)).joins()
	f.clock.Advance(time.Minute) // so that the next code is another one
	return b
}

// join creates the account of a link with a passkey, as the script does.
func (f *fixture) join(token, name string) *browser {
	f.t.Helper()
	b := f.browser()
	offer, response := b.ceremony("/desk/start/passkey/options", b.key.create, "token", token, "name", name)
	b.post("/desk/start/passkey", "token", token, "name", name, "offer", offer, "credential", response).joins()
	return b
}

// start returns the token of a link of the first run.
func (f *fixture) start() string {
	f.t.Helper()
	link, err := f.accounts.NewStart(f.t.Context(), shop)
	f.must(err)
	return link.Token
}

// owner creates the first account with a passkey.
func (f *fixture) owner() *browser { f.t.Helper(); return f.join(f.start(), "Maren") }

// ownerByPassword creates the first account with a password and a code.
func (f *fixture) ownerByPassword() *browser {
	f.t.Helper()
	return f.joinByPassword(f.start(), "Maren")
}

// as creates an account with a role.
func (f *fixture) as(name string, role account.Role) *browser {
	f.t.Helper()
	link, err := f.accounts.Invite(f.t.Context(), map[string]account.Role{shop: role})
	f.must(err)
	return f.join(link.Token, name)
}

// team creates an account of each role.
func (f *fixture) team() map[account.Role]*browser {
	f.t.Helper()
	team := map[account.Role]*browser{account.Owner: f.owner()}
	for i, role := range account.Roles[1:] {
		team[role] = f.as(fmt.Sprintf("Account %d", i), role)
	}
	return team
}

// actionsOf returns the actions of the audit log with a prefix, oldest first.
func (f *fixture) actionsOf(prefix string) []string {
	f.t.Helper()
	return slices.DeleteFunc(f.actions(), func(a string) bool {
		_, action, _ := strings.Cut(a, ": ")
		return !strings.HasPrefix(action, prefix)
	})
}

// actions returns the actions of the audit log, oldest first.
func (f *fixture) actions() (all []string) {
	f.t.Helper()
	var entries []audit.Entry
	entries, err := f.storage.AuditLog(f.t.Context(), 0, 100)
	f.must(err)
	for _, e := range entries {
		all = append([]string{e.Actor.String() + ": " + e.Change.Action}, all...)
	}
	return all
}
