package light

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/btcsuite/btcwallet/walletdb"
	_ "github.com/btcsuite/btcwallet/walletdb/bdb" // registers itself
	"go.etcd.io/bbolt"
)

// database is the file in the folder that headers and transactions are kept in.
type database struct {
	walletdb.DB
	store *store
}

// open opens the database. It waits while another process has it; nil when the
// context ended before.
func (c *Client) open(ctx context.Context) (*database, error) {
	if err := os.MkdirAll(c.config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("light client: make its folder: %w", err)
	}
	path := filepath.Join(c.config.Dir, "light.db")
	for {
		db, err := openFile(path)
		switch {
		case ctx.Err() != nil:
			if db != nil {
				_ = db.Close() // the first error counts
			}
			return nil, nil
		case errors.Is(err, bbolt.ErrTimeout):
			if fault := "another process has the folder " + c.config.Dir; c.waits(fault) {
				c.config.Log.Warn("light client waits: another process has its folder", "folder", c.config.Dir)
			}
			continue
		case err != nil:
			return nil, c.unreadable(err)
		}
		store, err := openStore(db, c.config.Network.Name)
		if err != nil {
			return nil, errors.Join(c.unreadable(err), db.Close())
		}
		return &database{db, store}, nil
	}
}

// waits notes why the client does not run yet, and tells whether that is news.
func (c *Client) waits(fault string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.fault != fault
	c.fault = fault
	return news
}

// openFile opens a file, and waits a second for its lock. What bbolt cannot read
// it may panic at.
func openFile(path string) (db walletdb.DB, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	db, err = walletdb.Create("bdb", path, true, time.Second)
	if err != nil {
		return nil, err // what comes with it is no database, and not nil either
	}
	return db, nil
}

// unreadable says what to do about data that cannot be read.
func (c *Client) unreadable(err error) error {
	return fmt.Errorf("light client: the data in %s cannot be used: %w. "+
		"The folder may be deleted: its headers are fetched again. Payments that no block holds yet "+
		"are remembered there too, and are seen again when they confirm", c.config.Dir, err)
}

// assemble makes the parts from the database.
func (c *Client) assemble(ctx context.Context, d *database) (*parts, error) {
	pool, err := newPool(c.config.Network.Trust.Announcers, d.store, c.mark, c.config.Now, c.wakeUp)
	if err != nil {
		return nil, c.unreadable(err)
	}
	listener := newListener(c.config.Network, c.config.Peers, pool, c.config.Now, func() {
		select {
		case c.answered <- struct{}{}:
		default:
		}
	})
	if len(c.config.Network.Params.DNSSeeds) > 0 {
		// neutrino keeps a book of its own in the folder.
		dir := filepath.Join(c.config.Dir, "peers")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		listener.book = newBook(dir, c.config.Network.Params)
	}
	headers, err := c.startHeaders(ctx, d, listener)
	if err != nil {
		return nil, err
	}
	return &parts{database: d, headers: headers, listener: listener, pool: pool}, nil
}
