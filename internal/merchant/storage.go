package merchant

import (
	"context"
	"time"
)

// Storage stores merchants, API keys, wallets and exchange accounts. Secrets are sealed. Rows have a MAC
// made with the master key; the methods return ErrTampered if it is wrong. ErrExists means that the row
// exists already, and ErrNotFound that there is no such row.
type Storage interface {
	// CreateMerchant writes a merchant, or returns ErrExists.
	CreateMerchant(ctx context.Context, m Merchant) error
	// RenameMerchant changes a merchant's name, or returns ErrNotFound. Existing invoices keep the old name.
	RenameMerchant(ctx context.Context, id, name string) error
	// Merchants lists all merchants, oldest first.
	Merchants(ctx context.Context) ([]Merchant, error)
	// Merchant returns a merchant, or ErrNotFound.
	Merchant(ctx context.Context, id string) (Merchant, error)
	// CreateKey writes an API key, or returns ErrExists.
	CreateKey(ctx context.Context, k Key) error
	// Key returns an API key by its public part, even if it is revoked, or ErrNotFound.
	Key(ctx context.Context, key string) (Key, error)
	// Keys lists a merchant's keys, oldest first.
	Keys(ctx context.Context, merchantID string) ([]Key, error)
	// UseKey sets the time of the last use of a key, unless a later time is stored.
	UseKey(ctx context.Context, id string, at time.Time) error
	// RevokeKey revokes a merchant's key by its public part, or returns ErrNotFound.
	RevokeKey(ctx context.Context, merchantID, key string, at time.Time) error
	// Wallets lists a merchant's active wallets of a mode, one per asset, oldest first.
	Wallets(ctx context.Context, merchantID string, mode Mode) ([]Wallet, error)
	// AllWallets lists a merchant's wallets of a mode, including those that were replaced or
	// removed, oldest first. Former wallets are kept, because their addresses may hold money.
	AllWallets(ctx context.Context, merchantID string, mode Mode) ([]Wallet, error)
	WalletStorage
	ExchangeStorage
}
