// Package web serves the pages for shoppers: the storefront, the payment page and its stream of
// updates. It reaches the service only through its client.
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/internal/locale"
	"chequer/internal/theme"
	"chequer/web/live"
	"chequer/web/present"
	"chequer/web/rendered"
)

// Client is the part of the service that the pages use. It is safe for concurrent use. Its errors are
// those of package client.
type Client interface {
	CreateInvoice(ctx context.Context, request api.InvoiceRequest, idempotencyKey string) (id string, err error)
	// ReadCheckoutLink reads the content of a checkout link, and UseCheckoutLink creates an invoice from the link.
	ReadCheckoutLink(ctx context.Context, request api.CheckoutRequest) (api.CheckoutLink, error)
	UseCheckoutLink(ctx context.Context, request api.CheckoutRequest, idempotencyKey string) (id string, err error)
	// ReadProducts reads the merchant's products, and OrderProduct creates an invoice for a product.
	ReadProducts(ctx context.Context, request api.ProductsRequest) (api.ProductOffers, error)
	OrderProduct(ctx context.Context, order api.ProductOrder, idempotencyKey string) (id string, err error)
	Invoice(ctx context.Context, id string) (client.Snapshot, error)
	// WaitInvoice returns the invoice once its tag differs from etag, or client.ErrNotModified after the
	// wait.
	WaitInvoice(ctx context.Context, id, etag string, wait time.Duration) (client.Snapshot, error)
	Simulate(ctx context.Context, id string, request api.SimulateRequest) error
	Requote(ctx context.Context, id string, request api.RequoteRequest) error
	RequestPayment(ctx context.Context, id string, request api.NewPaymentRequest) error
	SetRefundAddress(ctx context.Context, id string, request api.RefundRequest) error
	// Theme reads the theme with the given hash or, if hash is empty, the theme of the merchant of the
	// client's key.
	Theme(ctx context.Context, hash string) (theme.Theme, error)
}

// Config is the configuration of the pages. Client and Logger are required.
type Config struct {
	Client Client
	Logger *slog.Logger
	Now    func() time.Time // nil means time.Now

	// Site describes the site. Forms from the origin of its BaseURL are accepted even if a proxy changes
	// the Host header.
	present.Site

	// Shop returns the shop with an ID, or the shop at the root if id is "". It returns ErrNoShop if there is no
	// such shop. If Shop is nil, the only shop is that of Client.
	Shop func(ctx context.Context, id string) (Shop, error)

	// Watch makes the service in this process call changed after each change of an invoice until cancel is
	// called. The argument of changed is the new version, or 0 if it is not known. Neither function blocks.
	// If Watch is nil, the pages call WaitInvoice, with one request per invoice that has open pages.
	Watch func(id string, changed func(version int64)) (cancel func())

	// Created receives the identifiers of new invoices, whose pages Prerender renders. If it is nil, Prerender renders
	// none.
	Created <-chan string

	// Docs serves the manual and the documentation of the API, if the service is in this process.
	Docs bool
	// Languages are the languages of the pages; nil means all.
	Languages *locale.Languages
	// ShopSettings returns the present settings of a shop, or those of the shop at the root if shopID is "" or
	// unknown. It is called for each page. If it is nil, every shop has Languages, Site.Storefront and Site.Currency.
	ShopSettings func(ctx context.Context, shopID string) ShopSettings

	// PostsPerMinute is the number of forms that one network of callers may send per minute, with a burst
	// of twice that. Zero means 10, and a negative number means no limit. The limit for simulations is
	// three times as high.
	PostsPerMinute int
	// MaxStreams is the largest number of open streams of all invoices. Zero means 12,000. The address
	// blocks around a caller are limited to shares of it, see caller.Blocks. MaxStreamsPerNetwork is the
	// limit of one caller.Network. Zero means 60. A page without a stream polls.
	MaxStreams           int
	MaxStreamsPerNetwork int
	// IPExtractor returns the shopper's address; nil means the socket's.
	IPExtractor echo.IPExtractor
}

// ShopSettings are the settings of the pages of a shop that may change while the program runs.
type ShopSettings struct {
	Languages  *locale.Languages
	Storefront bool
	Currency   string // code of the fiat currency of the form for an open amount; "" means Site.Currency
}

// Handler serves the pages. It is safe for concurrent use.
type Handler struct {
	config            Config
	echo              *echo.Echo
	pages             http.Handler // echo, compressed
	hub               *live.Hub
	costly            *costlyLimiter
	themes            themeCache
	cached            *rendered.Cache[present.PageKey]
	rendered          atomic.Int64 // number of pages that were rendered for the cache
	onlySpecification atomic.Bool  // set if the service implemented only the specification when it was last asked for products

	renderedManual func() (renderedManual, error) // calls renderManual once
}

// New returns the handler of all paths below the base path, except those of the API.
func New(config Config) *Handler {
	h := &Handler{config: withDefaults(config), echo: echo.New(), cached: rendered.NewCache[present.PageKey]()}
	h.costly = newCostlyLimiter()
	h.hub = live.New(newSource(h), live.Limits{Total: h.config.MaxStreams, PerNetwork: h.config.MaxStreamsPerNetwork}, h.config.Logger)
	h.renderedManual = sync.OnceValues(h.renderManual)
	h.echo.HTTPErrorHandler = h.fail
	h.echo.IPExtractor = h.config.IPExtractor
	h.echo.Use(h.secure, h.recoverPanics(), shopperAddress, h.trimSlash, h.listLanguages, refuseContentCoding, middleware.BodyLimit(maxFormSize), h.sameOrigin())
	h.routes()
	h.pages = compress(h.echo)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id, ok := h.streamID(r); ok {
		h.serveStream(w, r, id)
		return
	}
	h.pages.ServeHTTP(w, r)
}

// Close ends every open stream. It must be called before a server shuts down, which waits for open
// streams: http.Server.RegisterOnShutdown(h.Close).
func (h *Handler) Close() { h.hub.Close() }

// routes registers every page.
func (h *Handler) routes() {
	read := []string{http.MethodGet, http.MethodHead}
	pages := h.echo.Group(h.config.BasePath)

	limited := h.limitPosts(h.config.PostsPerMinute)
	roots := []string{"/"}
	if h.config.BasePath != "" {
		roots = append(roots, "")
	}
	h.shopRoutes(pages, "", limited, roots...)
	if h.config.Shop != nil {
		h.shopRoutes(pages, shopsRoot+":shop", limited, shopsRoot+":shop")
	}
	for _, link := range []string{"", "/:slug"} {
		pages.Match(read, "/pay"+link, h.checkout)
		pages.POST("/pay"+link, h.pay, limited)
		pages.POST("/order/pay"+link, h.pay, limited) // a separate address for the reason in shopRoutes
		pages.Match(read, "/order/pay"+link, h.backToForm)
	}
	pages.Match(read, "/pos", h.terminalSecretMissing)
	pages.Match(read, "/pos/:secret", h.pos)
	pages.POST("/order/pos/:secret", h.charge, limited) // a separate address for the reason in shopRoutes
	pages.Match(read, "/order/pos/:secret", h.backToForm)
	pages.Match(read, "/pos/:secret/:id", h.terminalPayment)
	pages.Match(read, "/pos/:secret/app.webmanifest", h.manifest)
	for _, size := range iconSizes {
		pages.Match(read, fmt.Sprintf("/pos/icon-%d.png", size), h.appIcon(size))
	}
	pages.Match(read, invoicePath, h.payment)
	pages.Match(read, "/invoice/:id/proof.txt", h.proof)
	pages.Match(read, "/invoice/:id/receipt.pdf", h.receipt)
	limitInvoiceForms := h.limitPosts(h.config.PostsPerMinute)
	pages.POST("/invoice/:id/quote", h.requote, limitInvoiceForms)
	pages.POST("/invoice/:id/request", h.requestPayment, limitInvoiceForms)
	pages.POST("/pos/:secret/:id/request", h.requestPayment, limitInvoiceForms)
	pages.POST("/invoice/:id/refund", h.refund, limitInvoiceForms)
	pages.Match(read, "/invoice/:id/quote", h.backToInvoice)
	pages.Match(read, "/invoice/:id/refund", h.backToInvoice)
	pages.Match(read, "/invoice/:id/request", h.backToInvoice)
	for _, path := range []string{"/invoice", "/i/:id", "/i/:id/:method", "/invoices/:id"} { // shop plug-ins make such addresses
		pages.Match(read, path, h.backToInvoice)
	}
	pages.POST("/invoice/:id/simulate", h.simulate, h.limitPosts(simulationsPerPost*h.config.PostsPerMinute))
	pages.Match(read, "/embed", h.embed)
	pages.Match(read, "/embed.js", embedScript("embed.js"))
	pages.Match(read, "/modal/btcpay.js", embedScript("modal.js"))
	if h.config.Docs {
		pages.Match(read, "/docs", h.manualOverview)
		pages.Match(read, "/docs/api", h.apiReference)
		pages.Match(read, "/docs/search", h.manualSearch)
		pages.Match(read, "/docs/:slug", h.manualPage)
		pages.Match(read, "/openapi.yaml", h.openapiYAML)
		pages.Match(read, "/openapi.json", h.openapiJSON)
	}
	pages.Match(read, "/static/*", h.asset)
	pages.Match(read, "/look/:hash/:file", h.themeAsset)
	pages.Match(read, "/favicon.ico", h.icon)
	pages.Match(read, "/robots.txt", h.robots)
}

// shopRoutes registers the pages of a shop below a root. firstPaths are the paths of the shop's first page.
func (h *Handler) shopRoutes(pages *echo.Group, root string, limited echo.MiddlewareFunc, firstPaths ...string) {
	read := func(path string, handle echo.HandlerFunc) {
		pages.Match([]string{http.MethodGet, http.MethodHead}, path, handle, h.setStorefront)
	}
	send := func(path string, handle echo.HandlerFunc) { pages.POST(path, handle, limited, h.setStorefront) }
	for _, path := range firstPaths {
		read(path, h.firstPage)
		send(path, h.ifStorefront(h.order, echo.ErrMethodNotAllowed))
	}
	// Forms post to an address below /order. A POST to the address of the page would make the
	// browser remove the page, with its token, from its cache.
	send("/order"+root, h.ifStorefront(h.order, echo.ErrNotFound))
	read("/order"+root, h.ifStorefront(h.backToForm, echo.ErrNotFound))
	read(root+"/shop", h.shop)
	read(root+"/shop/:slug", h.product)
	send("/order"+root+"/shop/:slug", h.orderProduct)
	read("/order"+root+"/shop/:slug", h.backToForm)
}

func withDefaults(c Config) Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Currency == "" {
		c.Currency = "EUR"
	}
	if c.Languages == nil {
		c.Languages = locale.All()
	}
	if c.ShopSettings == nil {
		fixed := ShopSettings{c.Languages, c.Storefront, c.Currency}
		c.ShopSettings = func(context.Context, string) ShopSettings { return fixed }
	}
	if c.PostsPerMinute == 0 {
		c.PostsPerMinute = 10
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 12_000
	}
	if c.MaxStreamsPerNetwork == 0 {
		c.MaxStreamsPerNetwork = 60
	}
	if c.IPExtractor == nil {
		c.IPExtractor = echo.ExtractIPDirect()
	}
	return c
}
