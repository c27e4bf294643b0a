// Package greenfield is the part of the REST API of BTCPay Server ("Greenfield") that shop plug-ins call. It translates
// requests into calls of the domain, with error answers and keys of its own. CONTRACT.md in this folder lists the calls.
package greenfield

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/merchant"
)

// root is the root of all paths of the API.
const root = "/api/v1"

// Merchants gives access to merchants, their keys and their wallets. It is safe for concurrent use.
type Merchants interface {
	// AuthenticateToken returns the key of a plug-in by its token, or merchant.ErrNotFound. A revoked key is returned
	// with its RevokedAt.
	AuthenticateToken(ctx context.Context, token string) (merchant.Key, error)
	// UseKey records that a key was used.
	UseKey(ctx context.Context, k merchant.Key) error
	// Merchant reads a merchant.
	Merchant(ctx context.Context, id string) (merchant.Merchant, error)
	// Wallets lists a merchant's current wallets of a mode.
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
}

// Data stores what plug-ins keep with invoices. It is safe for concurrent use.
type Data interface {
	// PluginData returns the data of those of the invoices that have any, by their identifiers.
	PluginData(ctx context.Context, invoiceIDs ...string) (map[string]invoice.PluginData, error)
	// PluginArchived returns those of the invoices that are archived.
	PluginArchived(ctx context.Context, invoiceIDs ...string) (map[string]bool, error)
	// SetPluginMetadata replaces the metadata of a merchant's invoice, or returns invoice.ErrNotFound.
	SetPluginMetadata(ctx context.Context, merchantID, invoiceID string, metadata []byte) error
	// SetPluginArchived archives a merchant's invoice, or returns invoice.ErrNotFound.
	SetPluginArchived(ctx context.Context, merchantID, invoiceID string, at time.Time) error
}

// Config holds the dependencies and settings of the API.
type Config struct {
	Invoices  *invoice.Service
	Creator   *invoicing.Service // of new invoices
	Merchants Merchants
	Data      Data
	Endpoints *merchant.Endpoints
	// Prices are the prices that an invoice can have.
	Prices merchant.Prices
	// BaseURL is the public address, which may contain a path. Links start with it.
	BaseURL string
	// BasePath is the prefix of the paths of requests.
	BasePath string
	// Protected reports whether a request was not readable on the way; see caller.Protected.
	Protected func(*http.Request) bool
	Limits    httpapi.Limits
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

// New returns the handler of every path below the base path that Owns reports.
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
	s.routes(e.Group(strings.TrimRight(c.BasePath, "/") + root))
	return httpapi.WithoutRepeatedSlashes(e)
}

// Owns reports whether a path belongs to the API. Repeated slashes count as one.
func Owns(path, basePath string) bool {
	path, below := httpapi.Below(path, basePath)
	return below && httpapi.Owns(root, path)
}

// routes registers all routes with the scopes of which a key needs one.
func (s *server) routes(g *echo.Group) {
	g.GET("/health", s.health)
	g.GET("/server/info", s.authorized(s.serverInfo))
	g.GET("/api-keys/current", s.authorized(s.currentKey))
	s.storeRoutes(g)
	s.invoiceRoutes(g)
	s.webhookRoutes(g)
}

// storeRoutes registers the routes of stores.
func (s *server) storeRoutes(g *echo.Group) {
	viewer := []merchant.Scope{merchant.ScopeViewStore, merchant.ScopeModifyStore}
	g.GET("/stores", s.authorized(s.listStores, viewer...))
	g.GET("/stores/:store", s.authorized(s.readStore, viewer...))
	g.GET("/stores/:store/payment-methods", s.authorized(s.listStoreMethods, viewer...))
	g.GET("/stores/:store/payment-methods/OnChain", s.authorized(s.listChainMethods, viewer...))
	g.GET("/stores/:store/payment-methods/LightningNetwork", s.authorized(s.listLightningMethods, viewer...))
}

// invoiceRoutes registers the routes of invoices. Those of one invoice exist without the store, too.
func (s *server) invoiceRoutes(g *echo.Group) {
	const list = "/stores/:store/invoices"
	view, modify := merchant.ScopeViewInvoices, merchant.ScopeModifyInvoices
	g.POST(list, s.authorized(s.createInvoice, merchant.ScopeCreateInvoice))
	g.GET(list, s.authorized(s.listInvoices, view))
	g.POST("/stores/:store/pull-payments", s.authorized(s.createPullPayment, merchant.ScopeOfferRefund))
	for _, one := range []string{list + "/:id", "/invoices/:id"} {
		g.GET(one, s.authorized(s.readInvoice, view))
		g.PUT(one, s.authorized(s.setMetadata, modify))
		g.DELETE(one, s.authorized(s.archiveInvoice, modify))
		g.GET(one+"/payment-methods", s.authorized(s.listInvoiceMethods, view))
		g.POST(one+"/status", s.authorized(s.setStatus, modify))
		g.POST(one+"/refund", s.authorized(s.refundInvoice, merchant.ScopeOfferRefund))
	}
}
