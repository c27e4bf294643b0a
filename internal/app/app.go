// Package app assembles the program: storage, networks, the service, the API, the pages, and the
// loops in the background.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/caller"
	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/client"
	"chequer/internal/client/foreign"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/requestlog"
	"chequer/internal/server"
	"chequer/internal/watcher"
	"chequer/web"
	"chequer/web/present"
)

// Options select the parts of the program that run, and its dependencies.
type Options struct {
	// Demo runs a demo shop: the storefront is open, its invoices are test invoices, and rates are
	// fixed examples.
	Demo bool
	// Upgrade lets OpenCore upgrade the schema of a database that an older release created. A
	// server always sets it.
	Upgrade bool
	// Existing makes OpenCore fail if there is no database, instead of creating one.
	Existing bool
	Log      *slog.Logger
	// Now returns the time; nil is the machine's clock. Tests use it to let days pass.
	Now func() time.Time
}

// clock returns the program's clock. It has the precision with which storage keeps times, so that a
// decision is the same before and after it is saved.
func (o Options) clock() func() time.Time {
	if o.Now == nil {
		return now
	}
	return func() time.Time { return o.Now().UTC().Truncate(time.Millisecond) }
}

// App is a running server.
type App struct {
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	loops    []func(context.Context) error
	close    []func() error
	demoKey  merchant.Key

	onShutdown func()
	stopping   chan struct{} // closed when the server is about to stop
}

// New opens storage and the port. No loop runs before Run; Close closes what New opened.
func New(ctx context.Context, c config.Config, o Options) (*App, error) {
	o.Upgrade, o.Log = true, limit(o.Log, time.Now)
	a := &App{log: o.Log, stopping: make(chan struct{})}
	core, err := OpenCore(ctx, c, o)
	if err != nil {
		return nil, err
	}
	a.close = append(a.close, core.Close)
	if err := a.assemble(ctx, c, o, core); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// assemble creates the service, the API, the pages and the loops.
func (a *App) assemble(ctx context.Context, c config.Config, o Options, core *Core) error {
	shop, err := core.Shop(ctx, c, o)
	if err != nil {
		return err
	}
	if err := core.ensureTestWallets(ctx, shop); err != nil {
		return err
	}
	if err := core.Proofs.Ensure(ctx); err != nil {
		return err
	}
	if o.Demo {
		if err := core.mustBeDemo(ctx, shop); err != nil {
			return err
		}
		if a.demoKey, err = core.ensureDemoKey(ctx, shop); err != nil {
			return err
		}
		if err := core.ensureDemoProducts(ctx, shop); err != nil {
			return err
		}
	}
	rates, keepRates, err := rateTable(c, o)
	if err != nil {
		return err
	}
	if keepRates != nil {
		a.loops = append(a.loops, keepRates)
	}
	networks, err := liveNetworks(c, core.Now, o.Log)
	if err != nil {
		return err
	}
	if !o.Demo {
		if err := core.logUnwatched(ctx, shop.ID, networks, bool(c.Unwatched), o.Log); err != nil {
			return err
		}
		if err := core.logMethods(ctx, c, shop.ID, o.Log); err != nil {
			return err
		}
	}
	if !c.Unwatched {
		if err := core.checkStillWatched(ctx, networks); err != nil {
			return err
		}
	}
	sim := simnet.New(core.Storage, core.Now)
	watched := networksOf(networks)
	deciding := core.service(c, watched, sim, rates, o.Log)
	deciding.SinceStart = true // this process scans the networks
	invoices := invoice.NewService(deciding)
	numbers := newMetrics(core, watched, invoices)
	service := server.New(server.Config{
		Invoices: invoices, Merchants: core.Merchants, Endpoints: core.Endpoints, Links: core.Links, Themes: core.Themes, Products: core.Products, Terminals: core.Terminals, Feed: core.Storage,
		Nonces: core.Storage, Simnet: sim, Proofs: core.Proofs,
		BaseURL: c.BaseURL, BasePath: c.BasePath(), Prices: core.Prices, Now: core.Now, Log: o.Log,
		Worthless: c.Worthless(), MaxUnpaid: c.UnpaidInvoices(), OwnScheme: bool(c.OwnScheme), Limits: limits(c), Caller: caller.Extractor(c.Proxies()), Stopping: a.stopping,
	})
	pageKey := core.Merchants.Builtin(shop.ID, pageMode(o), merchant.ScopeCreate, merchant.ScopePage)
	pages, err := a.pages(c, o, true, shop.Name, client.Config{
		BaseURL: c.BaseURL, Key: pageKey.Key, Secret: pageKey.Secret, Transport: client.InProcess(service),
	})
	if err != nil {
		return err
	}
	newWatcher := func(n chain.Scanner) *watcher.Watcher {
		return watcher.New(watcher.Config{
			Network: n, Storage: core.Storage, Observer: invoices, Holder: token(16),
			Every: time.Second, Now: core.Now, Log: o.Log, Scanned: numbers.scanned(n.ID()),
		})
	}
	a.loops = append(a.loops, invoice.NewExpirer(invoices, time.Second, o.Log).Run, newWatcher(sim).Run,
		core.webhooks(c, o.Log).Run, core.seller(c, invoices, o.Log).Run, core.watchClock(o.Log))
	for _, l := range networks {
		if scanner, ok := l.Network.(chain.Scanner); ok {
			a.loops = append(a.loops, a.watch(core, l, newWatcher(scanner)))
		}
	}
	if err := a.listenMetrics(ctx, c, numbers); err != nil {
		return err
	}
	all := edges(c.BasePath(), service, pages, core.ready(watched, invoices, numbers), o.Log)
	return a.listen(ctx, c, noticeProxy(all, c.Proxies(), core.Storage.SaveUntrustedProxy, o.Log))
}

// listenMetrics opens the port for Prometheus, if the settings name one.
func (a *App) listenMetrics(ctx context.Context, c config.Config, m *metrics) error {
	if c.Metrics == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Metrics)
	if err != nil {
		return fmt.Errorf("CHEQUER_METRICS: listen: %w", err)
	}
	a.close = append(a.close, func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	a.loops = append(a.loops, m.serve(l))
	return nil
}

// NewStorefront returns a server with only storefront and payment page, which call a service
// elsewhere.
func NewStorefront(ctx context.Context, c config.Config, serviceURL string, o Options) (*App, error) {
	o.Log = limit(o.Log, time.Now)
	a := &App{log: o.Log, stopping: make(chan struct{})}
	c.Storefront = true
	name := c.ShopName
	if name == "" {
		name = "Shop"
	}
	pages, err := a.pages(c, o, false, name, client.Config{BaseURL: serviceURL, Key: c.APIKey, Secret: c.APISecret})
	if err != nil {
		return nil, err
	}
	unsaved := func(context.Context, netip.Addr) error { return nil } // there is no database
	if err := a.listen(ctx, c, noticeProxy(pages, c.Proxies(), unsaved, o.Log)); err != nil {
		return nil, err
	}
	return a, nil
}

// pages returns the handler of the pages. They call the service through a client; ours reports
// whether that service is part of this process.
func (a *App) pages(c config.Config, o Options, ours bool, shop string, cc client.Config) (http.Handler, error) {
	cc.Now, cc.NewNonce = o.clock(), func() string { return token(32) }
	cl, err := newClient(cc, ours)
	if err != nil {
		return nil, err
	}
	languages, err := locale.All().Offer(c.Language, c.Languages()...)
	if err != nil {
		return nil, fmt.Errorf("CHEQUER_LANGUAGE, CHEQUER_LANGUAGES: %w", err)
	}
	pages := web.New(web.Config{
		Client: cl, Logger: o.Log, Now: o.clock(), Docs: ours, IPExtractor: caller.Extractor(c.Proxies()), Languages: languages,
		Site: present.Site{
			BasePath: c.BasePath(), BaseURL: c.BaseURL, Storefront: bool(c.Storefront) || o.Demo, ShopName: shop, Demo: o.Demo, EmbedOrigins: c.EmbedOrigins(),
		},
	})
	a.onShutdown = pages.Close // open event streams would delay the shutdown
	return pages, nil
}

// newClient returns the pages' client of the service, whose answers are checked unless it is ours.
func newClient(c client.Config, ours bool) (web.Client, error) {
	if ours {
		return client.New(c)
	}
	return foreign.New(c)
}

// limits returns the rate limits of the settings: the limit of unsigned calls is half that of
// signed calls, and at least one per second.
func limits(c config.Config) server.Limits {
	n := c.RequestsPerSecond()
	return server.Limits{PerKey: n, PerAddress: (n + 1) / 2}
}

// listen opens the port and creates the HTTP server.
func (a *App) listen(ctx context.Context, c config.Config, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program: choose another address, as in CHEQUER_LISTEN=127.0.0.1:8081", c.Listen)
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	a.listener = l
	requests := requestlog.Config{Now: time.Now}
	if c.AccessLog {
		requests.Access = a.log
	}
	a.http = newHTTPServer(requestlog.New(requests, h), a.log, func() {
		close(a.stopping)
		a.onShutdown()
	})
	return nil
}

// Addr returns the address on which the server listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Run serves until the context ends, then waits for running requests and returns nil.
func (a *App) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, loop := range a.loops {
		group.Go(func() error { return loop(ctx) })
	}
	group.Go(func() error { return serveHTTP(ctx, a.http, a.listener, a.log) })
	return group.Wait()
}

// Close closes what New opened.
func (a *App) Close() error {
	var faults []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			faults = append(faults, err)
		}
	}
	for i := len(a.close) - 1; i >= 0; i-- {
		faults = append(faults, a.close[i]())
	}
	return errors.Join(faults...)
}
