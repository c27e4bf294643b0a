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

// database is the file with headers and transactions.
type database struct {
	walletdb.DB
	store *store
}

// open opens the database. It waits while another process uses it. It returns nil if the
// context ends first.
func (c *Client) open(ctx context.Context) (*database, error) {
	if err := os.MkdirAll(c.config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("light client: create its folder: %w", err)
	}
	path := filepath.Join(c.config.Dir, "light.db")
	for {
		db, err := openFile(path)
		switch {
		case ctx.Err() != nil:
			if db != nil {
				_ = db.Close() // nothing was written
			}
			return nil, nil
		case errors.Is(err, bbolt.ErrTimeout):
			if fault := "another process uses the folder " + c.config.Dir; c.setFault(fault) {
				c.config.Log.Warn("light client waits: another process uses its folder", "folder", c.config.Dir)
			}
			continue
		case err != nil:
			return nil, c.dataError(err)
		}
		store, err := openStore(db, c.config.Network.Name)
		if err != nil {
			return nil, errors.Join(c.dataError(err), db.Close())
		}
		return &database{db, store}, nil
	}
}

// setFault sets the reason why the client is not running yet, and reports whether it changed.
func (c *Client) setFault(fault string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.fault != fault
	c.fault = fault
	return changed
}

// openFile opens a file, and waits a second for its lock. It converts the panics of bbolt for
// a malformed file to errors.
func openFile(path string) (db walletdb.DB, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	db, err = walletdb.Create("bdb", path, true, time.Second)
	if err != nil {
		return nil, err // the returned database is invalid, but not nil
	}
	return db, nil
}

// dataError returns the error for unusable data, with the remedy.
func (c *Client) dataError(err error) error {
	return fmt.Errorf("light client: the data in %s cannot be used: %w. "+
		"The folder may be deleted: its headers are then fetched again. It also stores unconfirmed "+
		"payments, which are seen again when they confirm", c.config.Dir, err)
}

// assemble returns the components with the data of the database.
func (c *Client) assemble(ctx context.Context, d *database) (*components, error) {
	pool, err := newPool(c.config.Network.Trust.Announcers, d.store, c.mark, c.config.Now, c.wakeUp)
	if err != nil {
		return nil, c.dataError(err)
	}
	listener := newListener(c.config.Network, c.config.Peers, pool, c.config.Now, func() {
		select {
		case c.tipAnswered <- struct{}{}:
		default:
		}
	})
	if len(c.config.Network.Params.DNSSeeds) > 0 {
		// neutrino stores its own addresses in the folder itself.
		dir := filepath.Join(c.config.Dir, "peers")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		listener.book = newAddressBook(dir, c.config.Network.Params)
	}
	headers, err := c.startHeaders(ctx, d, listener)
	if err != nil {
		return nil, err
	}
	return &components{database: d, headers: headers, listener: listener, pool: pool}, nil
}
