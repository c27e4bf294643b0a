// Package demo prepares the demo shop: its key and its products.
package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/merchant"
	"chequer/internal/token"
)

// Storage stores the demo shop.
type Storage interface {
	Merchants(ctx context.Context) ([]merchant.Merchant, error)
	Wallets(ctx context.Context, merchantID string, mode merchant.Mode) ([]merchant.Wallet, error)
	Keys(ctx context.Context, merchantID string) ([]merchant.Key, error)
	CreateKey(ctx context.Context, key merchant.Key) error
}

// Prepare creates the test key and the products of a demo shop unless they exist, and returns the
// key. It returns an error if a shop of the server has a live wallet or a live key.
func Prepare(ctx context.Context, s Storage, service *merchant.Products, merchantID string, now time.Time) (merchant.Key, error) {
	if err := checkDemo(ctx, s); err != nil {
		return merchant.Key{}, err
	}
	key, err := ensureKey(ctx, s, merchantID, now)
	if err != nil {
		return merchant.Key{}, err
	}
	return key, ensureProducts(ctx, service, merchantID)
}

// keyID is the identifier of the demo's key. The demo shows the secret of this key at every start.
const keyID = "key_demo"

// errRealShop means that a database has a real shop. A demo would price its payments with
// example rates.
var errRealShop = errors.New("this database belongs to a real shop, with a wallet or a live key: a demo needs a separate database, see CHEQUER_DATA_DIR and CHEQUER_DATABASE_URL")

// checkDemo returns errRealShop if a shop has a live wallet or a live key.
func checkDemo(ctx context.Context, s Storage) error {
	shops, err := s.Merchants(ctx)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	for _, m := range shops {
		if err := checkNoLiveUse(ctx, s, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// checkNoLiveUse returns errRealShop if a shop can take real payments: it has a live wallet or a live key.
func checkNoLiveUse(ctx context.Context, s Storage, merchantID string) error {
	wallets, err := s.Wallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	list, err := s.Keys(ctx, merchantID)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	live := slices.ContainsFunc(list, func(k merchant.Key) bool { return k.Mode == merchant.Live && k.RevokedAt.IsZero() })
	if live || len(wallets) > 0 {
		return errRealShop
	}
	return nil
}

// IsDemo reports whether the database is that of a demo: the demo created it, and no shop has a live wallet
// or key.
func IsDemo(ctx context.Context, s Storage) (bool, error) {
	shops, err := s.Merchants(ctx)
	if err != nil || len(shops) == 0 {
		return false, err
	}
	list, err := s.Keys(ctx, shops[0].ID) // the demo uses the oldest shop
	if err != nil {
		return false, fmt.Errorf("keys: %w", err)
	}
	if !slices.ContainsFunc(list, func(k merchant.Key) bool { return k.ID == keyID }) {
		return false, nil
	}
	err = checkDemo(ctx, s)
	if errors.Is(err, errRealShop) {
		return false, nil
	}
	return err == nil, err
}

// ensureKey returns the demo shop's test key and creates it if it does not exist.
func ensureKey(ctx context.Context, s Storage, merchantID string, now time.Time) (merchant.Key, error) {
	list, err := s.Keys(ctx, merchantID)
	if err != nil {
		return merchant.Key{}, fmt.Errorf("demo key: %w", err)
	}
	i := slices.IndexFunc(list, func(k merchant.Key) bool { return k.ID == keyID })
	if i >= 0 {
		return list[i], nil
	}
	key := merchant.Key{
		ID: keyID, MerchantID: merchantID, Key: token.New(32), Secret: token.New(40),
		Mode: merchant.Test, Scopes: merchant.AllScopes, CreatedAt: now,
	}
	if err := s.CreateKey(ctx, key); err != nil {
		return merchant.Key{}, fmt.Errorf("demo key: %w", err)
	}
	return key, nil
}
