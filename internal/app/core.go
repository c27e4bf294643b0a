package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/proof"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/engine"
	"chequer/internal/wire"
)

// Core holds the storage and the merchants' services. The server and the commands share it.
type Core struct {
	Storage   *storage.Storage
	Merchants *merchant.Service
	Wallets   *merchant.Wallets
	Endpoints *merchant.Endpoints
	Links     *merchant.Links
	Products  *merchant.Products
	Terminals *merchant.Terminals
	Themes    *merchant.Themes
	Prices    merchant.Prices
	Proofs    *proof.Keyring
	Now       func() time.Time

	pass string // identifies the holder of the master key to the running server
	// prove returns a code for a challenge that only this installation can compute.
	prove func(challenge string) string
}

// OpenCore opens the storage. It creates the data directory, the master key and the
// database if they do not exist, unless o.Existing is set.
func OpenCore(ctx context.Context, c config.Config, o Options) (*Core, error) {
	more, err := fiats(c)
	if err != nil {
		return nil, err
	}
	prices := merchant.NewPrices(more, c.MaxAmount)
	if o.Existing {
		if err := mustExist(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	store, box, err := openStorage(ctx, c, o)
	if err != nil {
		return nil, err
	}
	clock := o.clock()
	return &Core{
		Storage:   store,
		Merchants: merchant.NewService(store, clock, token),
		Wallets:   merchant.NewWallets(merchant.WalletsConfig{Storage: store, Encode: wire.WalletEvent, Now: clock, Token: token}),
		Endpoints: merchant.NewEndpoints(merchant.EndpointsConfig{
			Storage: store, Check: callbackPolicy(c).Check, EncodeTest: wire.TestEvent, Now: clock, Token: token,
		}),
		Links: merchant.NewLinks(merchant.LinksConfig{
			Storage: store, Prices: prices, Now: clock, Token: token,
		}),
		Products: merchant.NewProducts(merchant.ProductsConfig{
			Storage: store, Prices: prices, Now: clock,
		}),
		Terminals: merchant.NewTerminals(merchant.TerminalsConfig{
			Storage: store, Prices: prices, Now: clock, Token: token,
		}),
		Themes: merchant.NewThemes(store, clock),
		Prices: prices,
		Proofs: proof.NewKeyring(store, clock),
		Now:    clock,
		pass:   box.MAC("pass of commands"),
		prove:  func(challenge string) string { return box.MAC("identity of the server", challenge) },
	}, nil
}

// ErrNoShop means that there is no database.
var ErrNoShop = errors.New("there is no shop")

// mustExist returns ErrNoShop if there is no database. If there is a master key but no database, it
// returns nil, because masterKey returns a better error.
func mustExist(ctx context.Context, c config.Config) error {
	used, err := engine.InUse(ctx, c.DatabaseURL)
	if err != nil || used || exists(filepath.Join(c.DataDir, masterKeyFile)) {
		return err
	}
	return fmt.Errorf("%w in %s: chequer init or chequer serve creates one; CHEQUER_CONFIG or CHEQUER_DATA_DIR says where another is", ErrNoShop, place(c))
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openStorage opens the storage with the master key. It creates both if they do not exist.
func openStorage(ctx context.Context, c config.Config, o Options) (*storage.Storage, *seal.Box, error) {
	release, err := holdDataDir(c)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = release() }() // the file is only locked, so that an error of closing does not matter
	master, made, err := masterKey(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	box, err := seal.New(master)
	if err != nil {
		return nil, nil, err
	}
	s, err := storage.Open(ctx, c.DatabaseURL, box, storage.Options{
		IndexMarks: filepath.Join(c.DataDir, indexMarks), Upgrade: o.Upgrade, Log: o.Log,
	})
	switch {
	case errors.Is(err, engine.ErrOlder):
		return nil, nil, fmt.Errorf("%w: stop every server of that release, then chequer migrate upgrades the database, as chequer serve does", err)
	case err != nil && made:
		return nil, nil, errors.Join(err, removeNewKey(ctx, c))
	}
	return s, box, err
}

// indexMarks is the file that records up to which index addresses may have been issued. Backups do
// not contain it, so that a restored database is recognised by it.
const indexMarks = "indexes.json"

// now returns the time of the machine's clock, in milliseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Close closes the storage.
func (c *Core) Close() error { return c.Storage.Close() }

// ensureTestWallets creates the wallets of a merchant's test invoices once. Their private keys are
// kept, sealed, so that coins that are sent to a test address by mistake are not lost.
func (c *Core) ensureTestWallets(ctx context.Context, m merchant.Merchant) error {
	have, err := c.Storage.Wallets(ctx, m.ID, merchant.Test)
	if err != nil {
		return fmt.Errorf("test wallets: %w", err)
	}
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
		if slices.ContainsFunc(have, func(w merchant.Wallet) bool { return w.Asset == string(kind) }) {
			continue
		}
		secret, key, err := keys.NewTestKey(rand.Reader, kind)
		if err != nil {
			return fmt.Errorf("test wallets: %w", err)
		}
		if err := c.Wallets.AddTest(ctx, m.ID, key, secret); err != nil && !errors.Is(err, merchant.ErrExists) {
			return fmt.Errorf("test wallets: %w", err)
		}
	}
	return nil
}

// Shop returns the server's merchant. It creates the merchant if there is none, and renames it if
// the settings have another name.
func (c *Core) Shop(ctx context.Context, cfg config.Config, o Options) (merchant.Merchant, error) {
	shop, err := c.Merchants.First(ctx, shopName(cfg, o))
	if err != nil || cfg.ShopName == "" || cfg.ShopName == shop.Name {
		return shop, err
	}
	shop.Name = cfg.ShopName
	if err := c.Storage.RenameMerchant(ctx, shop.ID, shop.Name); err != nil {
		return shop, fmt.Errorf("rename shop: %w", err)
	}
	return shop, nil
}
