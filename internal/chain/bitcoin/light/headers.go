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
	"chequer/internal/chain/utxo"
	"chequer/internal/format"
)

// Files of neutrino in the folder.
const (
	headerFile = "block_headers.bin"
	filterFile = "reg_filter_headers.bin"
)

// filterBatch is the number of filters that are fetched at once.
const filterBatch = 200

// updateTip reads the tip and the progress of the headers, and asks the peers about a new tip.
func (c *Client) updateTip() error {
	c.tipMu.Lock()
	defer c.tipMu.Unlock()
	stamp, err := c.headers.BestBlock()
	if err != nil {
		return err
	}
	progress := ""
	c.mu.Lock()
	if claimed := c.listener.height(); int64(stamp.Height)+maxBehind < claimed {
		progress = fmt.Sprintf("reading headers: %s of about %s", format.Grouped(int64(stamp.Height)), format.Grouped(claimed))
		if c.refetching {
			progress = "the peers agreed on other filter headers than the stored ones; " + progress
		}
	}
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
	c.tip, c.tipChangedAt = next, c.config.Now()
	c.mu.Unlock()
	c.listener.setTip(next)
	return nil
}

// headersReached returns the sum of the heights of headers and filter headers, which stays the same
// only if neither grows.
func (c *Client) headersReached() uint32 {
	_, headers, err := c.headers.BlockHeaders.ChainTip()
	_, filters, filtersErr := c.headers.RegFilterHeaders.ChainTip()
	if err != nil || filtersErr != nil {
		return 0
	}
	return headers + filters
}

// restartHeaders restarts neutrino, without the bans that it imposed. With drop, it deletes
// the stored filter headers, so that they are fetched again.
func (c *Client) restartHeaders(ctx context.Context, drop bool) error {
	if err := c.headers.Stop(); err != nil {
		return err
	}
	c.componentsMu.Lock() // waits for running calls
	defer c.componentsMu.Unlock()
	if err := deleteBans(c.database); err != nil {
		return c.dataError(err)
	}
	if drop {
		// Neutrino starts with the first block if the file is missing.
		if err := removeFile(filepath.Join(c.config.Dir, filterFile)); err != nil {
			return c.dataError(err)
		}
	}
	headers, err := c.startHeaders(ctx, c.database, c.listener)
	if err != nil {
		return err
	}
	c.headers = headers
	c.mu.Lock()
	defer c.mu.Unlock()
	if drop {
		// The tip is read again: its filter header can differ afterwards.
		c.tip, c.refetching = tip{}, true
	}
	return nil
}

// deleteBans deletes the bans that neutrino imposed: after it has stored a wrong filter header,
// it bans honest peers.
func deleteBans(d *database) error {
	return walletdb.Update(d, func(tx walletdb.ReadWriteTx) error {
		bucket := []byte("ban-store")
		if tx.ReadWriteBucket(bucket) == nil {
			return nil
		}
		return tx.DeleteTopLevelBucket(bucket)
	})
}

// startHeaders starts neutrino, which fetches headers, filters and blocks.
func (c *Client) startHeaders(ctx context.Context, d *database, l *listener) (*neutrino.ChainService, error) {
	headers, err := c.newHeaders(ctx, d, l)
	if err == nil {
		err = checkHeaders(headers)
	}
	if err != nil {
		// neutrino does not sync its header files. After a power failure they may be
		// shorter than in its index, or end with zeroes.
		c.config.Log.Warn("light client deletes its headers and fetches them again", "error", err)
		if err := c.deleteHeaders(d); err != nil {
			return nil, c.dataError(err)
		}
		if headers, err = c.newHeaders(ctx, d, l); err != nil {
			return nil, c.dataError(err)
		}
	}
	return headers, headers.Start(ctx)
}

// checkHeaders returns an error if the last headers are not those of the index: neutrino
// compares only their number.
func checkHeaders(headers *neutrino.ChainService) error {
	last, height, err := headers.BlockHeaders.ChainTip()
	if err != nil {
		return err
	}
	hash := last.BlockHash()
	if known, err := headers.BlockHeaders.HeightFromHash(&hash); err != nil || known != height {
		return fmt.Errorf("last header is not that of block %d", height)
	}
	filter, height, err := headers.RegFilterHeaders.ChainTip()
	if err == nil && *filter == (chainhash.Hash{}) {
		err = fmt.Errorf("filter header of block %d is empty", height)
	}
	return err
}

// deleteHeaders deletes the headers and filters, which can be fetched again.
func (c *Client) deleteHeaders(d *database) error {
	for _, name := range []string{headerFile, filterFile} {
		if err := removeFile(filepath.Join(c.config.Dir, name)); err != nil {
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

// removeFile removes a file that may be missing.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// newHeaders returns a neutrino service with the data in the folder. It requests filter headers
// only while it is connected to peers of as many groups as must serve the same one.
func (c *Client) newHeaders(ctx context.Context, d *database, l *listener) (*neutrino.ChainService, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	gate := newGate(max(c.config.Network.Trust.Filters, 1))
	return neutrino.NewChainService(neutrino.Config{
		DataDir: c.config.Dir, Database: d, ChainParams: *c.config.Network.Params, AddPeers: c.config.Peers,
		Dialer: func(to net.Addr) (net.Conn, error) {
			if l.isContradicted(to) {
				return nil, fmt.Errorf("peer %s served filter headers that others contradict", to)
			}
			conn, err := dialer.DialContext(ctx, to.Network(), to.String())
			if err != nil {
				return nil, err
			}
			return gate.guard(timeoutConn{conn}), nil
		},
		NameResolver: func(host string) ([]net.IP, error) {
			return net.DefaultResolver.LookupIP(ctx, "ip", host)
		},
		// The cache has room for the filters of the blocks that may still be reorganised and
		// of one more batch. Filters are not stored on disk, because neutrino never deletes
		// them there.
		FilterCacheSize: 12 << 20, BlockCacheSize: 16 << 20,
	})
}

// readTip returns a tip with its filter header and work.
func (c *Client) readTip(height int64, hash chainhash.Hash) (tip, error) {
	header, err := c.headers.GetBlockHeader(&hash)
	if err != nil {
		return tip{}, err
	}
	filter, err := c.headers.RegFilterHeaders.FetchHeader(&hash)
	if err != nil {
		return tip{}, err
	}
	work, err := c.work.upTo(height, func(height int64) (*wire.BlockHeader, error) {
		return c.headers.BlockHeaders.FetchHeaderByHeight(uint32(height))
	})
	if err != nil {
		return tip{}, err
	}
	return tip{height: height, hash: hash, parent: header.PrevBlock, filter: *filter, time: header.Timestamp, work: work}, nil
}

func (t tip) header() utxo.Header {
	return utxo.Header{
		Block:  chain.Block{Height: t.height, Hash: t.hash.String(), Time: t.time.UTC()},
		Parent: t.parent.String(),
	}
}

// AtHeight implements utxo.Source.
func (c *Client) AtHeight(ctx context.Context, height int64) (utxo.Header, error) {
	return withComponents(ctx, c, func() (utxo.Header, error) {
		best, err := c.headers.BestBlock()
		if err != nil {
			return utxo.Header{}, err
		}
		if height < 0 || height > int64(best.Height) {
			return utxo.Header{}, utxo.ErrNoBlock
		}
		header, err := c.headers.BlockHeaders.FetchHeaderByHeight(uint32(height))
		if err != nil {
			return utxo.Header{}, fmt.Errorf("header %d: %w", height, err)
		}
		return bitcoin.NewHeader(height, header), nil
	})
}

// MayPay implements utxo.Source.
func (c *Client) MayPay(ctx context.Context, hash string, scripts iter.Seq[string]) (bool, error) {
	id, err := chainhash.NewHashFromStr(hash)
	if err != nil {
		return false, err
	}
	filter, err := withComponents(ctx, c, func() (*gcs.Filter, error) {
		return c.headers.GetCFilter(*id, wire.GCSFilterRegular, neutrino.OptimisticBatch(), neutrino.MaxBatchSize(filterBatch))
	})
	if err != nil {
		return false, fmt.Errorf("filter of block %s: %w", hash, err)
	}
	return matches(filter, id, scripts)
}

// Block implements utxo.Source.
func (c *Client) Block(ctx context.Context, hash string) (utxo.Block, error) {
	id, err := chainhash.NewHashFromStr(hash)
	if err != nil {
		return utxo.Block{}, err
	}
	return withComponents(ctx, c, func() (utxo.Block, error) {
		height, err := c.headers.GetBlockHeight(id)
		if err != nil {
			return utxo.Block{}, errors.Join(utxo.ErrNoBlock, err)
		}
		var message *btcutil.Block
		if message, err = c.headers.GetBlock(*id); err != nil {
			return utxo.Block{}, err
		}
		block, err := bitcoin.NewBlock(int64(height), message.MsgBlock())
		if err == nil {
			c.pool.recordBlock(block.Txs)
		}
		return block, err
	})
}
