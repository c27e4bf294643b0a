package light

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/gcs"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
	"github.com/btcsuite/btcwallet/walletdb"
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
	if of := c.listener.height(); int64(stamp.Height)+near < of {
		progress = fmt.Sprintf("reading headers: %s of about %s", chain.Grouped(int64(stamp.Height)), chain.Grouped(of))
	}
	c.mu.Lock()
	known := c.tip.hash
	c.progress = progress
	c.mu.Unlock()
	if stamp.Hash == known {
		return nil
	}
	next, err := c.readTip(int64(stamp.Height), stamp.Hash)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.tip, c.moved = next, c.config.Now()
	c.mu.Unlock()
	c.listener.moved(next)
	return nil
}

// reached is how far headers and filter headers have come together, to tell when
// neither moves.
func (c *Client) reached() uint32 {
	_, headers, err := c.headers.BlockHeaders.ChainTip()
	_, filters, err2 := c.headers.RegFilterHeaders.ChainTip()
	if err != nil || err2 != nil {
		return 0
	}
	return headers + filters
}

// renew begins anew with reading headers.
func (c *Client) renew(ctx context.Context) error {
	if err := c.headers.Stop(); err != nil {
		return err
	}
	c.life.Lock() // waits for calls under way
	defer c.life.Unlock()
	headers, err := c.startHeaders(ctx, c.database)
	if err == nil {
		c.headers = headers
	}
	return err
}

// startHeaders starts neutrino, which reads headers, filters and blocks.
func (c *Client) startHeaders(ctx context.Context, d *database) (*neutrino.ChainService, error) {
	headers, err := c.newHeaders(ctx, d)
	if err == nil {
		err = sound(headers)
	}
	if err != nil {
		// neutrino does not sync its files of headers, and a power cut may leave them
		// shorter than its index says, or end them with zeroes.
		c.config.Log.Warn("light client fetches its headers anew", "error", err)
		if err := c.forgetHeaders(d); err != nil {
			return nil, c.unreadable(err)
		}
		if headers, err = c.newHeaders(ctx, d); err != nil {
			return nil, c.unreadable(err)
		}
	}
	return headers, headers.Start(ctx)
}

// sound fails when the last headers are not those of the index: neutrino compares
// how many there are only.
func sound(headers *neutrino.ChainService) error {
	last, height, err := headers.BlockHeaders.ChainTip()
	if err != nil {
		return err
	}
	hash := last.BlockHash()
	if known, err := headers.BlockHeaders.HeightFromHash(&hash); err != nil || known != height {
		return fmt.Errorf("the last header is not that of block %d", height)
	}
	filter, height, err := headers.RegFilterHeaders.ChainTip()
	if err == nil && *filter == (chainhash.Hash{}) {
		err = fmt.Errorf("the filter header of block %d is empty", height)
	}
	return err
}

// forgetHeaders drops everything that can be fetched again.
func (c *Client) forgetHeaders(d *database) error {
	for _, name := range []string{"block_headers.bin", "reg_filter_headers.bin"} {
		if err := os.Remove(filepath.Join(c.config.Dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return walletdb.Update(d, func(tx walletdb.ReadWriteTx) error {
		for _, bucket := range []string{"header-index", "filter-store"} {
			if tx.ReadWriteBucket([]byte(bucket)) == nil {
				continue
			}
			if err := tx.DeleteTopLevelBucket([]byte(bucket)); err != nil {
				return err
			}
		}
		return nil
	})
}

// newHeaders makes neutrino from what the folder holds.
func (c *Client) newHeaders(ctx context.Context, d *database) (*neutrino.ChainService, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return neutrino.NewChainService(neutrino.Config{
		DataDir: c.config.Dir, Database: d, ChainParams: *c.config.Network.Params, AddPeers: c.config.Peers,
		Dialer: func(to net.Addr) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, to.Network(), to.String())
			return patientConn{conn}, err
		},
		NameResolver: func(host string) ([]net.IP, error) {
			return net.DefaultResolver.LookupIP(ctx, "ip", host)
		},
		// The filters of the blocks that may still be reorganised, and of a batch more.
		// On disk they would grow for ever.
		FilterCacheSize: 12 << 20, BlockCacheSize: 16 << 20,
	})
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
