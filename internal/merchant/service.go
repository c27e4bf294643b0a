package merchant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Storage stores merchants, API keys, wallets and exchange accounts. Secrets are sealed. Rows have a MAC
// made with the master key; the methods return ErrTampered if the MAC is wrong. ErrExists means that the row
// exists already, and ErrNotFound that there is no such row.
type Storage interface {
	ShopStorage
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

// Service authenticates callers and returns the merchants' wallets. It is safe for concurrent use.
type Service struct {
	storage Storage
	now     func() time.Time
	// token returns random letters and digits.
	token func(length int) string

	keys     *cache[Key]
	wallets  *cache[[]Wallet]
	merchant *cache[Merchant]
	exchange *cache[exchangeFound]

	mu      sync.Mutex
	builtin map[string]Key
	usedAt  map[string]time.Time // by ID of the key: time of the last stored use
}

// NewService returns a new Service; token returns random letters and digits.
func NewService(storage Storage, now func() time.Time, token func(length int) string) *Service {
	return &Service{
		storage: storage, now: now, token: token,
		keys: newCache[Key](now), wallets: newCache[[]Wallet](now), merchant: newCache[Merchant](now), exchange: newCache[exchangeFound](now),
		builtin: map[string]Key{}, usedAt: map[string]time.Time{},
	}
}

// Authenticate returns the API key with the given public part, or ErrNotFound if there is none or it is the key of a
// plug-in, which does not sign requests. A revoked key is returned with its RevokedAt.
func (s *Service) Authenticate(ctx context.Context, key string) (Key, error) {
	s.mu.Lock()
	k, builtin := s.builtin[key]
	s.mu.Unlock()
	if builtin {
		return k, nil
	}
	k, err := s.storedKey(ctx, key)
	if err == nil && k.IsPlugin() { // it has no secret, so any caller could sign with it
		return Key{}, ErrNotFound
	}
	return k, err
}

// storedKey returns a key by its public part, from the cache or from storage.
func (s *Service) storedKey(ctx context.Context, key string) (Key, error) {
	return s.keys.get(key, func() (Key, error) { return s.storage.Key(ctx, key) })
}

// Merchant returns a merchant, or ErrNotFound.
func (s *Service) Merchant(ctx context.Context, id string) (Merchant, error) {
	return s.merchant.get(id, func() (Merchant, error) { return s.storage.Merchant(ctx, id) })
}

// FreshMerchant is Merchant without the cache.
func (s *Service) FreshMerchant(ctx context.Context, id string) (Merchant, error) {
	return s.storage.Merchant(ctx, id)
}

// Wallets lists a merchant's active wallets of a mode.
func (s *Service) Wallets(ctx context.Context, merchantID string, mode Mode) ([]Wallet, error) {
	return s.wallets.get(merchantID+" "+string(mode), func() ([]Wallet, error) {
		return s.storage.Wallets(ctx, merchantID, mode)
	})
}

// NewBuiltinKey returns a new key that is valid until the process ends and is never stored. The pages of
// this server use it.
func (s *Service) NewBuiltinKey(merchantID string, mode Mode, scopes ...Scope) Key {
	k := s.newKey(merchantID, mode, scopes)
	k.Builtin = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builtin[k.Key] = k
	return k
}

// useInterval is the smallest interval between two stored uses of a key.
const useInterval = time.Minute

// useTimeout limits the time to store the use of a key, because the request with the key waits for it.
const useTimeout = time.Second

// UseKey stores the current time as the time of the last use of an API key, at most once per useInterval. Uses of
// built-in keys are not stored.
func (s *Service) UseKey(ctx context.Context, k Key) error {
	if k.Builtin {
		return nil
	}
	now := s.now()
	s.mu.Lock()
	last, known := s.usedAt[k.ID]
	if known && now.Sub(last).Abs() < useInterval {
		s.mu.Unlock()
		return nil
	}
	if len(s.usedAt) >= maxCached {
		clear(s.usedAt)
	}
	s.usedAt[k.ID] = now
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	if err := s.storage.UseKey(ctx, k.ID, now); err != nil {
		return fmt.Errorf("record use of key %s: %w", k.ID, err)
	}
	return nil
}

// EnsureFirst returns the oldest merchant. If there is none, it makes one with the given name.
func (s *Service) EnsureFirst(ctx context.Context, name string) (Merchant, error) {
	merchants, err := s.storage.Merchants(ctx)
	if err != nil {
		return Merchant{}, fmt.Errorf("first merchant: %w", err)
	}
	if len(merchants) > 0 {
		return merchants[0], nil
	}
	m := Merchant{ID: firstID, Name: name, CreatedAt: s.now()}
	err = s.storage.CreateShop(ctx, NewShop{Merchant: m})
	if errors.Is(err, ErrExists) { // another process was faster
		return s.storage.Merchant(ctx, m.ID)
	}
	if err != nil {
		return Merchant{}, fmt.Errorf("first merchant: %w", err)
	}
	return m, nil
}

// firstID is constant so that two processes with an empty database make only one merchant.
const firstID = "m_first"

func (s *Service) newKey(merchantID string, mode Mode, scopes []Scope) Key {
	return Key{
		ID: KeyPrefix + s.token(16), MerchantID: merchantID, Key: s.token(32), Secret: s.token(40),
		Mode: mode, Scopes: scopes, CreatedAt: s.now(),
	}
}
