// Package server is the JSON API of the service: it turns signed requests into calls of the domain,
// and their results into the answers of the contract.
package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Merchants gives access to merchants, their keys and their wallets. It is safe for concurrent use.
type Merchants interface {
	// Authenticate finds an API key by its public part, or returns merchant.ErrNotFound. A revoked
	// key is returned with its RevokedAt.
	Authenticate(ctx context.Context, key string) (merchant.Key, error)
	// UseKey records that an API key was used.
	UseKey(ctx context.Context, k merchant.Key) error
	// Merchant reads a merchant.
	Merchant(ctx context.Context, id string) (merchant.Merchant, error)
	// Wallets lists a merchant's current wallets of a mode.
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
}

// Nonces records used nonces. It is safe for concurrent use.
type Nonces interface {
	// UseNonce records a key's nonce for the duration ttl and reports whether it was unused.
	UseNonce(ctx context.Context, key, nonce string, now time.Time, ttl time.Duration) (unused bool, err error)
}

// Simnet carries out simulations on the simulated network. It is safe for concurrent use.
type Simnet interface {
	// Pay sends an amount to a script; the transaction is unconfirmed. A payment request of Lightning is settled at once,
	// or the error is simnet.ErrUnpayable.
	Pay(ctx context.Context, asset chain.Asset, script string, amount money.Amount) (tx string, err error)
	// Confirm creates one block with the given transactions that are unconfirmed.
	Confirm(ctx context.Context, txs []string) error
	// Replace replaces an unconfirmed transaction by one that spends its inputs elsewhere.
	Replace(ctx context.Context, tx string) error
	// Reorganise removes the blocks of transactions from the chain.
	Reorganise(ctx context.Context, txs []string) error
}

// Config holds the dependencies and settings of a server.
type Config struct {
	Invoices  *invoice.Service
	Creator   *invoicing.Service // of new invoices
	Merchants Merchants
	Endpoints *merchant.Endpoints
	Links     *merchant.Links
	Products  *merchant.Products
	Terminals *merchant.Terminals
	Themes    *merchant.Themes // nil: all pages have the default theme
	Feed      Feed
	Nonces    Nonces
	Simnet    Simnet
	Proofs    Proofs
	// RemovedBefore returns the time before which invoices of a merchant were removed from the books, and the time of
	// the removal; zero if none were. nil: none ever are.
	RemovedBefore func(ctx context.Context, merchantID string) (before, at time.Time, err error)
	// BaseURL is the public address, which may contain a path. Links start with it.
	BaseURL string
	// BasePath is the prefix of the paths of requests.
	BasePath string
	// MaxUnpaid is the maximum number of unpaid invoices of a merchant that were created in the
	// last 15 minutes without a signature of the merchant; 0 is no limit.
	MaxUnpaid int
	// Prices are the prices that an invoice can have.
	Prices merchant.Prices
	// RequireNonce requires a request signature for invoice/new too. The server's own pages are
	// exempt.
	RequireNonce bool
	Limits       httpapi.Limits
	// Stopping is closed when the server is about to stop: waiting calls are answered then. If it
	// is nil, they wait until their time is over.
	Stopping <-chan struct{}
	// Caller returns the address of the caller; nil: that of the socket.
	Caller echo.IPExtractor
	Now    func() time.Time
	Log    *slog.Logger
}

type server struct {
	Config
	keys      *httpapi.Buckets
	addresses *httpapi.Buckets
}

// New returns a handler for every API path below the base path. It must not be wrapped in a handler
// that redirects requests to a cleaned path, as http.ServeMux does: a redirect turns a POST into a
// GET.
func New(c Config) http.Handler {
	s := &server{
		Config:    c,
		keys:      httpapi.NewBuckets(c.Limits.PerKey, 5*c.Limits.PerKey),
		addresses: httpapi.NewBuckets(c.Limits.PerAddress, 2*c.Limits.PerAddress),
	}
	s.BaseURL = strings.TrimRight(c.BaseURL, "/")
	e := echo.New()
	e.IPExtractor = c.Caller
	if c.Caller == nil {
		e.IPExtractor = echo.ExtractIPDirect()
	}
	e.Logger.SetOutput(io.Discard)
	e.HTTPErrorHandler = s.fail
	e.Use(httpapi.Recovered, httpapi.CommonHeaders)
	s.routes(e.Group(strings.TrimRight(c.BasePath, "/")))
	return httpapi.WithoutRepeatedSlashes(e)
}

// readMethods are the methods of routes that change nothing.
var readMethods = []string{http.MethodGet, http.MethodHead}

var (
	admin = requestSigned(merchant.ScopeAdmin)
	page  = requestSigned(merchant.ScopePage)
)

// routes registers all routes with their signature rules and scopes.
func (s *server) routes(g *echo.Group) {
	create := s.signed(rule{requestSigned: s.RequireNonce, exemptBuiltin: true, scopes: []merchant.Scope{merchant.ScopeCreate}}, s.createInvoice)
	for _, root := range []string{"/api", ""} { // a public client omits /api
		g.POST(root+strings.TrimPrefix(api.PathInvoiceNew, "/api"), create)
		g.Match(readMethods, root+strings.TrimPrefix(api.PathInvoiceStatus, "/api"), s.unsigned(s.status))
	}
	g.Match(readMethods, api.PathInvoices+"/:id", s.signed(requestSigned(merchant.ScopePage, merchant.ScopeRead), s.readInvoice))
	g.Match(readMethods, api.PathInvoices, s.signed(requestSigned(merchant.ScopeRead), s.listInvoices))
	g.Match(readMethods, api.PathInvoices+"/export", s.signed(requestSigned(merchant.ScopeRead), s.exportInvoices))
	g.POST(api.PathInvoices+"/:id/requote", s.signed(requestSigned(merchant.ScopePage, merchant.ScopeCreate, merchant.ScopeAdmin), s.requote))
	g.POST(api.PathInvoices+"/:id/payment-request", s.signed(requestSigned(merchant.ScopePage, merchant.ScopeCreate, merchant.ScopeAdmin), s.requestPayment))
	g.POST(api.PathInvoices+"/:id/refund-address", s.signed(requestSigned(merchant.ScopePage), s.refundAddress))
	g.POST(api.PathInvoices+"/:id/cancel", s.signed(admin, s.cancel))
	g.POST(api.PathInvoices+"/:id/accept", s.signed(admin, s.accept))
	g.POST(api.PathTestInvoices+"/:id/simulate", s.signed(requestSigned(merchant.ScopePage, merchant.ScopeAdmin), s.simulate))
	g.Match(readMethods, api.PathEvents, s.signed(requestSigned(merchant.ScopeRead), s.readEvents))
	g.Match(readMethods, api.PathProofKey, s.unsigned(s.proofKeys))
	s.refundRoutes(g)
	s.endpointRoutes(g)
	s.linkRoutes(g)
	s.productRoutes(g)
	s.terminalRoutes(g)
	s.themeRoutes(g)
}

// themeRoutes registers the routes of themes.
func (s *server) themeRoutes(g *echo.Group) {
	g.Match(readMethods, api.PathTheme, s.signed(requestSigned(merchant.ScopePage, merchant.ScopeRead, merchant.ScopeAdmin), s.readTheme))
	g.PUT(api.PathTheme, s.signed(admin, s.setTheme))
	g.DELETE(api.PathTheme, s.signed(admin, s.resetTheme))
	g.Match(readMethods, api.PathThemes+"/:hash", s.signed(page, s.themeByHash))
}

// linkRoutes registers the routes of checkout links, and the routes that their pages call.
func (s *server) linkRoutes(g *echo.Group) {
	route := s.administered(linkProblems)
	g.POST(api.PathLinks, route(s.createLink))
	g.Match(readMethods, api.PathLinks, route(s.listLinks))
	g.Match(readMethods, api.PathLinks+"/:slug", route(s.showLink))
	g.PATCH(api.PathLinks+"/:slug", route(s.changeLink))
	g.DELETE(api.PathLinks+"/:slug", route(s.removeLink))
	g.POST(api.PathLinks+"/read", s.signed(page, s.readCheckoutLink))
	g.POST(api.PathLinks+"/pay", s.signed(page, s.useCheckoutLink))
}

// productRoutes registers the routes of products, and the routes that the pages of /shop call.
func (s *server) productRoutes(g *echo.Group) {
	route := s.administered(productProblems)
	g.POST(api.PathProducts, route(s.createProduct))
	g.Match(readMethods, api.PathProducts, route(s.listProducts))
	g.Match(readMethods, api.PathProducts+"/:slug", route(s.showProduct))
	g.PATCH(api.PathProducts+"/:slug", route(s.changeProduct))
	g.DELETE(api.PathProducts+"/:slug", route(s.removeProduct))
	g.POST(api.PathProducts+"/read", s.signed(page, s.readProducts))
	g.POST(api.PathProducts+"/order", s.signed(page, s.orderProduct))
}

// terminalRoutes registers the routes of terminals.
func (s *server) terminalRoutes(g *echo.Group) {
	route := s.administered(terminalProblems)
	g.POST(api.PathTerminals, route(s.createTerminal))
	g.Match(readMethods, api.PathTerminals, route(s.listTerminals))
	g.Match(readMethods, api.PathTerminals+"/:id", route(s.showTerminal))
	g.DELETE(api.PathTerminals+"/:id", route(s.removeTerminal))
}

// endpointRoutes registers the routes of endpoints, which require the scope admin.
func (s *server) endpointRoutes(g *echo.Group) {
	route := s.administered(endpointProblems)
	g.POST(api.PathEndpoints, route(s.createEndpoint))
	g.Match(readMethods, api.PathEndpoints, route(s.listEndpoints))
	endpointPath := api.PathEndpoints + "/:id"
	g.Match(readMethods, endpointPath, route(s.resolveEndpoint(s.readEndpoint)))
	g.PATCH(endpointPath, route(s.resolveEndpoint(s.changeEndpoint)))
	g.DELETE(endpointPath, route(s.resolveEndpoint(s.removeEndpoint)))
	g.POST(endpointPath+"/pause", route(s.resolveEndpoint(s.pauseEndpoint(true))))
	g.POST(endpointPath+"/resume", route(s.resolveEndpoint(s.pauseEndpoint(false))))
	g.POST(endpointPath+"/rotate", route(s.resolveEndpoint(s.rotateEndpoint)))
	g.POST(endpointPath+"/test", route(s.resolveEndpoint(s.testEndpoint)))
	g.POST(endpointPath+"/resend", route(s.resolveEndpoint(s.resend)))
	g.Match(readMethods, endpointPath+"/deliveries", route(s.resolveEndpoint(s.listDeliveries)))
	g.Match(readMethods, endpointPath+"/deliveries/:event", route(s.resolveEndpoint(s.readDelivery)))
}

// administered returns the function that makes handlers for keys with the scope admin, with the error
// answers of one kind of calls.
func (s *server) administered(p problems) func(func(echo.Context, call) error) echo.HandlerFunc {
	return func(handle func(echo.Context, call) error) echo.HandlerFunc {
		return s.signed(admin, p.handler(handle))
	}
}

// Owns reports whether a path belongs to the API; all other paths belong to the pages. Repeated
// slashes count as one.
func Owns(path, basePath string) bool {
	path, below := httpapi.Below(path, basePath)
	return below && (httpapi.Owns("/api", path) || httpapi.Owns("/v2", path) || path == api.PathProofKey)
}
