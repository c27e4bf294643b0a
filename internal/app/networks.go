package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/watcher"
)

// live is a network for live invoices, which may be a test network.
type live struct {
	chain.Network
	// run keeps the source of a watched network running until the context ends; nil if the source
	// needs no loop.
	run func(context.Context) error
	// probe queries the source once; nil if a query needs a running server.
	probe func(context.Context) error
	// details returns findings about the parts of a probed source; nil if it has no parts.
	details func() []Finding
	// setting is the name of the setting that makes the network watched; "" if there is none.
	setting string
}

// wallet returns the kind of wallet of the network's destinations.
func (l live) wallet() string { return l.Assets()[0].Wallet }

// liveNetworks returns the networks of the settings. It opens no files and makes no requests.
func liveNetworks(c config.Config, now func() time.Time, log *slog.Logger) ([]live, error) {
	btc, err := family(c, c.Bitcoin, "CHEQUER_BITCOIN_NODE", bitcoin.Bitcoins, now, log)
	if err != nil {
		return nil, err
	}
	ltc, err := family(c, c.Litecoin, "CHEQUER_LITECOIN_NODE", bitcoin.Litecoins, now, log)
	if err != nil {
		return nil, err
	}
	evm, err := evmNetworks(c, now, log)
	if err != nil {
		return nil, err
	}
	return append([]live{btc, ltc}, evm...), nil
}

// family returns a network of Bitcoin's family with the source that its settings select.
func family(c config.Config, s config.Chain, setting string, known []bitcoin.Params, now func() time.Time, log *slog.Logger) (l live, err error) {
	network := bitcoin.New(paramsOf(s, known))
	switch {
	case s.Off():
		l = live{Network: network}
	case s.Node == config.NodeLight:
		l = lightClient(c, network, now, log)
	default:
		l, err = ownNode(s, setting, network, now, log)
	}
	l.setting = setting
	return l, err
}

// paramsOf returns the parameters of the network that the settings name.
func paramsOf(s config.Chain, known []bitcoin.Params) bitcoin.Params {
	i := slices.IndexFunc(known, func(p bitcoin.Params) bool { return p.Name == s.Network })
	return known[max(i, 0)]
}

// KeyNetwork returns the network of the keys of live wallets of a kind.
func KeyNetwork(c config.Config, kind keys.Kind) keys.Network {
	switch kind {
	case keys.BTC:
		return paramsOf(c.Bitcoin, bitcoin.Bitcoins).Keys
	case keys.LTC:
		return paramsOf(c.Litecoin, bitcoin.Litecoins).Keys
	}
	return keys.Main
}

// networksOf returns the networks without their sources, as the domain uses them.
func networksOf(all []live) []chain.Network {
	found := make([]chain.Network, len(all))
	for i, l := range all {
		found[i] = l.Network
	}
	return found
}

// watch returns a loop that waits for a wallet of a network and then watches the network.
func (a *App) watch(core *Core, l live, w *watcher.Watcher) func(context.Context) error {
	return func(ctx context.Context) error {
		if !core.awaitWallet(ctx, l.wallet()) {
			return nil
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return w.Run(ctx) })
		if l.run != nil {
			group.Go(func() error { return keepRunning(ctx, l, a.log) })
		}
		return group.Wait()
	}
}

// walletPollInterval is the interval at which storage is checked for a first wallet.
const walletPollInterval = time.Second

// awaitWallet waits for a wallet of a kind. It returns false if the context ends first.
func (c *Core) awaitWallet(ctx context.Context, kind string) bool {
	tick := time.NewTicker(walletPollInterval)
	defer tick.Stop()
	for {
		if found, err := c.Storage.HasWallet(ctx, kind); err == nil && found {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// restartDelay is the pause after a source has failed.
const restartDelay = 30 * time.Second

// keepRunning runs a network's source and restarts it after a failure, so that the rest of the
// program keeps running.
func keepRunning(ctx context.Context, l live, log *slog.Logger) error {
	for {
		err := l.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		log.Error("source of a network failed", "network", l.ID(), "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartDelay):
		}
	}
}

// checkStillWatched returns an error if open invoices wait for payments that are no longer watched with
// the current settings: on an unwatched network, in a network's own coin whose balances cannot be
// read, or in a token that is no longer configured.
func (c *Core) checkStillWatched(ctx context.Context, all []live) error {
	var watched, tokensOnly []chain.ID
	for _, l := range all {
		if _, ok := l.Network.(chain.Scanner); !ok {
			continue
		}
		watched = append(watched, l.ID())
		if !slices.ContainsFunc(l.Assets(), func(a chain.Asset) bool { return a.Policy.Balance }) {
			tokensOnly = append(tokensOnly, l.ID())
		}
	}
	open, err := c.Storage.OpenWatched(ctx, watched)
	if err != nil {
		return err
	}
	coins, err := c.Storage.OpenBalances(ctx, tokensOnly)
	if err != nil {
		return err
	}
	var findings []string
	for _, network := range slices.Sorted(maps.Keys(open)) {
		findings = append(findings, fmt.Sprintf("%s (%s)", network, plural(open[network], "open invoice")))
	}
	for _, network := range slices.Sorted(maps.Keys(coins)) {
		findings = append(findings, fmt.Sprintf("%s in its own coin (%s)", network, plural(coins[network], "open invoice")))
	}
	tokens, err := c.openTokens(ctx, all)
	if err != nil {
		return err
	}
	if findings = append(findings, tokens...); len(findings) == 0 {
		return nil
	}
	return errors.New("open invoices wait for payments that would no longer be watched: " + strings.Join(findings, ", ") +
		": switch them on again until these are paid or expired, or set CHEQUER_UNWATCHED=on to let the clock decide")
}

// openTokens describes the tokens for which open invoices wait on watched networks but which are no
// longer watched, such as a token that was removed from the settings.
func (c *Core) openTokens(ctx context.Context, all []live) ([]string, error) {
	var findings []string
	for _, l := range all {
		e, isEVM := l.Network.(endpoints)
		if !isEVM {
			continue
		}
		watched := e.Looked()
		for _, a := range e.Params().Assets {
			if a.Policy.Balance { // reported by the check of balances
				watched = append(watched, a.Code)
			}
		}
		open, err := c.Storage.OpenAssets(ctx, l.ID(), watched)
		if err != nil {
			return nil, err
		}
		for _, code := range slices.Sorted(maps.Keys(open)) {
			findings = append(findings, fmt.Sprintf("%s in %s (%s)", l.ID(), code, plural(open[code], "open invoice")))
		}
	}
	return findings, nil
}

// logUnwatched logs a warning for each network that is a test network, or that is not watched although
// the merchant has a wallet for it.
func (c *Core) logUnwatched(ctx context.Context, merchantID string, all []live, offered bool, log *slog.Logger) error {
	wallets, err := c.Storage.Wallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return err
	}
	for _, l := range all {
		if isTrial(l) {
			log.Warn("live invoices take coins of a test network, which are worth nothing", "network", l.ID())
		}
		used := slices.ContainsFunc(wallets, func(w merchant.Wallet) bool { return w.Asset == l.wallet() })
		switch _, watched := l.Network.(chain.Scanner); {
		case watched, !used:
		case offered:
			log.Warn("network is offered but not watched", "network", l.ID())
		default:
			log.Warn("network is not offered because it is not watched", "network", l.ID(), "setting", "CHEQUER_UNWATCHED")
		}
	}
	return nil
}

// isTrial reports whether a network is a test network, whose coins have no value.
func isTrial(l live) bool {
	switch n := l.Network.(type) {
	case interface{ Params() bitcoin.Params }:
		return n.Params().Keys != keys.Main
	case interface{ Params() ethereum.Params }:
		return n.Params().Trial
	}
	return false
}

// shopName returns the name of the merchant that is created in an empty database.
func shopName(c config.Config, o Options) string {
	switch {
	case c.ShopName != "":
		return c.ShopName
	case o.Demo:
		return "Demo shop"
	}
	return "Shop"
}

// pageMode returns the mode of the storefront's invoices.
func pageMode(o Options) merchant.Mode {
	if o.Demo {
		return merchant.Test
	}
	return merchant.Live
}
