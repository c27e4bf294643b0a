// Package app assembles the program: storage, networks, the service, the API, the pages, and the
// loops in the background.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/caller"
	"chequer/internal/client"
	"chequer/internal/client/foreign"
	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/loglimit"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/prices"
	"chequer/internal/token"
	"chequer/web"
)

// Options select the parts of the program that run, and its dependencies.
type Options struct {
	// Demo runs a demo shop: the storefront is open, its invoices are test invoices, and rates are
	// fixed examples.
	Demo bool
	// Upgrade lets OpenCore upgrade the schema of a database that an older release created. A
	// server always sets it.
	Upgrade bool
	// Existing makes OpenCore fail if there is no database, instead of creating it.
	Existing bool
	// FetchRates makes Core.Invoices query the sources of rates once. Without it the service has no rates of the market.
	FetchRates bool
	Log        *slog.Logger
	// Now returns the time; nil is the machine's clock. Tests use it to let days pass.
	Now func() time.Time
}

// clock returns the program's clock. It has the precision with which storage keeps times, so that a
// decision is the same before and after it is saved.
func (o Options) clock() func() time.Time {
	if o.Now == nil {
		return clock.Now
	}
	return func() time.Time { return clock.Precise(o.Now()) }
}

// App is a running server.
type App struct {
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	loops    []func(context.Context) error
	close    []func() error
	demoKey  merchant.Key
	deskLink func(context.Context) (DeskLink, error) // nil for a storefront

	onShutdown []func()      // end the event streams
	stopping   chan struct{} // closed when the server is about to stop
}

// New opens storage and the port. No loop runs before Run; Close closes what New opened.
func New(ctx context.Context, c config.Config, o Options) (*App, error) {
	o.Upgrade, o.Log = true, loglimit.New(o.Log, time.Now)
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

// assemble builds the domain, its edges and the loops, and opens the ports.
func (a *App) assemble(ctx context.Context, c config.Config, o Options, core *Core) error {
	d, err := newDomain(ctx, c, o, core)
	if err != nil {
		return err
	}
	a.close = append(a.close, func() error {
		d.invoices.Close()
		return nil
	})
	a.demoKey = d.demoKey
	a.deskLink = core.DeskLink
	handler, err := a.edges(c, o, d)
	if err != nil {
		return err
	}
	a.loops = append(a.loops, d.loops(c, o.Log)...)
	if err := a.listenMetrics(ctx, c, d.metrics); err != nil {
		return err
	}
	if err := a.listen(ctx, c, handler); err != nil || o.Demo {
		return err
	}
	return d.logStart(ctx, c, o.Log)
}

// NewStorefront returns a server with only storefront and payment page, which call a service at
// another address.
func NewStorefront(ctx context.Context, c config.Config, serviceURL string, o Options) (*App, error) {
	o.Log = loglimit.New(o.Log, time.Now)
	a := &App{log: o.Log, stopping: make(chan struct{})}
	name := c.ShopName
	if name == "" {
		name = "Shop"
	}
	languages, err := configuredLanguages(c)
	if err != nil {
		return nil, err
	}
	current := func(context.Context, string) web.ShopSettings {
		return web.ShopSettings{Languages: languages, Storefront: true}
	}
	cl, err := foreign.New(client.Config{
		BaseURL: serviceURL, Key: c.APIKey, Secret: c.APISecret, Now: o.clock(), NewNonce: func() string { return token.New(32) },
	})
	if err != nil {
		return nil, err
	}
	pages, err := a.pages(c, o, localService{}, current, name, cl)
	if err != nil {
		return nil, err
	}
	unsaved := func(context.Context, netip.Addr) error { return nil } // there is no database
	if err := a.listen(ctx, c, caller.DetectUntrusted(pages, c.Proxies(), unsaved, o.Log)); err != nil {
		return nil, err
	}
	return a, nil
}

// Addr returns the address on which the server listens.
func (a *App) Addr() string { return a.listener.Addr().String() }

// DemoKey returns the test key of the demo shop.
func (a *App) DemoKey() merchant.Key { return a.demoKey }

// DeskLink returns a new link that creates the first account of the desk. It returns account.ErrSetUp if
// there is an account, and account.ErrInsecure without https.
func (a *App) DeskLink(ctx context.Context) (DeskLink, error) { return a.deskLink(ctx) }

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
	var errs []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for i := len(a.close) - 1; i >= 0; i-- {
		errs = append(errs, a.close[i]())
	}
	return errors.Join(errs...)
}

// Check returns the faults of the settings of currencies, rate sources and networks, which only the packages
// that use these settings can find.
func Check(c config.Config) error {
	log := slog.New(slog.DiscardHandler)
	_, currencies := prices.Fiats(c)
	_, _, rates := prices.New(c, false, clock.Now, log)
	_, chains := networks.New(c, nil, clock.Now, log)
	return errors.Join(currencies, rates, chains)
}
