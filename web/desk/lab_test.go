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
	"chequer/internal/chain"
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
	"chequer/web/desk/visit"
	"chequer/web/desk/wallets"
)

const (
	password = "correct horse battery"
	shop     = "shop"
	site     = "https://shop.example"
)

// lab is a desk with the real services, a real storage, and a clock that the test moves.
type lab struct {
	t            *testing.T
	desk         http.Handler
	accounts     *account.Service
	storage      *storage.Storage
	clock        *clocktest.Clock
	log          *lockedLog
	till         *till
	reports      *reportStorage
	networks     []readiness.Network
	findings     []health.Finding // of the next examination
	examinations int              // that were made
	examineError error
	demo         bool // the server is a demo
	backups      *stubBackups
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

func newLab(t *testing.T) *lab { return labAt(t, site) }

// labAt returns a lab with a base URL.
func labAt(t *testing.T, base string) *lab {
	t.Helper()
	l := &lab{t: t, storage: storagetest.SQLite(t), clock: clocktest.At(storagetest.Noon), log: &lockedLog{}, seeds: map[string]string{}}
	l.reports = &reportStorage{Storage: l.storage}
	for id, name := range map[string]string{shop: "Atelier Nord", "other": "Nord Markt"} {
		l.must(l.storage.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: id, Name: name, CreatedAt: l.clock.Now()}}))
	}
	prices := merchant.NewPrices(nil, "1000000")
	l.products = merchant.NewProducts(merchant.ProductsConfig{Storage: l.storage, Prices: prices, Now: l.clock.Now})
	l.links = merchant.NewLinks(merchant.LinksConfig{Storage: l.storage, Prices: prices, Now: l.clock.Now, Token: token.New})
	l.terminals = merchant.NewTerminals(merchant.TerminalsConfig{Storage: l.storage, Prices: prices, Now: l.clock.Now, Token: token.New})
	l.merchants = merchant.NewService(l.storage, l.clock.Now, token.New)
	l.settings = merchant.NewSettings(merchant.SettingsConfig{
		Storage: l.storage, Merchants: l.merchants, Overrides: merchant.Overrides{},
		CheckLanguages: func(codes []string) error {
			_, err := locale.All().Subset("en", codes...)
			return err
		},
	})
	l.endpoints = merchant.NewEndpoints(merchant.EndpointsConfig{
		Storage: l.storage, Check: (guard.Policy{}).Check, EncodeTest: wire.TestEvent, Now: l.clock.Now, Token: token.New,
	})
	l.changes = changes.New(changes.Config{Position: l.storage.FeedPosition, Interval: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(l.changes.Close)
	c := desk.Config{Audit: l.storage, Reports: report.NewService(l.reports), Endpoints: l.endpoints, Sell: sell.Screens{Products: l.products, Links: l.links, Terminals: l.terminals, Reports: report.NewService(l.reports), Prices: prices, Languages: func(context.Context, string) *locale.Languages { return locale.All() }, AnyAmount: func(context.Context, string) bool { return false }, EmbedOrigins: []string{"https://nord.example"}}, Site: visit.Site{
		Merchants: l.merchants, PaymentSettings: l.settings, Changes: l.changes, Themes: merchant.NewThemes(l.storage, l.clock.Now),
		BaseURL: base, RootShop: shop, Words: locale.All().Default(), IPExtractor: echo.ExtractIPDirect(), Now: l.clock.Now,
		Log: slog.New(slog.NewTextHandler(l.log, nil)),
	}}
	at, err := account.NewSite(base)
	if !errors.Is(err, account.ErrInsecure) {
		l.must(err)
	}
	l.accounts, err = account.NewService(account.Config{
		Storage: l.storage, Box: storagetest.Box(t, 1), Site: at, Issuer: "Atelier Nord", Encode: wire.AccountEvent, Now: l.clock.Now, Token: token.New, HashMemory: 64,
	})
	l.must(err)
	c.Accounts = l.accounts
	c.BasePath = at.Path
	c.Notifications = notify.NewService(notify.ServiceConfig{
		Storage: l.storage, CheckURL: func(url string) error { return (guard.Policy{}).Check(url, true) }, HasMail: true, Now: l.clock.Now,
	})
	l.till = newTill(l)
	c.Invoices = l.till.Service
	c.Wallets = wallets.Screens{
		Wallets: merchant.NewWallets(merchant.WalletsConfig{Storage: l.storage, Encode: wire.WalletEvent, Now: l.clock.Now, Token: token.New}), Storage: l.storage,
		Kind: func(kind keys.Kind) (wallets.Kind, error) {
			return wallets.Kind{Network: keys.Main, Chains: []chain.ID{chain.ID(kind)}, Offered: []string{string(kind)}, Off: []string{"EURC-BASE: needs a node"}}, nil
		},
		IsDemo: func(context.Context) (bool, error) { return l.demo, nil },
	}
	l.backups = &stubBackups{parent: t.TempDir(), shops: []string{shop}}
	c.Backups = l.backups
	c.Health = &health.Screens{
		Networks: func(context.Context) ([]readiness.Network, error) { return l.networks, nil }, Name: func(id chain.ID) string { return "Network " + string(id) },
		Examine: func(context.Context, merchant.Merchant) ([]health.Finding, error) {
			l.examinations++
			return l.findings, l.examineError
		},
	}
	c.Health.Failed = c.Notifications.Failed
	l.config, l.desk = c, desk.New(c)
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
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
	lab     *lab
	cookies map[string]*http.Cookie
	header  map[string]string // of every request, in place of those that a browser sends
	host    string
	key     *authenticator
}

func (l *lab) browser() *browser {
	return &browser{lab: l, cookies: map[string]*http.Cookie{}, host: strings.TrimPrefix(site, "https://"), key: newAuthenticator(l.t)}
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
	b.lab.t.Helper()
	w := httptest.NewRecorder()
	b.lab.desk.ServeHTTP(w, b.request(method, path, form))
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return page{t: b.lab.t, status: w.Code, header: w.Header(), body: w.Body.String()}
}

// request returns a request as the browser sends it.
func (b *browser) request(method, path string, form url.Values) *http.Request {
	r := httptest.NewRequestWithContext(b.lab.t.Context(), method, path, strings.NewReader(form.Encode()))
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

func (b *browser) get(path string) page { b.lab.t.Helper(); return b.do(http.MethodGet, path, nil) }

func (b *browser) post(path string, pairs ...string) page {
	b.lab.t.Helper()
	return b.do(http.MethodPost, path, values(pairs...))
}

// send posts a form with the form token of the session.
func (b *browser) send(path string, pairs ...string) page {
	b.lab.t.Helper()
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
	b.lab.t.Helper()
	token := b.get("/desk/"+shop+"/account").find("input[name=form]").AttrOr("value", "")
	if token == "" {
		b.lab.t.Fatal("the page has no form token")
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

// leads fails the test unless the page redirects to an address.
func (p page) leads(address string) page {
	p.t.Helper()
	if got := p.header.Get("Location"); p.status != http.StatusSeeOther || got != address {
		p.t.Fatalf("answer %d, location %q, page %q, want %d to %q", p.status, got, p.text(), http.StatusSeeOther, address)
	}
	return p
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
func (l *lab) code(name string) string {
	l.t.Helper()
	code, err := totp.GenerateCode(l.seeds[name], l.clock.Now())
	l.must(err)
	return code
}

// joinByPassword creates the account of a link by the forms that work without JavaScript.
func (l *lab) joinByPassword(token, name string) *browser {
	l.t.Helper()
	b := l.browser()
	codes := b.post("/desk/start/password", "token", token, "name", name, "password", password).want(http.StatusOK, "Recovery codes")
	l.seeds[name] = codes.find("input[name=seed]").AttrOr("value", "")
	offer := codes.find("input[name=offer]").AttrOr("value", "")
	b.post("/desk/start/code", "token", token, "offer", offer, "code", l.code(name)).leads("/desk/" + shop + "/account?done=joined")
	l.clock.Pass(time.Minute) // so that the next code is another one
	return b
}

// join creates the account of a link with a passkey, as the script does.
func (l *lab) join(token, name string) *browser {
	l.t.Helper()
	b := l.browser()
	offer, response := b.ceremony("/desk/start/passkey/options", b.key.create, "token", token, "name", name)
	b.post("/desk/start/passkey", "token", token, "name", name, "offer", offer, "credential", response).leads("/desk/" + shop + "/account?done=joined")
	return b
}

// start returns the token of a link of the first run.
func (l *lab) start() string {
	l.t.Helper()
	link, err := l.accounts.NewStart(l.t.Context(), shop)
	l.must(err)
	return link.Token
}

// owner creates the first account with a passkey.
func (l *lab) owner() *browser { l.t.Helper(); return l.join(l.start(), "Maren") }

// ownerByPassword creates the first account with a password and a code.
func (l *lab) ownerByPassword() *browser { l.t.Helper(); return l.joinByPassword(l.start(), "Maren") }

// as creates an account with a role.
func (l *lab) as(name string, role account.Role) *browser {
	l.t.Helper()
	link, err := l.accounts.Invite(l.t.Context(), map[string]account.Role{shop: role})
	l.must(err)
	return l.join(link.Token, name)
}

// team creates an account of each role.
func (l *lab) team() map[account.Role]*browser {
	l.t.Helper()
	team := map[account.Role]*browser{account.Owner: l.owner()}
	for i, role := range account.Roles[1:] {
		team[role] = l.as(fmt.Sprintf("Account %d", i), role)
	}
	return team
}

// actions returns the actions of the audit log, oldest first.
func (l *lab) actions() (all []string) {
	l.t.Helper()
	var entries []audit.Entry
	entries, err := l.storage.AuditLog(l.t.Context(), 0, 100)
	l.must(err)
	for _, e := range entries {
		all = append([]string{e.Actor.String() + ": " + e.Change.Action}, all...)
	}
	return all
}
