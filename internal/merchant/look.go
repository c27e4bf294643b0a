package merchant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"chequer/internal/look"
)

// LookStorage stores the themes of merchants. It is safe for concurrent use.
type LookStorage interface {
	// SetLook sets the current theme. The zero Look is the default theme.
	SetLook(ctx context.Context, merchantID string, l look.Look, at time.Time) error
	// Look returns the current theme; ErrNotFound if none was ever set.
	Look(ctx context.Context, merchantID string) (look.Look, error)
	// LookByHash returns the current theme or a recent one by its hash; ErrNotFound.
	LookByHash(ctx context.Context, hash string) (look.Look, error)
}

// Looks manages the themes of merchants' pages. It is safe for concurrent use.
type Looks struct {
	storage LookStorage
	now     func() time.Time

	mu     sync.Mutex
	recent map[string]cached[named]
}

// named is a theme with its hash, which is too expensive to compute for every page.
type named struct {
	look look.Look
	hash string
}

// NewLooks returns a new Looks.
func NewLooks(storage LookStorage, now func() time.Time) *Looks {
	return &Looks{storage: storage, now: now, recent: map[string]cached[named]{}}
}

// Look returns the current theme, or the zero Look if there is none. It is cached for cacheTTL.
func (s *Looks) Look(ctx context.Context, merchantID string) (look.Look, error) {
	n, err := s.named(ctx, merchantID)
	return n.look, err
}

// Hash returns the hash of the current theme, or "" if there is none.
func (s *Looks) Hash(ctx context.Context, merchantID string) (string, error) {
	n, err := s.named(ctx, merchantID)
	return n.hash, err
}

func (s *Looks) named(ctx context.Context, merchantID string) (named, error) {
	now := s.now()
	s.mu.Lock()
	r, known := s.recent[merchantID]
	s.mu.Unlock()
	if age := now.Sub(r.at); known && age >= 0 && age < cacheTTL {
		return r.value, nil
	}
	l, err := s.Current(ctx, merchantID)
	if err != nil {
		return named{}, err
	}
	return s.store(merchantID, l, now), nil
}

// Current returns the current theme without the cache.
func (s *Looks) Current(ctx context.Context, merchantID string) (look.Look, error) {
	l, err := s.storage.Look(ctx, merchantID)
	if errors.Is(err, ErrNotFound) {
		return look.Look{}, nil
	}
	if err != nil {
		return look.Look{}, fmt.Errorf("read look: %w", err)
	}
	return l, nil
}

// ByHash returns the current theme or a recent one by its hash; ErrNotFound.
func (s *Looks) ByHash(ctx context.Context, hash string) (look.Look, error) {
	return s.storage.LookByHash(ctx, hash)
}

// Set sets the current theme, with a logo made from a file. The current logo is kept if the file is
// the current logo, and there is no logo if the file is empty. A *look.FieldError says what is
// wrong.
func (s *Looks) Set(ctx context.Context, merchantID string, l look.Look, file []byte) (look.Look, error) {
	l, err := look.Tidy(l)
	if err != nil {
		return look.Look{}, err
	}
	old, err := s.Current(ctx, merchantID)
	if err != nil {
		return look.Look{}, err
	}
	l.Logo = look.Logo{}
	switch {
	case len(file) == 0:
	case bytes.Equal(file, old.Logo.Body): // encoding it again each time would lower its quality
		l.Logo = old.Logo
	default:
		if l.Logo, err = look.NewLogo(file); err != nil {
			return look.Look{}, err
		}
	}
	now := s.now()
	if l.Hash() != old.Hash() {
		if err := s.storage.SetLook(ctx, merchantID, l, now); err != nil {
			return look.Look{}, fmt.Errorf("set look: %w", err)
		}
	}
	s.store(merchantID, l, now)
	return l, nil
}

// Reset restores the default theme.
func (s *Looks) Reset(ctx context.Context, merchantID string) error {
	_, err := s.Set(ctx, merchantID, look.Look{}, nil)
	return err
}

func (s *Looks) store(merchantID string, l look.Look, at time.Time) named {
	n := named{look: l, hash: l.Hash()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recent) >= maxCached {
		clear(s.recent)
	}
	s.recent[merchantID] = cached[named]{value: n, at: at}
	return n
}
