// Package light watches Bitcoin without the merchant's own node: blocks by their filters
// (BIP 157 and 158), and unconfirmed transactions by the announcements of peers.
package light

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/lightninglabs/neutrino"
	"golang.org/x/sync/errgroup"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
	"chequer/internal/clock"
)

// errStopped is the error of a client that is not running.
var errStopped = errors.New("the light client is not running")

// errOutvoted means that the stored filter headers differ from those of the network.
var errOutvoted = errors.New("the peers agree on other filter headers than the stored ones")

// tipTimeout is the time that Best waits for the peers' answers about a new tip.
const tipTimeout = 3 * time.Second

// Config is the configuration of a Client.
type Config struct {
	Network Network
	// Dir is the folder of its data: headers and unconfirmed transactions.
	Dir string
	// Peers are nodes to connect to first: "host" or "host:port".
	Peers []string
	Log   *slog.Logger
	Now   func() time.Time
}

// Client is a light client. It implements utxo.Source. Its methods return an error while
// Run is not running.
type Client struct {
	config      Config
	wake        chan struct{}
	tipAnswered chan struct{} // a peer sent its tip or a filter header

	componentsMu sync.RWMutex // read-locked while the components are in use
	*components
	mark uint64 // of the newest input in an earlier run

	tipMu          sync.Mutex    // held by updateTip
	headersTimeout time.Duration // time without new headers after which neutrino is restarted
	mu             sync.Mutex
	fault          string // why components is nil
	progress       string // of the headers
	tip            tip
	tipChangedAt   time.Time      // time of the last change of tip
	notified       chainhash.Hash // tip at the last wake-up
	// refetching is true from the deletion of the filter headers until the new ones are
	// trusted.
	refetching bool
}

var _ utxo.Source = (*Client)(nil)

// components are the objects of a running client.
type components struct {
	database *database
	headers  *neutrino.ChainService
	listener *listener
	pool     *pool
	work     chainWork
}

// New returns a new client. It does nothing before Run.
func New(config Config) *Client {
	return &Client{
		config: config, wake: make(chan struct{}, 1), tipAnswered: make(chan struct{}, 1),
		headersTimeout: 2 * time.Minute, fault: errStopped.Error(),
	}
}

// Run keeps the client connected to the network until the context ends. It waits while another
// process uses the folder.
func (c *Client) Run(ctx context.Context) error {
	d, err := c.open(ctx)
	if err == nil && d != nil {
		if err = c.run(ctx, d); err != nil {
			err = fmt.Errorf("light client: %w", err)
		}
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = err.Error()
	return err
}

func (c *Client) run(ctx context.Context, d *database) (err error) {
	p, err := c.assemble(ctx, d)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	defer func() {
		err = errors.Join(err, p.headers.Stop())
		c.setComponents(nil) // waits for running calls
		err = errors.Join(err, p.pool.expire(), d.Close())
	}()
	if b := p.listener.book; b != nil {
		b.manager.Start()
		defer func() { _ = b.manager.Stop() }() // it never returns an error
	}
	c.setComponents(p)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { p.listener.run(ctx); return nil })
	g.Go(func() error { return c.follow(ctx) })
	return g.Wait()
}

func (c *Client) setComponents(p *components) {
	c.componentsMu.Lock()
	defer c.componentsMu.Unlock()
	if c.components != nil {
		_, c.mark = c.pool.scriptsSpent(c.mark)
	}
	c.components = p
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault = ""; p == nil {
		c.fault, c.progress, c.tip, c.refetching = errStopped.Error(), "", tip{}, false
	}
}

// follow follows the tip and the peers. It restarts neutrino if no new headers arrive, and
// deletes the filter headers if the peers agree on others.
func (c *Client) follow(ctx context.Context) error {
	wait, pause, droppedAt := c.headersTimeout, c.headersTimeout, time.Time{}
	for {
		drop, err := c.followHeaders(ctx, wait, droppedAt.Add(pause))
		if err != nil || ctx.Err() != nil {
			return err
		}
		if drop {
			c.config.Log.Warn("light client deletes its filter headers and fetches them again", "error", errOutvoted)
			if !droppedAt.IsZero() {
				pause = min(2*pause, time.Hour)
			}
			droppedAt = time.Now()
		} else {
			c.config.Log.Warn("light client restarts neutrino: no new headers", "for", wait)
			wait = min(2*wait, time.Hour)
		}
		if err := c.restartHeaders(ctx, drop); err != nil {
			return err
		}
	}
}

// followHeaders returns drop if the peers agree on other filter headers than the stored ones,
// but not before dropAfter. It returns false without an error if there are peers, but neither
// progress nor a trusted tip for the timeout: neutrino waits forever for the answer of a peer
// that disconnected just before the request.
func (c *Client) followHeaders(ctx context.Context, timeout time.Duration, dropAfter time.Time) (drop bool, err error) {
	blocks, err := (&neutrino.RescanChainSource{ChainService: c.headers}).Subscribe(0)
	if err != nil {
		return false, err
	}
	defer blocks.Cancel()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	height, progressAt := uint32(0), time.Now()
	for {
		if err := c.updateTip(); err != nil {
			c.config.Log.Warn("light client cannot read its headers", "error", err)
		}
		c.notify()
		select {
		case <-ctx.Done():
			return false, nil
		case <-blocks.Notifications:
		case <-c.tipAnswered:
		case <-ticker.C:
			c.listener.tick()
			if err := c.pool.expire(); err != nil {
				c.config.Log.Warn("light client cannot save its transactions", "error", err)
			}
			if c.listener.outvoted() && time.Now().After(dropAfter) {
				return true, nil
			}
			_, peers := c.listener.tipAnswers()
			reached := c.headersReached()
			if reached != height || peers == 0 || c.checkTip() == nil {
				height, progressAt = reached, time.Now()
			}
			if time.Since(progressAt) > timeout {
				return false, nil
			}
		}
	}
}

// notify sends a wake-up if a new tip is trusted.
func (c *Client) notify() {
	if c.checkTip() != nil {
		return
	}
	c.mu.Lock()
	changed := c.notified != c.tip.hash
	c.notified = c.tip.hash
	c.refetching = false
	c.mu.Unlock()
	if changed {
		c.wakeUp()
	}
}

func (c *Client) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// checkTip returns an error if the tip is not trusted. It makes no request.
func (c *Client) checkTip() error {
	c.mu.Lock()
	tip, progress := c.tip, c.progress
	c.mu.Unlock()
	if progress != "" {
		return errors.New(progress)
	}
	witnesses, _ := c.listener.tipAnswers()
	return c.config.Network.Trust.check(tip, witnesses, c.config.Now())
}

// withComponents calls f in a new goroutine while the components are in use. If the context ends first, withComponents
// returns and the goroutine continues. If the client is not running, it returns errStopped.
func withComponents[T any](ctx context.Context, c *Client, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		c.componentsMu.RLock()
		defer c.componentsMu.RUnlock()
		if c.components == nil {
			done <- result{err: errStopped}
			return
		}
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// Best implements utxo.Source.
func (c *Client) Best(ctx context.Context) (utxo.Header, error) {
	return withComponents(ctx, c, func() (utxo.Header, error) {
		for {
			if err := c.updateTip(); err != nil {
				return utxo.Header{}, err
			}
			err := c.checkTip()
			c.mu.Lock()
			tip, remaining, behind := c.tip, tipTimeout-c.config.Now().Sub(c.tipChangedAt), c.progress != ""
			c.mu.Unlock()
			if err == nil {
				return tip.header(), nil
			}
			if behind || remaining <= 0 || !clock.Sleep(ctx, min(remaining, 50*time.Millisecond)) {
				return utxo.Header{}, err
			}
		}
	})
}

// Waiting implements utxo.Source.
func (c *Client) Waiting(ctx context.Context, watched chain.Watched) (utxo.Waiting, error) {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	if c.components == nil {
		return utxo.Waiting{}, errStopped
	}
	w := utxo.Waiting{Coverage: chain.Partial, Since: c.listener.viewSince()}
	w.Txs, w.Conflicts = c.pool.waiting(watched)
	return w, nil
}

// Seen implements utxo.Source.
func (c *Client) Seen(tx string) time.Time {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	if c.components == nil {
		return time.Time{}
	}
	return c.pool.seen(tx)
}

// Inputs implements utxo.Source.
func (c *Client) Inputs(mark uint64) (iter.Seq[string], uint64) {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	if c.components == nil {
		return func(func(string) bool) {}, mark
	}
	return c.pool.scriptsSpent(mark)
}

// Pending implements utxo.Source.
func (c *Client) Pending(outpoint string) bool {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	return c.components != nil && c.pool.pending(outpoint)
}

// Buried implements utxo.Source.
func (c *Client) Buried(txs []string) {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	if c.components != nil {
		c.pool.forgetBuried(txs)
	}
}

// Wake implements utxo.Source.
func (c *Client) Wake() <-chan struct{} { return c.wake }

// Health implements utxo.Source.
func (c *Client) Health() chain.Health {
	c.componentsMu.RLock()
	defer c.componentsMu.RUnlock()
	c.mu.Lock()
	h := chain.Health{Source: "light client", Height: c.tip.height, Progress: c.progress, Fault: c.fault}
	c.mu.Unlock()
	if c.components == nil {
		return h
	}
	_, h.Peers = c.listener.tipAnswers()
	if err := c.checkTip(); err != nil && h.Progress == "" {
		h.Fault = err.Error()
	}
	return h
}
