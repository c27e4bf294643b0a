// Package light watches Bitcoin without a node of one's own: blocks by their
// filters (BIP 157 and 158), and what is announced between them.
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
	"chequer/internal/chain/bitcoin"
)

// errStopped is what a client that does not run says.
var errStopped = errors.New("the light client is not running")

// errOutvoted means that the stored filter headers are not those of the network.
var errOutvoted = errors.New("the peers agree on other filter headers than the stored ones")

// moment is how long a new tip may wait for the peers' word on it before that is
// an error.
const moment = 3 * time.Second

// Config is what a client needs.
type Config struct {
	Network Network
	// Dir is the folder of its data: headers, and transactions that no block holds.
	Dir string
	// Peers are nodes to connect to first: "host" or "host:port".
	Peers []string
	Log   *slog.Logger
	Now   func() time.Time
}

// Client is a light client. It implements bitcoin.Source, and answers with an
// error while Run does not run.
type Client struct {
	config   Config
	wake     chan struct{}
	answered chan struct{} // a peer told something of the tip

	life sync.RWMutex // held for reading while the parts are used
	*parts
	mark uint64 // of the newest input in an earlier run

	looking  sync.Mutex    // one look at the headers at a time
	stuck    time.Duration // when headers that do not come are asked for anew
	mu       sync.Mutex
	fault    string // why there are no parts
	progress string // of the headers
	tip      tip
	moved    time.Time // when the tip did
	rung     chainhash.Hash
	// refetching is set from when the filter headers were dropped until the new ones
	// are believed.
	refetching bool
}

var _ bitcoin.Source = (*Client)(nil)

// parts are what a client has while it runs.
type parts struct {
	database *database
	headers  *neutrino.ChainService
	listener *listener
	pool     *pool
	ledger   ledger
}

// New is a client that does nothing before Run.
func New(config Config) *Client {
	return &Client{
		config: config, wake: make(chan struct{}, 1), answered: make(chan struct{}, 1),
		stuck: 2 * time.Minute, fault: errStopped.Error(),
	}
}

// Run is connected to the network until the context ends. It waits while another
// process has the folder.
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
		c.setParts(nil) // waits for calls under way
		err = errors.Join(err, p.pool.sweep(), d.Close())
	}()
	if b := p.listener.book; b != nil {
		b.manager.Start()
		defer func() { _ = b.manager.Stop() }() // it never fails
	}
	c.setParts(p)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { p.listener.run(ctx); return nil })
	g.Go(func() error { return c.follow(ctx) })
	return g.Wait()
}

func (c *Client) setParts(p *parts) {
	c.life.Lock()
	defer c.life.Unlock()
	if c.parts != nil {
		_, c.mark = c.pool.scriptsSpent(c.mark)
	}
	c.parts = p
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault = ""; p == nil {
		c.fault, c.progress, c.tip, c.refetching = errStopped.Error(), "", tip{}, false
	}
}

// follow looks at the tip and the peers as they change. It starts neutrino again
// when the headers do not come, and drops the filter headers when the peers agree on
// others.
func (c *Client) follow(ctx context.Context) error {
	wait, pause, dropped := c.stuck, c.stuck, time.Time{}
	for {
		drop, err := c.followHeaders(ctx, wait, dropped.Add(pause))
		if err != nil || ctx.Err() != nil {
			return err
		}
		if drop {
			c.config.Log.Warn("light client fetches its filter headers anew", "error", errOutvoted)
			if !dropped.IsZero() {
				pause = min(2*pause, time.Hour)
			}
			dropped = time.Now()
		} else {
			c.config.Log.Warn("light client asks for headers anew", "since", wait)
			wait = min(2*wait, time.Hour)
		}
		if err := c.renew(ctx, drop); err != nil {
			return err
		}
	}
}

// followHeaders returns drop when the peers agree on other filter headers than the
// stored ones, but not before a time. It returns false without an error when there
// are peers and yet nothing that may be believed for a while: neutrino waits for
// ever for a peer that left as it was about to be asked.
func (c *Client) followHeaders(ctx context.Context, patience time.Duration, dropAfter time.Time) (drop bool, err error) {
	blocks, err := (&neutrino.RescanChainSource{ChainService: c.headers}).Subscribe(0)
	if err != nil {
		return false, err
	}
	defer blocks.Cancel()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	height, moved := uint32(0), time.Now()
	for {
		if err := c.look(); err != nil {
			c.config.Log.Warn("light client cannot read its headers", "error", err)
		}
		c.ring()
		select {
		case <-ctx.Done():
			return false, nil
		case <-blocks.Notifications:
		case <-c.answered:
		case <-second.C:
			c.listener.tick()
			if err := c.pool.sweep(); err != nil {
				c.config.Log.Warn("light client cannot keep what it saw", "error", err)
			}
			if c.listener.outvoted() && time.Now().After(dropAfter) {
				return true, nil
			}
			_, peers := c.listener.witnesses()
			reached := c.reached()
			if reached != height || peers == 0 || c.verdict() == nil {
				height, moved = reached, time.Now()
			}
			if time.Since(moved) > patience {
				return false, nil
			}
		}
	}
}

// ring wakes who scans when a new tip may be believed.
func (c *Client) ring() {
	if c.verdict() != nil {
		return
	}
	c.mu.Lock()
	fresh := c.rung != c.tip.hash
	c.rung = c.tip.hash
	c.refetching = false
	c.mu.Unlock()
	if fresh {
		c.wakeUp()
	}
}

func (c *Client) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// verdict tells why the tip may not be believed, from memory; nil when it may.
func (c *Client) verdict() error {
	c.mu.Lock()
	tip, progress := c.tip, c.progress
	c.mu.Unlock()
	if progress != "" {
		return errors.New(progress)
	}
	witnesses, _ := c.listener.witnesses()
	return c.config.Network.Trust.judge(tip, witnesses, c.config.Now())
}

// use lets f use the parts while they are there, in a goroutine of its own that
// is left behind when the context ends first.
func use[T any](ctx context.Context, c *Client, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		c.life.RLock()
		defer c.life.RUnlock()
		if c.parts == nil {
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
		var none T
		return none, ctx.Err()
	}
}

// Best implements bitcoin.Source.
func (c *Client) Best(ctx context.Context) (bitcoin.Header, error) {
	return use(ctx, c, func() (bitcoin.Header, error) {
		for {
			if err := c.look(); err != nil {
				return bitcoin.Header{}, err
			}
			err := c.verdict()
			c.mu.Lock()
			tip, left, behind := c.tip, moment-c.config.Now().Sub(c.moved), c.progress != ""
			c.mu.Unlock()
			if err == nil {
				return tip.header(), nil
			}
			if behind || left <= 0 || !sleep(ctx, min(left, 50*time.Millisecond)) {
				return bitcoin.Header{}, err
			}
		}
	})
}

// Waiting implements bitcoin.Source.
func (c *Client) Waiting(ctx context.Context, watched chain.Watched) (bitcoin.Waiting, error) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.parts == nil {
		return bitcoin.Waiting{}, errStopped
	}
	w := bitcoin.Waiting{Coverage: chain.Partial, Since: c.listener.view()}
	w.Txs, w.Conflicts = c.pool.waiting(watched)
	return w, nil
}

// Seen implements bitcoin.Source.
func (c *Client) Seen(tx string) time.Time {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.parts == nil {
		return time.Time{}
	}
	return c.pool.seen(tx)
}

// Inputs implements bitcoin.Source.
func (c *Client) Inputs(mark uint64) (iter.Seq[string], uint64) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.parts == nil {
		return func(func(string) bool) {}, mark
	}
	return c.pool.scriptsSpent(mark)
}

// Pending implements bitcoin.Source.
func (c *Client) Pending(outpoint string) bool {
	c.life.RLock()
	defer c.life.RUnlock()
	return c.parts != nil && c.pool.pending(outpoint)
}

// Buried implements bitcoin.Source.
func (c *Client) Buried(txs []string) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.parts != nil {
		c.pool.buried(txs)
	}
}

// Wake implements bitcoin.Source.
func (c *Client) Wake() <-chan struct{} { return c.wake }

// Health implements bitcoin.Source.
func (c *Client) Health() chain.Health {
	c.life.RLock()
	defer c.life.RUnlock()
	c.mu.Lock()
	h := chain.Health{Source: "light client", Height: c.tip.height, Progress: c.progress, Fault: c.fault}
	c.mu.Unlock()
	if c.parts == nil {
		return h
	}
	_, h.Peers = c.listener.witnesses()
	if err := c.verdict(); err != nil && h.Progress == "" {
		h.Fault = err.Error()
	}
	return h
}
