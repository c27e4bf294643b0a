package merchant

import (
	"context"
	"time"
)

// Storage keeps merchants, keys and wallets. Secrets are sealed and rows carry
// a MAC under the master key: a row that fails is ErrTampered.
type Storage interface {
	// CreateMerchant writes a merchant; ErrExists.
	CreateMerchant(ctx context.Context, m Merchant) error
	// RenameMerchant gives a merchant another name; ErrNotFound. Invoices keep the
	// one that they were made under.
	RenameMerchant(ctx context.Context, id, name string) error
	// SetMethods sets what a merchant offers where nothing else is chosen; ErrNotFound.
	SetMethods(ctx context.Context, id string, m Methods) error
	// Merchants lists all, oldest first.
	Merchants(ctx context.Context) ([]Merchant, error)
	// Merchant reads one; ErrNotFound.
	Merchant(ctx context.Context, id string) (Merchant, error)
	// CreateKey writes an API key; ErrExists.
	CreateKey(ctx context.Context, k Key) error
	// Key finds an API key by its public part, revoked ones too; ErrNotFound.
	Key(ctx context.Context, key string) (Key, error)
	// Keys lists a merchant's keys, oldest first.
	Keys(ctx context.Context, merchantID string) ([]Key, error)
	// UseKey sets when a key was last used, unless a later time is known.
	UseKey(ctx context.Context, id string, at time.Time) error
	// RevokeKey ends a key by its public part; ErrNotFound.
	RevokeKey(ctx context.Context, key string, at time.Time) error
	// Wallets lists a merchant's wallets in force of a mode, one per asset, oldest
	// first.
	Wallets(ctx context.Context, merchantID string, mode Mode) ([]Wallet, error)
	// AllWallets lists a merchant's wallets of a mode, those that were replaced or
	// removed too, oldest first. Former ones are kept: their addresses may hold money.
	AllWallets(ctx context.Context, merchantID string, mode Mode) ([]Wallet, error)
	WalletStorage
	ExchangeStorage
}
