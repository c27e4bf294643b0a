package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
	"chequer/internal/monero"
)

// Source reads Monero for wallets that only have the private view key. It trusts the daemon. It implements utxo.Source.
//
// Every block and every transaction in the pool is scanned once for each wallet: the commitment of an output proves that it pays a
// subaddress of the wallet, whichever that is. Outputs with plain amounts have no commitment: each wallet and each key of the transaction
// gives a subaddress that such an output may pay. So a destination that is added later needs no second reading.
type Source struct {
	client  *Client
	stored  func(context.Context) ([]*monero.Wallet, error)
	now     func() time.Time
	wallets []*monero.Wallet      // those of the current scan, for which blocks and pool were scanned
	heights map[string]int64      // of headers that were returned, by hash
	blocks  map[string]utxo.Block // by hash
	pool    pool

	mu     sync.Mutex
	health chain.Health
}

var _ utxo.Source = (*Source)(nil)

// NewSource returns a new Source. It makes no request. wallets returns the wallets whose payments are shown; it is called at the start of each
// scan, which fails with its error.
func NewSource(client *Client, wallets func(context.Context) ([]*monero.Wallet, error), now func() time.Time) *Source {
	return &Source{
		client: client, stored: wallets, now: now, heights: map[string]int64{}, blocks: map[string]utxo.Block{}, pool: newPool(),
		health: chain.Health{Source: "node at " + client.config.Address.Host(), Mempool: true},
	}
}

// keptBlocks is the number of scanned blocks that are kept: more than a scan covers while nothing is missed.
const keptBlocks = 200

// Wake implements utxo.Source: a daemon is polled and sends no wake-ups.
func (s *Source) Wake() <-chan struct{} { return nil }

// Inputs implements utxo.Source: it returns none, because every block is read.
func (s *Source) Inputs(mark uint64) (iter.Seq[string], uint64) {
	return func(func(string) bool) {}, mark
}

// Pending implements utxo.Source: the pool of a daemon has no transaction that conflicts with a block of the best chain.
func (s *Source) Pending(string) bool { return false }

// MayPay implements utxo.Source: every block is read, and scanned once.
func (s *Source) MayPay(context.Context, string, iter.Seq[string]) (bool, error) { return true, nil }

// Buried implements utxo.Source.
func (s *Source) Buried(txs []string) {
	for _, tx := range txs {
		delete(s.pool.departed, tx)
	}
}

// Seen implements utxo.Source.
func (s *Source) Seen(tx string) time.Time { return s.pool.seen(tx) }

// Health implements utxo.Source.
func (s *Source) Health() chain.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health
}

// note records the error of a request for Health, and a gap in the view of the pool.
func (s *Source) note(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, utxo.ErrNoBlock) || errors.Is(err, chain.ErrChanged) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.pool.interrupt() // the daemon may have restarted
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health.Fault, s.health.Progress = err.Error(), ""
	if behind, isBehind := errors.AsType[*BehindError](err); isBehind {
		s.health.Progress, s.health.Height = behind.Error(), behind.Height
	}
	return err
}

// Best implements utxo.Source. The error is that of Client.Tip if the daemon cannot be trusted.
func (s *Source) Best(ctx context.Context) (utxo.Header, error) {
	if err := s.readWallets(ctx); err != nil {
		return utxo.Header{}, err
	}
	info, tip, err := s.client.Tip(ctx)
	if errors.Is(err, ErrNoBlock) { // the block was replaced between two calls
		return utxo.Header{}, chain.ErrChanged
	}
	if err != nil {
		return utxo.Header{}, s.note(ctx, err)
	}
	if s.pool.restricted = info.Restricted; !s.pool.startedAt.Equal(info.StartedAt) {
		s.pool.startedAt = info.StartedAt
		s.pool.interrupt()
	}
	s.mu.Lock()
	s.health.Height, s.health.Fault, s.health.Progress = tip.Height, "", ""
	s.health.Source = "node at " + s.client.config.Address.Host()
	if info.Restricted {
		s.health.Source += " with restricted RPC, which does not tell when it first saw a payment"
	}
	s.mu.Unlock()
	return s.header(tip), nil
}

// AtHeight implements utxo.Source.
func (s *Source) AtHeight(ctx context.Context, height int64) (utxo.Header, error) {
	headers, err := s.client.Headers(ctx, height, height)
	if errors.Is(err, ErrNoBlock) {
		return utxo.Header{}, utxo.ErrNoBlock
	}
	if err != nil {
		return utxo.Header{}, s.note(ctx, err)
	}
	return s.header(headers[0]), nil
}

// header converts a header, and remembers its height for Block.
func (s *Source) header(h Header) utxo.Header {
	if len(s.heights) > 4*keptBlocks {
		clear(s.heights)
	}
	s.heights[h.Hash] = h.Height
	return utxo.Header{Block: chain.Block{Height: h.Height, Hash: h.Hash, Time: h.Time}, Parent: h.PrevHash}
}

// Block implements utxo.Source.
func (s *Source) Block(ctx context.Context, hash string) (utxo.Block, error) {
	if b, known := s.blocks[hash]; known {
		return b, nil
	}
	height, known := s.heights[hash]
	if !known {
		h, err := s.client.HeaderOf(ctx, hash)
		if errors.Is(err, ErrNoBlock) {
			return utxo.Block{}, chain.ErrChanged
		}
		if err != nil {
			return utxo.Block{}, s.note(ctx, err)
		}
		height = h.Height
	}
	b, err := s.readBlock(ctx, height, hash)
	if err != nil {
		return utxo.Block{}, s.note(ctx, err)
	}
	for old, kept := range s.blocks {
		if len(s.blocks) >= keptBlocks && kept.Height < height-keptBlocks/2 {
			delete(s.blocks, old)
		}
	}
	s.blocks[hash] = b
	return b, nil
}

// readBlock reads a block with its transactions. It returns chain.ErrChanged if the block with the hash left the best chain.
func (s *Source) readBlock(ctx context.Context, height int64, hash string) (utxo.Block, error) {
	b, err := s.client.Block(ctx, height)
	if errors.Is(err, ErrNoBlock) || err == nil && b.Hash != hash {
		return utxo.Block{}, chain.ErrChanged
	}
	if err != nil {
		return utxo.Block{}, err
	}
	read := utxo.Block{Header: s.header(b.Header)}
	reward, err := s.scan(Tx{Hash: b.MinerTxHash, JSON: b.MinerTx, Height: height})
	if err != nil {
		return utxo.Block{}, err
	}
	read.Txs = append(read.Txs, reward)
	for batch := range slices.Chunk(b.TxHashes, maxBatch) {
		txs, err := s.client.Transactions(ctx, batch)
		if err != nil {
			return utxo.Block{}, err
		}
		for _, raw := range txs {
			if raw.InPool || raw.Height != height {
				return utxo.Block{}, chain.ErrChanged
			}
			tx, err := s.scan(raw)
			if err != nil {
				return utxo.Block{}, err
			}
			read.Txs = append(read.Txs, tx)
		}
	}
	return read, nil
}

// readWallets reads the wallets. It forgets all scans if they are others than before.
func (s *Source) readWallets(ctx context.Context) error {
	current, err := s.stored(ctx)
	if err != nil {
		return s.note(ctx, fmt.Errorf("read the view keys: %w", err))
	}
	isSame := slices.EqualFunc(current, s.wallets, func(a, b *monero.Wallet) bool { return a.Address() == b.Address() })
	s.wallets = current
	if isSame {
		return nil
	}
	clear(s.blocks)
	for _, e := range s.pool.entries {
		e.tx = nil
	}
	return nil
}

// scan returns a transaction with the outputs that pay the wallets, or may pay them. All others have no script and no amount.
func (s *Source) scan(raw Tx) (utxo.Tx, error) {
	t, err := monero.ParseTransaction(raw.JSON)
	if err != nil {
		return utxo.Tx{}, fmt.Errorf("transaction %s: %w", raw.Hash, err)
	}
	tx := utxo.Tx{ID: raw.Hash, Coinbase: t.Coinbase, Outputs: make([]utxo.Output, len(t.Outputs))}
	for _, image := range t.KeyImages {
		tx.Spends = append(tx.Spends, image.String())
	}
	anyKey := func(monero.PublicKey) (uint32, bool) { return 0, true }
	for _, w := range s.wallets {
		for _, p := range w.Payments(t, anyKey) {
			if p.Amount == 0 || p.Amount > math.MaxInt64 {
				continue
			}
			script := p.SpendKey.String()
			if out := &tx.Outputs[p.Output]; out.Script != "" {
				out.Others = append(out.Others, script)
				continue
			}
			tx.Outputs[p.Output] = utxo.Output{
				Script: script, Units: int64(p.Amount),
				Unsure: t.Locked() && !t.Coinbase, // a coinbase transaction is always locked, which its maturity covers
			}
			tx.Spends = append(tx.Spends, chain.OneTimeOutpoint(hex.EncodeToString(p.Key[:])))
		}
	}
	return tx, nil
}
