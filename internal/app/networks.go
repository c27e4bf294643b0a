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

// live is a network of real money, or of its test coins.
type live struct {
	chain.Network
	// run keeps the source of a watched network going, until the context ends; nil
	// where that needs nothing.
	run func(context.Context) error
	// probe asks the source once how it stands; nil where that needs a running
	// server.
	probe func(context.Context) error
	// details say how the parts of a probed source stand; nil where it has none.
	details func() []Finding
	// setting is what would have the network watched; "" when nothing does yet.
	setting string
}

// wallet is the kind of wallet that the network's destinations come from.
func (l live) wallet() string { return l.Assets()[0].Wallet }

// liveNetworks are the networks that the settings name. Nothing is opened or
// asked before they are run.
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

// family is one network of Bitcoin's family, watched as its settings say.
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

// paramsOf are those of the network that the settings name.
func paramsOf(s config.Chain, known []bitcoin.Params) bitcoin.Params {
	i := slices.IndexFunc(known, func(p bitcoin.Params) bool { return p.Name == s.Network })
	return known[max(i, 0)]
}

// KeyNetwork is the network that the keys of live wallets of a kind are for.
func KeyNetwork(c config.Config, kind keys.Kind) keys.Network {
	switch kind {
	case keys.BTC:
		return paramsOf(c.Bitcoin, bitcoin.Bitcoins).Keys
	case keys.LTC:
		return paramsOf(c.Litecoin, bitcoin.Litecoins).Keys
	}
	return keys.Main
}

// networksOf are what the domain sees of live networks.
func networksOf(all []live) []chain.Network {
	found := make([]chain.Network, len(all))
	for i, l := range all {
		found[i] = l.Network
	}
	return found
}

// watch looks at a network from the moment on that there is a wallet for it.
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

// newWallet is how often it is looked for a first wallet.
const newWallet = time.Second

// awaitWallet waits for a wallet of a kind; false when the context ended.
func (c *Core) awaitWallet(ctx context.Context, kind string) bool {
	tick := time.NewTicker(newWallet)
	defer tick.Stop()
	for {
		if there, err := c.Storage.HasWallet(ctx, kind); err == nil && there {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// tryAgain is how long a source that failed is left alone.
const tryAgain = 30 * time.Second

// keepRunning runs a network's source, and again when it failed: the rest of the
// program goes on meanwhile.
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
		case <-time.After(tryAgain):
		}
	}
}

// mustLookStill returns an error when open invoices wait for money on a network that
// is not watched any more, for its own coin while that may not be read any more, or
// for a token that is not looked for any more.
func (c *Core) mustLookStill(ctx context.Context, all []live) error {
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
	var says []string
	for _, network := range slices.Sorted(maps.Keys(open)) {
		says = append(says, fmt.Sprintf("%s (%s)", network, plural(open[network], "open invoice")))
	}
	for _, network := range slices.Sorted(maps.Keys(coins)) {
		says = append(says, fmt.Sprintf("%s in its own coin (%d open invoices)", network, coins[network]))
	}
	tokens, err := c.openTokens(ctx, all)
	if err != nil {
		return err
	}
	if says = append(says, tokens...); len(says) == 0 {
		return nil
	}
	return errors.New("nobody would look any more for payments on " + strings.Join(says, ", ") +
		": switch them on again until these are paid or expired, or set CHEQUER_UNWATCHED=on to let the clock decide")
}

// openTokens says which tokens open invoices wait for that watched networks do not look
// for any more, such as a token that left the settings.
func (c *Core) openTokens(ctx context.Context, all []live) ([]string, error) {
	var says []string
	for _, l := range all {
		e, isEVM := l.Network.(endpoints)
		if !isEVM {
			continue
		}
		now := e.Looked()
		for _, a := range e.Params().Assets {
			if a.Policy.Balance { // told by the balances
				now = append(now, a.Code)
			}
		}
		open, err := c.Storage.OpenAssets(ctx, l.ID(), now)
		if err != nil {
			return nil, err
		}
		for _, code := range slices.Sorted(maps.Keys(open)) {
			says = append(says, fmt.Sprintf("%s in %s (%s)", l.ID(), code, plural(open[code], "open invoice")))
		}
	}
	return says, nil
}

// tellWatched logs what is watched on worthless coins and what is not watched at
// all, and what follows.
func tellWatched(log *slog.Logger, all []live, offered bool) {
	for _, l := range all {
		if isTrial(l) {
			log.Warn("live invoices take coins of a test network, which are worth nothing", "network", l.ID())
		}
		switch _, watched := l.Network.(chain.Scanner); {
		case watched:
		case offered:
			log.Warn("network is offered, but nobody looks for payments on it", "network", l.ID())
		default:
			log.Warn("network is not offered, as nobody looks for payments on it", "network", l.ID(), "setting", "CHEQUER_UNWATCHED")
		}
	}
}

// isTrial tells whether a network's coins are worth nothing.
func isTrial(l live) bool {
	switch n := l.Network.(type) {
	case interface{ Params() bitcoin.Params }:
		return n.Params().Keys != keys.Main
	case interface{ Params() ethereum.Params }:
		return n.Params().Trial
	}
	return false
}

// shopName is the name of the merchant that is made on an empty database.
func shopName(c config.Config, o Options) string {
	switch {
	case c.ShopName != "":
		return c.ShopName
	case o.Demo:
		return "Demo shop"
	}
	return "Shop"
}

// pageMode is the mode of the invoices that the storefront makes.
func pageMode(o Options) merchant.Mode {
	if o.Demo {
		return merchant.Test
	}
	return merchant.Live
}
