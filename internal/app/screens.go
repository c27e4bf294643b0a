package app

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"chequer/internal/caller"
	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/config"
	"chequer/internal/demo"
	"chequer/internal/keys"
	"chequer/internal/locale"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/readiness"
	"chequer/internal/report"
	"chequer/internal/sweep"
	"chequer/web"
	"chequer/web/desk"
	"chequer/web/desk/changes"
	"chequer/web/desk/health"
	"chequer/web/desk/sell"
	"chequer/web/desk/sweeps"
	"chequer/web/desk/visit"
	"chequer/web/desk/wallets"
)

// desk returns the handler of the merchant's desk, whose pages learn of changes by follow. Its words are in English only.
func (d *domain) desk(c config.Config, o Options, ready readiness.Config, current func(ctx context.Context, shopID string) web.ShopSettings, follow *changes.Hub) http.Handler {
	return desk.New(desk.Config{
		Site: visit.Site{
			Accounts: d.Desk, Merchants: d.Merchants, Themes: d.Themes, Invoices: d.invoices, PaymentSettings: d.Settings, PluginDays: int(c.PersonalData),
			Changes: follow, Casework: d.Casework,
			IsDemo:   func(ctx context.Context) (bool, error) { return demo.IsDemo(ctx, d.Storage) },
			BasePath: c.BasePath(), BaseURL: c.BaseURL, RootShop: d.shop.ID, Words: locale.All().Default(), IPExtractor: caller.Extractor(c.Proxies()), Now: d.Now, Log: o.Log,
		},
		NamedShop: d.namedShop(c),
		Backups:   newBackups(c, d.Storage, d.Now),
		Audit:     d.Storage, Reports: report.NewService(d.Storage), Endpoints: d.Endpoints, Notifications: d.Notifications,
		Sell: sell.Screens{
			Products: d.Products, Links: d.Links, Terminals: d.Terminals, Reports: report.NewService(d.Storage), Prices: d.Prices,
			Languages:    func(ctx context.Context, shopID string) *locale.Languages { return current(ctx, shopID).Languages },
			AnyAmount:    func(ctx context.Context, shopID string) bool { return current(ctx, shopID).Storefront },
			EmbedOrigins: c.EmbedOrigins(),
		},
		Wallets: wallets.Screens{
			Wallets: d.Wallets, Storage: d.Storage,
			Kind: d.kinds(c),
			Examine: func(ctx context.Context, w merchant.Wallet) (lightning.Access, error) {
				return networks.ExamineWallet(ctx, c, w, d.Now, o.Log)
			},
		},
		Sweeps: sweeps.Screens{Storage: d.Storage, Network: sweep.NewDesk(c, d.Storage, d.Now)},
		Health: &health.Screens{
			Networks: func(ctx context.Context, shopID string) ([]readiness.Network, error) {
				return d.networksOf(ctx, ready, shopID)
			}, Name: d.networkName, Failed: d.Notifications.Failed, Unreadable: d.Storage.Unreadable,
			Examine: func(ctx context.Context, shop merchant.Merchant) ([]health.Finding, error) {
				return d.examine(ctx, c, shop)
			},
		},
	})
}

// namedShop returns the ID of the shop whose name the settings set; "" if none.
func (d *domain) namedShop(c config.Config) string {
	if c.ShopName == "" {
		return ""
	}
	return d.shop.ID
}

// networksOf returns the state of the networks, without the connections of other shops.
func (d *domain) networksOf(ctx context.Context, ready readiness.Config, shopID string) ([]readiness.Network, error) {
	all, err := ready.State(ctx)
	return slices.DeleteFunc(all, func(n readiness.Network) bool {
		owner := d.connections.owner(n.Network)
		return owner != "" && owner != shopID
	}), err
}

// networkName returns the name of a network.
func (d *domain) networkName(id chain.ID) string {
	for _, n := range d.allNetworks() {
		if assets := n.Assets(); n.ID() == id && len(assets) > 0 {
			return assets[0].NetworkName
		}
	}
	return string(id)
}

// examine examines the installation and one shop as chequer doctor does.
func (d *domain) examine(ctx context.Context, c config.Config, shop merchant.Merchant) ([]health.Finding, error) {
	found, err := d.Examine(ctx, c, shop)
	if err != nil {
		return nil, err
	}
	all := make([]health.Finding, len(found))
	for i, f := range found {
		all[i] = health.Finding{Level: health.Level(f.Level), About: f.About, Message: f.Message}
	}
	return all, nil
}

// kinds returns the function that describes the wallets of a kind. The settings do not change while the program
// runs, so each kind is described once.
func (d *domain) kinds(c config.Config) func(keys.Kind) (wallets.Kind, error) {
	described := map[keys.Kind]func() (wallets.Kind, error){}
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH, keys.XMR, chain.CodeLightning} {
		described[kind] = sync.OnceValues(func() (wallets.Kind, error) { return d.kind(c, kind) })
	}
	return func(kind keys.Kind) (wallets.Kind, error) {
		if describe, known := described[kind]; known {
			return describe()
		}
		return wallets.Kind{}, keys.ErrKind
	}
}

// kind describes the wallets of a kind under the settings.
func (d *domain) kind(c config.Config, kind keys.Kind) (wallets.Kind, error) {
	m, err := networks.MethodsOf(c, kind)
	if err != nil {
		return wallets.Kind{}, err
	}
	k := wallets.Kind{Network: networks.KeyNetwork(c, kind), Offered: m.Offered}
	for _, n := range d.networks {
		if n.Wallet() == string(kind) {
			k.Chains = append(k.Chains, n.ID())
		}
	}
	for _, off := range slices.Concat(m.Off, m.More) {
		k.Off = append(k.Off, strings.Join(off.Codes, ", ")+": "+off.Reason)
	}
	return k, nil
}
