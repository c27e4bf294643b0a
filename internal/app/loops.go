package app

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/doctor"
	"chequer/internal/invoice"
	"chequer/internal/networks"
	"chequer/internal/report"
	"chequer/internal/retention"
	"chequer/internal/token"
	"chequer/internal/watcher"
)

// loops returns the loops of a server.
func (d *domain) loops(c config.Config, log *slog.Logger) []func(context.Context) error {
	loops := []func(context.Context) error{
		invoice.NewExpirer(d.invoices, time.Second, log).Run, invoice.NewFollower(d.invoices, log).Run, d.watcher(d.simnet, log).Run,
		d.webhooks(c, log).Run, d.notifications(c, log).Run, d.seller(c, d.invoices, log).Run, doctor.WatchClock(d.Storage, d.Now, log), watchAuditLog(d.Storage, log),
		func(ctx context.Context) error {
			return d.connections.follow(ctx, func(ctx context.Context, n networks.Network) { d.watchConnection(ctx, n, log) })
		},
		report.NewFiller(d.Storage, time.Minute, log).Run,
		retention.New(retention.Config{Storage: d.Storage, Now: d.Now, Every: time.Hour, Pause: 100 * time.Millisecond, PluginDays: int(c.PersonalData), Log: log}).Run,
	}
	if d.updateRates != nil {
		loops = append(loops, d.updateRates)
	}
	for _, n := range d.networks {
		if scanner, ok := n.Network.(chain.Scanner); ok {
			loops = append(loops, d.watch(n, d.watcher(scanner, log), log))
		}
	}
	return loops
}

// watcher returns the watcher of a network.
func (d *domain) watcher(n chain.Scanner, log *slog.Logger) *watcher.Watcher {
	return watcher.New(watcher.Config{
		Network: n, Storage: d.Storage, Observer: d.invoices, Holder: token.New(16),
		Every: time.Second, Now: d.Now, Log: log, Scanned: d.metrics.ScanRecorder(n.ID()),
	})
}

// watch returns a loop that waits for a wallet of a network and then watches the network.
func (d *domain) watch(n networks.Network, w *watcher.Watcher, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		if !d.awaitWallet(ctx, n.Wallet()) {
			return nil
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return w.Run(ctx) })
		group.Go(func() error { return n.KeepRunning(ctx, log) })
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
