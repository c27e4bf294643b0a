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

// logNetworks logs a warning for each network that is a test network or is not watched.
func logNetworks(log *slog.Logger, all []networks.Network, offered bool) {
	for _, n := range all {
		if n.IsTest() {
			log.Warn("live invoices take coins of a test network, which are worth nothing", "network", n.ID())
		}
		switch {
		case n.Watched():
		case offered:
			log.Warn("network is offered but not watched", "network", n.ID())
		default:
			log.Warn("network is not offered because it is not watched", "network", n.ID(), "setting", "CHEQUER_UNWATCHED")
		}
	}
}

// logMethods logs the payment methods that the live wallets of a merchant have and lack under the
// settings, or the methods of each kind of wallet if there is no wallet.
func (c *Core) logMethods(ctx context.Context, cfg config.Config, merchantID string, log *slog.Logger) error {
	wallets, err := c.Storage.Wallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return err
	}
	var kinds []any
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
		gives, err := networks.MethodsOf(cfg, kind)
		if err != nil {
			return err
		}
		kinds = append(kinds, string(kind), gives.String())
		there := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == string(kind) })
		if there && len(gives.Off) > 0 {
			log.Info("payment methods of the wallet", "wallet", kind, "offered", strings.Join(gives.Offered, ", "), "off", gives.Why())
		}
	}
	if len(wallets) == 0 {
		log.Info("no wallet yet: chequer wallet add adds one", kinds...)
	}
	return nil
}
