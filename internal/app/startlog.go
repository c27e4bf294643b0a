package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// logStart logs the test networks, the networks that are not watched although there is a wallet for them,
// and the payment methods. It runs last, so that an interrupt that follows these lines stops a complete server.
func (d *domain) logStart(ctx context.Context, c config.Config, log *slog.Logger) error {
	shops, err := d.Merchants.Shops(ctx)
	if err != nil {
		return err
	}
	var wallets []merchant.Wallet
	for _, m := range shops {
		all, err := d.Storage.Wallets(ctx, m.ID, merchant.Live)
		if err != nil {
			return err
		}
		wallets = append(wallets, all...)
	}
	for _, n := range d.networks {
		if n.IsTest() {
			log.Warn("live invoices take coins of a test network, which have no value", "network", n.ID())
		}
		switch {
		case n.Watched(), !slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == n.Wallet() }):
		case bool(c.Unwatched):
			log.Warn("network is offered but not watched", "network", n.ID())
		default:
			log.Warn("network is not offered because it is not watched", "network", n.ID(), "setting", "CHEQUER_UNWATCHED")
		}
	}
	if err := d.logStranded(ctx, log); err != nil {
		return err
	}
	return logMethods(c, wallets, log)
}

// logStranded logs the accounts that cannot sign in at the address of the settings.
func (d *domain) logStranded(ctx context.Context, log *slog.Logger) error {
	team, err := d.Desk.Team(ctx)
	if err != nil {
		return err
	}
	for _, a := range d.Desk.Stranded(team) {
		log.Warn("account has no sign-in method for this address: chequer account recover creates a link for a new one", "account", a.ID, "host", d.Desk.Site.Host)
	}
	return nil
}

// logMethods logs the payment methods that the live wallets of all shops have and lack under the
// settings, or the methods of each kind of wallet if there is no wallet.
func logMethods(c config.Config, wallets []merchant.Wallet, log *slog.Logger) error {
	var kinds []any
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH, keys.XMR} {
		methods, err := networks.MethodsOf(c, kind)
		if err != nil {
			return err
		}
		kinds = append(kinds, string(kind), methods.String())
		hasWallet := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == string(kind) })
		if hasWallet && len(methods.Off) > 0 {
			log.Info("payment methods of the wallet", "wallet", kind, "offered", strings.Join(methods.Offered, ", "), "off", methods.OffReasons())
		}
	}
	if len(wallets) == 0 {
		log.Info("no wallet yet: chequer wallet add adds one", kinds...)
	}
	return nil
}
