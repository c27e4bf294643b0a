package merchant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// fresh is how long what was read from storage is believed: a key revoked on a
// running server is refused within this time.
const fresh = time.Second

// maxRemembered bounds the memory of what was read.
const maxRemembered = 10_000

// Service answers who calls and where money goes. It is safe for concurrent use.
type Service struct {
	storage Storage
	now     func() time.Time
	// token makes random letters and digits.
	token func(length int) string

	mu       sync.Mutex
	builtin  map[string]Key
	keys     map[string]remembered[Key]
	wallets  map[string]remembered[[]Wallet]
	merchant map[string]remembered[Merchant]
	exchange map[string]remembered[exchangeFound]
	used     map[string]time.Time // keys, by when their use was last written
}

// remembered is something read from storage, and when.
type remembered[T any] struct {
	value T
	at    time.Time
}

// NewService makes a Service; token makes random letters and digits.
func NewService(storage Storage, now func() time.Time, token func(length int) string) *Service {
	return &Service{
		storage: storage, now: now, token: token,
		builtin:  map[string]Key{},
		keys:     map[string]remembered[Key]{},
		wallets:  map[string]remembered[[]Wallet]{},
		merchant: map[string]remembered[Merchant]{},
		exchange: map[string]remembered[exchangeFound]{},
		used:     map[string]time.Time{},
	}
}

// Authenticate finds an API key by its public part; ErrNotFound. A revoked key
// is returned with its RevokedAt.
func (s *Service) Authenticate(ctx context.Context, key string) (Key, error) {
	s.mu.Lock()
	k, builtin := s.builtin[key]
	s.mu.Unlock()
	if builtin {
		return k, nil
	}
	return recall(s, s.keys, key, func() (Key, error) { return s.storage.Key(ctx, key) })
}

// Merchant reads a merchant; ErrNotFound.
func (s *Service) Merchant(ctx context.Context, id string) (Merchant, error) {
	return recall(s, s.merchant, id, func() (Merchant, error) { return s.storage.Merchant(ctx, id) })
}

// Wallets lists a merchant's wallets in force of a mode.
func (s *Service) Wallets(ctx context.Context, merchantID string, mode Mode) ([]Wallet, error) {
	return recall(s, s.wallets, merchantID+" "+string(mode), func() ([]Wallet, error) {
		return s.storage.Wallets(ctx, merchantID, mode)
	})
}

// Builtin makes a key that lives as long as the process and is never stored:
// that of our own pages.
func (s *Service) Builtin(merchantID string, mode Mode, scopes ...Scope) Key {
	k := s.newKey(merchantID, mode, scopes)
	k.Builtin = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builtin[k.Key] = k
	return k
}

// usedEvery is how exact the last use of a key is: at most one write per key and minute.
const usedEvery = time.Minute

// UseKey records that an API key was used now.
func (s *Service) UseKey(ctx context.Context, k Key) error {
	if k.Builtin {
		return nil
	}
	now := s.now()
	s.mu.Lock()
	last, known := s.used[k.ID]
	if known && now.Sub(last).Abs() < usedEvery {
		s.mu.Unlock()
		return nil
	}
	if len(s.used) >= maxRemembered {
		clear(s.used)
	}
	s.used[k.ID] = now
	s.mu.Unlock()
	if err := s.storage.UseKey(ctx, k.ID, now); err != nil {
		return fmt.Errorf("record use of key %s: %w", k.ID, err)
	}
	return nil
}

// CreateKey makes and stores an API key; its secret is told only now. The label says
// what it is for, and may be empty.
func (s *Service) CreateKey(ctx context.Context, merchantID string, mode Mode, scopes []Scope, label string) (Key, error) {
	k := s.newKey(merchantID, mode, scopes)
	k.Label = label
	if err := s.storage.CreateKey(ctx, k); err != nil {
		return Key{}, fmt.Errorf("create key: %w", err)
	}
	return k, nil
}

// First is the server's merchant, made with a name when there is none yet.
func (s *Service) First(ctx context.Context, name string) (Merchant, error) {
	all, err := s.storage.Merchants(ctx)
	if err != nil {
		return Merchant{}, fmt.Errorf("first merchant: %w", err)
	}
	if len(all) > 0 {
		return all[0], nil
	}
	m := Merchant{ID: firstID, Name: name, CreatedAt: s.now()}
	err = s.storage.CreateMerchant(ctx, m)
	if errors.Is(err, ErrExists) { // another process was faster
		return s.storage.Merchant(ctx, m.ID)
	}
	if err != nil {
		return Merchant{}, fmt.Errorf("first merchant: %w", err)
	}
	return m, nil
}

// firstID is fixed so that two processes on an empty database make one
// merchant.
const firstID = "m_first"

func (s *Service) newKey(merchantID string, mode Mode, scopes []Scope) Key {
	return Key{
		ID: "key_" + s.token(16), MerchantID: merchantID, Key: s.token(32), Secret: s.token(40),
		Mode: mode, Scopes: scopes, CreatedAt: s.now(),
	}
}

// recall reads through a small memory.
func recall[T any](s *Service, memory map[string]remembered[T], key string, read func() (T, error)) (T, error) {
	now := s.now()
	s.mu.Lock()
	r, known := memory[key]
	s.mu.Unlock()
	if age := now.Sub(r.at); known && age >= 0 && age < fresh {
		return r.value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(memory) >= maxRemembered {
		clear(memory)
	}
	memory[key] = remembered[T]{value: value, at: now}
	return value, nil
}
