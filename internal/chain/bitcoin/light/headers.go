package light

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
	"github.com/lightninglabs/neutrino"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
)

// batch is how many filters are fetched at once by who reads block after block.
const batch = 200

// look reads how far the headers have come, and asks the peers about a new tip.
func (c *Client) look() error {
	c.looking.Lock()
	defer c.looking.Unlock()
	stamp, err := c.headers.BestBlock()
	if err != nil {
		return err
	}
	progress := ""
	if !c.headers.IsCurrent() {
		progress = "reading headers: " + thousands(int64(stamp.Height))
		if of := c.listener.height(); of > 0 {
			progress += " of about " + thousands(of)
		}
	}
	c.mu.Lock()
	known := c.tip
	c.progress = progress
	c.mu.Unlock()
	if stamp.Hash == known.hash {
		return nil
	}
	next := tip{height: int64(stamp.Height)}
	// On the way there the work would be added up for nothing.
	if progress == "" {
		if next, err = c.readTip(int64(stamp.Height), stamp.Hash); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.tip, c.moved = next, c.config.Now()
	c.mu.Unlock()
	c.listener.moved(next)
	return nil
}

// readTip reads what is to be known of a tip.
func (c *Client) readTip(height int64, hash chainhash.Hash) (tip, error) {
	header, err := c.headers.GetBlockHeader(&hash)
	if err != nil {
		return tip{}, err
	}
	filter, err := c.headers.RegFilterHeaders.FetchHeader(&hash)
	if err != nil {
		return tip{}, err
	}
	work, err := c.ledger.at(height, func(height int64) (*wire.BlockHeader, error) {
		return c.headers.BlockHeaders.FetchHeaderByHeight(uint32(height))
	})
	if err != nil {
		return tip{}, err
	}
	return tip{height: height, hash: hash, parent: header.PrevBlock, filter: *filter, time: header.Timestamp, work: work}, nil
}

func (t tip) header() bitcoin.Header {
	return bitcoin.Header{
		Block:  chain.Block{Height: t.height, Hash: t.hash.String(), Time: t.time.UTC()},
		Parent: t.parent.String(),
	}
}

// AtHeight implements bitcoin.Source.
func (c *Client) AtHeight(ctx context.Context, height int64) (bitcoin.Header, error) {
	return use(ctx, c, func() (bitcoin.Header, error) {
		best, err := c.headers.BestBlock()
		if err != nil {
			return bitcoin.Header{}, err
		}
		if height < 0 || height > int64(best.Height) {
			return bitcoin.Header{}, bitcoin.ErrNoBlock
		}
		header, err := c.headers.BlockHeaders.FetchHeaderByHeight(uint32(height))
		if err != nil {
			return bitcoin.Header{}, fmt.Errorf("header %d: %w", height, err)
		}
		return bitcoin.NewHeader(height, header), nil
	})
}

// Concerns implements bitcoin.Source.
func (c *Client) Concerns(ctx context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	id, err := chainhash.NewHashFromStr(hash)
	if err != nil {
		return false, err
	}
	filter, err := use(ctx, c, func() (*gcs.Filter, error) {
		return c.headers.GetCFilter(*id, wire.GCSFilterRegular, neutrino.OptimisticBatch(), neutrino.MaxBatchSize(batch))
	})
	if err != nil {
		return false, fmt.Errorf("filter of block %s: %w", hash, err)
	}
	return matches(filter, id, scripts)
}

// Block implements bitcoin.Source.
func (c *Client) Block(ctx context.Context, hash string) (bitcoin.Block, error) {
	id, err := chainhash.NewHashFromStr(hash)
	if err != nil {
		return bitcoin.Block{}, err
	}
	return use(ctx, c, func() (bitcoin.Block, error) {
		height, err := c.headers.GetBlockHeight(id)
		if err != nil {
			return bitcoin.Block{}, errors.Join(bitcoin.ErrNoBlock, err)
		}
		var message *btcutil.Block
		if message, err = c.headers.GetBlock(*id); err != nil {
			return bitcoin.Block{}, err
		}
		block, err := bitcoin.NewBlock(int64(height), message.MsgBlock())
		if err == nil {
			c.pool.block(block.Txs)
		}
		return block, err
	})
}
