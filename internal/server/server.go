// Package server is the JSON edge of the service: it turns signed requests into
// calls of the domain, and what comes back into the answers of the contract.
package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Merchants tells who calls and where his money goes. It is safe for concurrent
// use.
type Merchants interface {
	// Authenticate finds an API key by its public part; merchant.ErrNotFound. A
	// revoked key has its RevokedAt.
	Authenticate(ctx context.Context, key string) (merchant.Key, error)
	// UseKey records that an API key was used.
	UseKey(ctx context.Context, k merchant.Key) error
	// Merchant reads a merchant.
	Merchant(ctx context.Context, id string) (merchant.Merchant, error)
	// Wallets lists a merchant's wallets in force of a mode.
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	// Exchange reads a merchant's exchange account in force; merchant.ErrNotFound.
	Exchange(ctx context.Context, merchantID string) (merchant.ExchangeAccount, error)
}

// Nonces remembers what was used once. It is safe for concurrent use.
type Nonces interface {
	// UseNonce notes a key's nonce for a time and tells whether it was unused.
	UseNonce(ctx context.Context, key, nonce string, now time.Time, ttl time.Duration) (unused bool, err error)
}

// Simnet is what a simulation does on the made-up network. It is safe for
// concurrent use.
type Simnet interface {
	// Pay sends an amount to a script; the transaction is not confirmed.
	Pay(ctx context.Context, asset chain.Asset, script string, amount money.Amount) (tx string, err error)
	// Confirm makes one block with those of the transactions that wait.
	Confirm(ctx context.Context, txs []string) error
	// Replace spends the inputs of a waiting transaction otherwise.
	Replace(ctx context.Context, tx string) error
	// Reorganise takes the blocks of transactions off the chain.
	Reorganise(ctx context.Context, txs []string) error
}

// Config is what a server is made of.
type Config struct {
	Invoices  *invoice.Service
	Merchants Merchants
	Endpoints *merchant.Endpoints
	Links     *merchant.Links
	Products  *merchant.Products
	Terminals *merchant.Terminals
	Looks     *merchant.Looks // nil has all pages look like ours
	Feed      Feed
	Nonces    Nonces
	Simnet    Simnet
	Proofs    Proofs
	// BaseURL is the public address, which may hold a path; links start with it.
	BaseURL string
	// BasePath is what the paths of requests start with.
	BasePath string
	// Worthless tells that live invoices are paid in coins of test networks, which are
	// never sold.
	Worthless bool
	// MaxUnpaid is how many unpaid invoices of a merchant, created in the last quarter
	// of an hour without a signature of the merchant, may exist; 0 is no limit.
	MaxUnpaid int
	// Fiats are the currencies that an invoice may be in beside euro and dollar.
	Fiats []money.Currency
	// MaxAmount is the largest price, in whole units of any currency.
	MaxAmount string
	// OwnScheme makes our own signature scheme, over the whole request and with a
	// nonce, compulsory for invoice/new too. Our own pages are let off.
	OwnScheme bool
	Limits    Limits
	// Stopping is closed when the server is about to stop: whoever waits for news is
	// answered then. nil never is.
	Stopping <-chan struct{}
	// Caller tells the address of who calls; that of the socket when nil.
	Caller echo.IPExtractor
	Now    func() time.Time
	Log    *slog.Logger
}

type server struct {
	invoices  *invoice.Service
	merchants Merchants
	endpoints *merchant.Endpoints
	links     *merchant.Links
	products  *merchant.Products
	terminals *merchant.Terminals
	looks     *merchant.Looks
	feed      Feed
	nonces    Nonces
	simnet    Simnet
	proofs    Proofs
	baseURL   string
	fiats     []money.Currency
	maximum   string
	now       func() time.Time
	log       *slog.Logger
	running   running
	keys      *buckets
	addresses *buckets
	stopping  <-chan struct{}
	ownScheme bool
	worthless bool
	maxUnpaid int
}

// New makes the handler of every API path below the base path. It must not stand
// behind something that redirects requests to a cleaned path, as http.ServeMux
// does: a redirect turns a POST into a GET.
func New(c Config) http.Handler {
	s := &server{
		invoices: c.Invoices, merchants: c.Merchants, endpoints: c.Endpoints, links: c.Links, looks: c.Looks, feed: c.Feed, nonces: c.Nonces, simnet: c.Simnet, proofs: c.Proofs,
		products: c.Products, terminals: c.Terminals, maxUnpaid: c.MaxUnpaid,
		baseURL: strings.TrimRight(c.BaseURL, "/"), maximum: c.MaxAmount, now: c.Now, log: c.Log,
		fiats:     taken(c.Fiats),
		stopping:  c.Stopping,
		ownScheme: c.OwnScheme,
		worthless: c.Worthless,
		keys:      newBuckets(c.Limits.PerKey, 5*c.Limits.PerKey),
		addresses: newBuckets(c.Limits.PerAddress, 2*c.Limits.PerAddress),
	}
	e := echo.New()
	e.IPExtractor = c.Caller
	if c.Caller == nil {
		e.IPExtractor = echo.ExtractIPDirect()
	}
	e.Logger.SetOutput(io.Discard)
	e.HTTPErrorHandler = s.fail
	e.Use(recovered, common)
	s.routes(e.Group(strings.TrimRight(c.BasePath, "/")))
	return withoutRepeatedSlashes(e)
}

// routes are all of them; who may make a call stands beside each.
func (s *server) routes(g *echo.Group) {
	reading := []string{http.MethodGet, http.MethodHead}
	create := s.signed(rule{own: s.ownScheme, letOff: true, scopes: []merchant.Scope{merchant.ScopeCreate}}, s.createInvoice)
	for _, root := range []string{"/api", ""} { // one public client leaves /api out
		g.POST(root+strings.TrimPrefix(api.PathInvoiceNew, "/api"), create)
		g.Match(reading, root+strings.TrimPrefix(api.PathInvoiceStatus, "/api"), s.unsigned(s.status))
	}
	g.Match(reading, api.PathInvoices+"/:id", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopePage, merchant.ScopeRead}}, s.readInvoice))
	g.Match(reading, api.PathInvoices, s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopeRead}}, s.listInvoices))
	g.Match(reading, api.PathInvoices+"/export", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopeRead}}, s.exportInvoices))
	g.POST(api.PathInvoices+"/:id/requote", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopePage, merchant.ScopeCreate, merchant.ScopeAdmin}}, s.requote))
	g.POST(api.PathInvoices+"/:id/refund-address", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopePage, merchant.ScopeAdmin}}, s.refundAddress))
	g.POST(api.PathInvoices+"/:id/cancel", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopeAdmin}}, s.cancel))
	g.POST(api.PathInvoices+"/:id/accept", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopeAdmin}}, s.accept))
	g.POST(api.PathTestInvoices+"/:id/simulate", s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopePage, merchant.ScopeAdmin}}, s.simulate))
	g.Match(reading, api.PathEvents, s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopeRead}}, s.readEvents))
	g.Match(reading, api.PathProofKey, s.unsigned(s.proofKeys))
	s.endpointRoutes(g, reading)
	s.linkRoutes(g, reading)
	s.productRoutes(g, reading)
	s.lookRoutes(g, reading)
}

// lookRoutes are those of how pages look.
func (s *server) lookRoutes(g *echo.Group, reading []string) {
	admin := rule{own: true, scopes: []merchant.Scope{merchant.ScopeAdmin}}
	page := rule{own: true, scopes: []merchant.Scope{merchant.ScopePage}}
	g.Match(reading, api.PathLook, s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopePage, merchant.ScopeRead, merchant.ScopeAdmin}}, s.readLook))
	g.PUT(api.PathLook, s.signed(admin, s.setLook))
	g.DELETE(api.PathLook, s.signed(admin, s.resetLook))
	g.Match(reading, api.PathLooks+"/:hash", s.signed(page, s.lookByHash))
}

// linkRoutes are those of checkout links, and what the page of one asks.
func (s *server) linkRoutes(g *echo.Group, reading []string) {
	admin := rule{own: true, scopes: []merchant.Scope{merchant.ScopeAdmin}}
	page := rule{own: true, scopes: []merchant.Scope{merchant.ScopePage}}
	g.POST(api.PathLinks, s.signed(admin, s.createLink))
	g.Match(reading, api.PathLinks, s.signed(admin, s.listLinks))
	g.Match(reading, api.PathLinks+"/:slug", s.signed(admin, s.showLink))
	g.PATCH(api.PathLinks+"/:slug", s.signed(admin, s.changeLink))
	g.DELETE(api.PathLinks+"/:slug", s.signed(admin, s.removeLink))
	g.POST(api.PathLinks+"/read", s.signed(page, s.readOffer))
	g.POST(api.PathLinks+"/pay", s.signed(page, s.payOffer))
}

// productRoutes are those of products, and what the pages of /shop ask.
func (s *server) productRoutes(g *echo.Group, reading []string) {
	admin := rule{own: true, scopes: []merchant.Scope{merchant.ScopeAdmin}}
	page := rule{own: true, scopes: []merchant.Scope{merchant.ScopePage}}
	g.POST(api.PathProducts, s.signed(admin, s.createProduct))
	g.Match(reading, api.PathProducts, s.signed(admin, s.listProducts))
	g.Match(reading, api.PathProducts+"/:slug", s.signed(admin, s.showProduct))
	g.PATCH(api.PathProducts+"/:slug", s.signed(admin, s.changeProduct))
	g.DELETE(api.PathProducts+"/:slug", s.signed(admin, s.removeProduct))
	g.POST(api.PathProducts+"/read", s.signed(page, s.readProducts))
	g.POST(api.PathProducts+"/order", s.signed(page, s.orderProduct))
}

// endpointRoutes are those of endpoints, which only who may do everything changes.
func (s *server) endpointRoutes(g *echo.Group, reading []string) {
	admin := func(handle func(echo.Context, call) error) echo.HandlerFunc {
		return s.signed(rule{own: true, scopes: []merchant.Scope{merchant.ScopeAdmin}}, handle)
	}
	g.POST(api.PathEndpoints, admin(s.createEndpoint))
	g.Match(reading, api.PathEndpoints, admin(s.listEndpoints))
	one := api.PathEndpoints + "/:id"
	g.Match(reading, one, admin(s.ofEndpoint(s.readEndpoint)))
	g.DELETE(one, admin(s.ofEndpoint(s.removeEndpoint)))
	g.POST(one+"/pause", admin(s.ofEndpoint(s.pauseEndpoint(true))))
	g.POST(one+"/resume", admin(s.ofEndpoint(s.pauseEndpoint(false))))
	g.POST(one+"/rotate", admin(s.ofEndpoint(s.rotateEndpoint)))
	g.POST(one+"/test", admin(s.ofEndpoint(s.testEndpoint)))
	g.POST(one+"/resend", admin(s.ofEndpoint(s.resend)))
	g.Match(reading, one+"/deliveries", admin(s.ofEndpoint(s.listDeliveries)))
	g.Match(reading, one+"/deliveries/:event", admin(s.ofEndpoint(s.readDelivery)))
}

// recovered turns a panic into an internal error, so that it has an answer of
// the same shape as every other.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r)
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

// common sets what every answer carries.
func common(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}

// Owns tells whether a path is the API's, with repeated slashes as one: every
// other is the pages'.
func Owns(path, basePath string) bool {
	path, below := strings.CutPrefix(slashes.ReplaceAllString(path, "/"), basePath)
	return below && (isBelow(path, "/api") || isBelow(path, "/v2") || path == api.PathProofKey)
}

func isBelow(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

var slashes = regexp.MustCompile(`//+`)

// withoutRepeatedSlashes routes "//api//v2/…" as "/api/v2/…". The request target
// as it was sent, which signatures cover, stays in RequestURI.
func withoutRepeatedSlashes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slashes.MatchString(r.URL.Path) || slashes.MatchString(r.URL.RawPath) {
			clean := *r
			clean.URL = new(url.URL)
			*clean.URL = *r.URL
			clean.URL.Path = slashes.ReplaceAllString(r.URL.Path, "/")
			clean.URL.RawPath = slashes.ReplaceAllString(r.URL.RawPath, "/")
			r = &clean
		}
		next.ServeHTTP(w, r)
	})
}
