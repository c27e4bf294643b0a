package proof

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Storage stores an installation's keys. It is safe for concurrent use.
type Storage interface {
	// ProofKeys lists all keys, the newest first.
	ProofKeys(ctx context.Context) ([]Key, error)
	// CreateProofKey stores a new key. In the same transaction it retires the previous key and
	// deletes its private part. The error is ErrExists if the number is in use.
	CreateProofKey(ctx context.Context, k Key) error
}

// cacheTTL is the time for which keys read from storage are cached. A running server signs with a
// new key after at most this time.
const cacheTTL = time.Second

// Keyring holds the keys of an installation, which all its processes share. It is safe for
// concurrent use.
type Keyring struct {
	storage Storage
	now     func() time.Time

	mu     sync.Mutex
	keys   []Key
	readAt time.Time
}

// NewKeyring returns a new Keyring.
func NewKeyring(storage Storage, now func() time.Time) *Keyring {
	return &Keyring{storage: storage, now: now}
}

// Ensure makes the first key if there is none.
func (r *Keyring) Ensure(ctx context.Context) error {
	keys, err := r.Keys(ctx)
	if err != nil || len(keys) > 0 {
		return err
	}
	if err := r.create(ctx, 1); err != nil && !errors.Is(err, ErrExists) { // another process was faster
		return err
	}
	return nil
}

// Rotate makes a new key, which signs from now on. The old key is only used for verification.
func (r *Keyring) Rotate(ctx context.Context) error {
	for {
		r.forget()
		keys, err := r.Keys(ctx)
		if err != nil {
			return err
		}
		next := int64(1)
		if len(keys) > 0 {
			next = keys[0].Number + 1
		}
		if err := r.create(ctx, next); !errors.Is(err, ErrExists) {
			return err
		}
	}
}

func (r *Keyring) create(ctx context.Context, number int64) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make proof key: %w", err)
	}
	defer r.forget()
	err = r.storage.CreateProofKey(ctx, Key{Number: number, Public: NewPublicKey(public), Private: private, CreatedAt: r.now()})
	if err != nil {
		return fmt.Errorf("make proof key: %w", err)
	}
	return nil
}

func (r *Keyring) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.readAt = nil, time.Time{}
}

// Keys returns all keys, the newest first; none before Ensure.
func (r *Keyring) Keys(ctx context.Context) ([]Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if age := now.Sub(r.readAt); len(r.keys) > 0 && age >= 0 && age < cacheTTL {
		return r.keys, nil
	}
	keys, err := r.storage.ProofKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read proof keys: %w", err)
	}
	r.keys, r.readAt = keys, now
	return keys, nil
}

// Sign writes a statement and signs it with the newest key.
func (r *Keyring) Sign(ctx context.Context, s Statement) (string, error) {
	keys, err := r.Keys(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 || keys[0].Private == nil {
		return "", errors.New("sign statement: there is no key to sign with")
	}
	return Sign(s, keys[0])
}
