package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"chequer/internal/caller"
	"chequer/internal/client"
	"chequer/internal/config"
	"chequer/internal/greenfield"
	"chequer/internal/httpapi"
	"chequer/internal/invoicing"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/readiness"
	"chequer/internal/server"
	"chequer/web"
	"chequer/web/desk/changes"
	"chequer/web/present"
)

// edges returns the handler of a server: the API, the pages and /readyz.
func (a *App) edges(c config.Config, o Options, d *domain) (http.Handler, error) {
	created := make(chan string, maxUndrawn)
	creator := invoicing.New(invoicing.Config{
		Invoices: d.invoices, Merchants: d.Merchants, Overrides: d.Settings.Overrides, Worthless: c.Worthless(), Created: created,
	})
	service := server.New(server.Config{
		Invoices: d.invoices, Creator: creator, Merchants: d.Merchants, Endpoints: d.Endpoints, Links: d.Links, Themes: d.Themes, Products: d.Products, Terminals: d.Terminals, Feed: d.Storage,
		Nonces: d.Storage, Simnet: d.simnet, Proofs: d.Proofs, RemovedBefore: d.Storage.RemovedBefore,
		BaseURL: c.BaseURL, BasePath: c.BasePath(), Prices: d.Prices, Now: d.Now, Log: o.Log,
		MaxUnpaid: int(c.MaxUnpaid), RequireNonce: bool(c.RequireNonce), Limits: limits(c), Caller: caller.Extractor(c.Proxies()), Stopping: a.stopping,
	})
	shops := &storefronts{domain: d, service: service, baseURL: c.BaseURL, mode: merchant.Live, clients: map[string]*client.Client{}}
	if o.Demo {
		shops.mode = merchant.Test
	}
	languages, err := configuredLanguages(c)
	if err != nil {
		return nil, err
	}
	current := newPageSettings(d.Settings, d.shop.ID, c.Language, web.ShopSettings{Languages: languages}, d.Now, o.Log).current
	cl, err := shops.client(d.shop.ID)
	if err != nil {
		return nil, err
	}
	pages, err := a.pages(c, o, localService{created: created, watch: d.invoices.Subscribe, shop: shops.find}, current, d.shop.Name, cl)
	if err != nil {
		return nil, err
	}
	a.loops = append(a.loops, pages.Prerender)
	ready := d.readiness()
	follow := changes.New(changes.Config{Position: d.Storage.FeedPosition, Interval: deskInterval, Log: o.Log})
	a.onShutdown = append(a.onShutdown, follow.Close)
	merchants := d.desk(c, o, ready, current, follow)
	all := routes(c.BasePath(), handlers{service, d.plugins(c, o, creator), pages, merchants, readiness.Handler(ready)}, o.Log)
	return caller.DetectUntrusted(all, c.Proxies(), d.Storage.SaveUntrustedProxy, o.Log), nil
}

// plugins returns the handler of the API of shop plug-ins, with half of the rate limits of the other API.
func (d *domain) plugins(c config.Config, o Options, creator *invoicing.Service) http.Handler {
	half := limits(c)
	half.PerKey, half.PerAddress = (half.PerKey+1)/2, (half.PerAddress+1)/2
	https := strings.HasPrefix(c.BaseURL, "https://")
	return greenfield.New(greenfield.Config{
		Invoices: d.invoices, Creator: creator, Merchants: d.Merchants, Data: d.Storage, Endpoints: d.Endpoints, Prices: d.Prices,
		BaseURL: c.BaseURL, BasePath: c.BasePath(),
		Protected: func(r *http.Request) bool { return caller.Protected(r, c.Proxies(), https) },
		Limits:    half, Caller: caller.Extractor(c.Proxies()), Now: d.Now, Log: o.Log,
	})
}

// readiness returns the configuration of the readiness check.
func (d *domain) readiness() readiness.Config {
	return readiness.Config{
		Storage: d.Storage, Networks: d.allChains, Reached: d.invoices.Reached, TipTime: d.metrics.TipTime,
		Identity: d.identity, Now: d.Now,
	}
}

// limits returns the rate limits of the settings: the limit of unsigned calls is half that of
// signed calls, and at least one per second. If the limit is off, both are off.
func limits(c config.Config) httpapi.Limits {
	n := int(c.RateLimit)
	return httpapi.Limits{PerKey: n, PerAddress: (n + 1) / 2}
}

// deskInterval is the interval at which open pages of the desk learn of changes.
const deskInterval = time.Second

// maxUndrawn is the maximum number of new invoices whose QR codes wait to be drawn. The page of any other
// invoice draws them when it is opened.
const maxUndrawn = 64

// localService gives the pages access to a service in the same process. It is the zero value if the pages call
// a service at another address.
type localService struct {
	created <-chan string // new invoices
	watch   func(id string, changed func(version int64)) (cancel func())
	shop    func(ctx context.Context, id string) (web.Shop, error)
}

// pages returns the handler of the pages. They call the service through a client.
func (a *App) pages(c config.Config, o Options, l localService, current func(ctx context.Context, shopID string) web.ShopSettings, shop string, cl web.Client) (*web.Handler, error) {
	pages := web.New(web.Config{
		Client: cl, Logger: o.Log, Now: o.clock(), Created: l.created, Watch: l.watch, Shop: l.shop, Docs: l.watch != nil, IPExtractor: caller.Extractor(c.Proxies()), ShopSettings: current,
		Site: present.Site{
			BasePath: c.BasePath(), BaseURL: c.BaseURL, ShopName: shop, Demo: o.Demo, EmbedOrigins: c.EmbedOrigins(),
		},
	})
	a.onShutdown = append(a.onShutdown, pages.Close) // open event streams would delay the shutdown
	return pages, nil
}

// configuredLanguages returns the languages of the pages under the settings.
func configuredLanguages(c config.Config) (*locale.Languages, error) {
	languages, err := locale.All().Subset(c.Language, c.Languages()...)
	if err != nil {
		return nil, fmt.Errorf("CHEQUER_LANGUAGE, CHEQUER_LANGUAGES: %w", err)
	}
	return languages, nil
}
