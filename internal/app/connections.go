package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/clock"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// connectionStorage reads the connections to Lightning wallets and nodes. See storage.Connections.
type connectionStorage interface {
	Connections(ctx context.Context) ([]merchant.Wallet, error)
}

// connections are the Lightning networks of live invoices, one for each connection in storage whose payment requests are
// made or looked up. It is safe for concurrent use.
type connections struct {
	storage  connectionStorage
	open     func(w merchant.Wallet) (networks.Network, error)
	currency string // prefix of the payment requests after "ln"
	now      func() time.Time
	log      *slog.Logger

	mu  sync.RWMutex
	all map[chain.ID]connection
}

var _ invoice.Connections = (*connections)(nil)

// connection is a wallet of a merchant with its network.
type connection struct {
	merchantID string
	network    networks.Network // without a Network if the text of the connection cannot be read
}

// isOpen reports whether the connection has a network.
func (c connection) isOpen() bool { return c.network.Network != nil }

// newConnections returns connections without a network.
func newConnections(c config.Config, s connectionStorage, now func() time.Time, log *slog.Logger) *connections {
	return &connections{storage: s, currency: networks.Currency(c), now: now, log: log, all: map[chain.ID]connection{}, open: func(w merchant.Wallet) (networks.Network, error) {
		parsed, err := lightning.ParseConnection(w.Secret)
		if err != nil {
			return networks.Network{}, err
		}
		return networks.Lightning(c, w.ID, parsed, now, log)
	}}
}

// Requester implements invoice.Connections.
func (c *connections) Requester(id chain.ID) (chain.Requester, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := c.all[id].network.Network.(chain.Requester)
	return r, ok
}

// Asset implements invoice.Connections.
func (c *connections) Asset() chain.Asset { return chain.LightningAsset("") }

// ReadAddress implements invoice.Connections.
func (c *connections) ReadAddress(_, text string) (chain.Destination, error) {
	return chain.ReadBitcoin(c.currency, text)
}

// Networks implements invoice.Connections.
func (c *connections) Networks() []chain.ID {
	ids := []chain.ID{}
	for _, n := range c.opened() {
		ids = append(ids, n.ID())
	}
	return ids
}

// opened returns the networks, in the order of their IDs.
func (c *connections) opened() (found []networks.Network) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, id := range slices.Sorted(maps.Keys(c.all)) {
		if c.all[id].isOpen() {
			found = append(found, c.all[id].network)
		}
	}
	return found
}

// owner returns the ID of the merchant whose connection has a network; "" for another network.
func (c *connections) owner(id chain.ID) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.all[id].merchantID
}

// maxFormerAge is the age from which a former connection is dropped although its provider never answered. An invoice may get its
// last request for invoice.WatchPeriod, and a request is looked up for a month.
const maxFormerAge = invoice.WatchPeriod + 32*24*time.Hour

// isOver reports whether nothing is looked up at a former connection any more.
func (c *connections) isOver(w merchant.Wallet) bool {
	return !w.ArchivedAt.IsZero() && c.now().Sub(w.ArchivedAt) > maxFormerAge
}

// update reads the connections in storage. It makes networks for new ones, and drops those that are not in storage any
// more. A connection that cannot be read is logged and left out.
func (c *connections) update(ctx context.Context) error {
	stored, err := c.storage.Connections(ctx)
	if err != nil && !errors.Is(err, merchant.ErrTampered) {
		return err
	}
	if err != nil {
		c.log.ErrorContext(ctx, "connections left out", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[chain.ID]connection, len(stored))
	for _, w := range stored {
		if c.isOver(w) {
			continue
		}
		id := chain.LightningID(w.ID)
		found, known := c.all[id]
		if !known {
			found = connection{merchantID: w.MerchantID}
			if found.network, err = c.open(w); err != nil {
				c.log.ErrorContext(ctx, "connection left out", "wallet", w.ID, "error", err)
			}
		}
		all[id] = found
	}
	c.all = all
	return nil
}

// connectionsInterval is the interval at which the connections in storage are read.
const connectionsInterval = time.Second

// follow keeps the connections up to date until the context ends. It calls watch for each network, whose context ends
// when the connection is not in storage any more. It returns when all calls have returned.
func (c *connections) follow(ctx context.Context, watch func(context.Context, networks.Network)) error {
	var group sync.WaitGroup
	defer group.Wait()
	watched := map[chain.ID]context.CancelFunc{}
	for {
		if err := c.update(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "connections not read", "error", err)
		}
		opened := map[chain.ID]networks.Network{}
		for _, n := range c.opened() {
			opened[n.ID()] = n
		}
		for id, end := range watched {
			if _, still := opened[id]; !still {
				c.log.InfoContext(ctx, "connection ended", "network", id)
				end()
				delete(watched, id)
			}
		}
		for id, n := range opened {
			if watched[id] != nil {
				continue
			}
			watching, end := context.WithCancel(ctx)
			watched[id] = end
			group.Go(func() { watch(watching, n) })
		}
		if !clock.Sleep(ctx, connectionsInterval) {
			for _, end := range watched {
				end()
			}
			return nil
		}
	}
}

// accessInterval is the interval at which a provider that does not answer is asked again for what its connection allows.
const accessInterval = time.Minute

// warnSpending logs a warning if a connection may spend from the merchant's wallet. It asks the provider until it answers
// or the context ends.
func warnSpending(ctx context.Context, n networks.Network, log *slog.Logger) {
	for n.Access != nil {
		access, err := n.Access(ctx)
		switch {
		case err == nil && access.Spending != "":
			log.WarnContext(ctx, "a connection may spend from the wallet: replace it by a receive-only connection", "network", n.ID(), "permission", access.Spending)
			return
		case err == nil, !clock.Sleep(ctx, accessInterval):
			return
		}
	}
}

// watchConnection watches the network of a connection until the context ends.
func (d *domain) watchConnection(ctx context.Context, n networks.Network, log *slog.Logger) {
	scanner, ok := n.Network.(chain.Scanner)
	if !ok {
		return
	}
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { warnSpending(ctx, n, log) })
	group.Go(func() {
		if err := n.KeepRunning(ctx, log); err != nil {
			log.ErrorContext(ctx, "notifications of a connection ended", "network", n.ID(), "error", err)
		}
	})
	if err := d.watcher(scanner, log).Run(ctx); err != nil {
		log.ErrorContext(ctx, "watching a connection ended", "network", n.ID(), "error", err)
	}
}
