package proof

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
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

	// signed caches the newest signed statements by their signed part, because every view of a payment page needs
	// one.
	signed *lru.Cache[string, string]
}

// signedSize is the number of signed statements in the cache, of about 2 kB each.
const signedSize = 1000

// NewKeyring returns a new Keyring.
func NewKeyring(storage Storage, now func() time.Time) *Keyring {
	signed, err := lru.New[string, string](signedSize)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Keyring{storage: storage, now: now, signed: signed}
}

// Ensure makes the first key if there is none.
func (k *Keyring) Ensure(ctx context.Context) error {
	keys, err := k.Keys(ctx)
	if err != nil || len(keys) > 0 {
		return err
	}
	if err := k.create(ctx, 1); err != nil && !errors.Is(err, ErrExists) { // another process was faster
		return err
	}
	return nil
}

// Rotate makes a new key, which signs from now on. The old key is only used for verification.
func (k *Keyring) Rotate(ctx context.Context) error {
	for {
		k.forget()
		keys, err := k.Keys(ctx)
		if err != nil {
			return err
		}
		next := int64(1)
		if len(keys) > 0 {
			next = keys[0].Number + 1
		}
		if err := k.create(ctx, next); !errors.Is(err, ErrExists) {
			return err
		}
	}
}

func (k *Keyring) create(ctx context.Context, number int64) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make proof key: %w", err)
	}
	defer k.forget()
	err = k.storage.CreateProofKey(ctx, Key{Number: number, Public: NewPublicKey(public), Private: private, CreatedAt: k.now()})
	if err != nil {
		return fmt.Errorf("make proof key: %w", err)
	}
	return nil
}

func (k *Keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys, k.readAt = nil, time.Time{}
}

// Keys returns all keys, the newest first; none before Ensure.
func (k *Keyring) Keys(ctx context.Context) ([]Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if age := now.Sub(k.readAt); len(k.keys) > 0 && age >= 0 && age < cacheTTL {
		return k.keys, nil
	}
	keys, err := k.storage.ProofKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read proof keys: %w", err)
	}
	k.keys, k.readAt = keys, now
	return keys, nil
}

// SignClosing writes the statement of a closed month and signs it with the newest key.
func (k *Keyring) SignClosing(ctx context.Context, c Closing) (string, error) {
	if err := k.Ensure(ctx); err != nil {
		return "", err
	}
	keys, err := k.Keys(ctx)
	if err != nil {
		return "", err
	}
	return SignClosing(c, keys[0])
}

// Sign writes a statement and signs it with the newest key.
func (k *Keyring) Sign(ctx context.Context, s Statement) (string, error) {
	keys, err := k.Keys(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 || keys[0].Private == nil {
		return "", errors.New("sign statement: there is no key to sign with")
	}
	body := s.body(keys[0].Public)
	if text, ok := k.signed.Get(body); ok {
		return text, nil
	}
	text, err := signBody(body, keys[0])
	if err == nil {
		k.signed.Add(body, text)
	}
	return text, err
}
