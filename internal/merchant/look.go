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

// LookStorage keeps how merchants' pages look. It is safe for concurrent use.
type LookStorage interface {
	// SetLook puts a look in force. The zero Look is ours again.
	SetLook(ctx context.Context, merchantID string, l look.Look, at time.Time) error
	// Look is the one in force; ErrNotFound when none was ever set.
	Look(ctx context.Context, merchantID string) (look.Look, error)
	// LookByHash is one that is in force, or was lately; ErrNotFound.
	LookByHash(ctx context.Context, hash string) (look.Look, error)
}

// Looks sets and tells how merchants' pages look. It is safe for concurrent use.
type Looks struct {
	storage LookStorage
	now     func() time.Time

	mu     sync.Mutex
	recent map[string]remembered[named]
}

// named is a look with its hash, which costs too much to make for every page.
type named struct {
	look look.Look
	hash string
}

// NewLooks makes Looks.
func NewLooks(storage LookStorage, now func() time.Time) *Looks {
	return &Looks{storage: storage, now: now, recent: map[string]remembered[named]{}}
}

// Look is the one in force; the zero Look when there is none. It may be as old as
// everything that a Service tells.
func (s *Looks) Look(ctx context.Context, merchantID string) (look.Look, error) {
	n, err := s.named(ctx, merchantID)
	return n.look, err
}

// Hash is that of the look in force; empty when there is none.
func (s *Looks) Hash(ctx context.Context, merchantID string) (string, error) {
	n, err := s.named(ctx, merchantID)
	return n.hash, err
}

func (s *Looks) named(ctx context.Context, merchantID string) (named, error) {
	now := s.now()
	s.mu.Lock()
	r, known := s.recent[merchantID]
	s.mu.Unlock()
	if age := now.Sub(r.at); known && age >= 0 && age < fresh {
		return r.value, nil
	}
	l, err := s.Current(ctx, merchantID)
	if err != nil {
		return named{}, err
	}
	return s.remember(merchantID, l, now), nil
}

// Current is the look in force, read now.
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

// ByHash is a look that is in force, or was lately; ErrNotFound.
func (s *Looks) ByHash(ctx context.Context, hash string) (look.Look, error) {
	return s.storage.LookByHash(ctx, hash)
}

// Set puts a look in force, with the logo that is in force already or with one made
// of a file; none when it is empty. A *look.FieldError tells what is wrong.
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
	case bytes.Equal(file, old.Logo.Body): // drawn anew each time, it would fade
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
	s.remember(merchantID, l, now)
	return l, nil
}

// Reset puts our own look in force.
func (s *Looks) Reset(ctx context.Context, merchantID string) error {
	_, err := s.Set(ctx, merchantID, look.Look{}, nil)
	return err
}

func (s *Looks) remember(merchantID string, l look.Look, at time.Time) named {
	n := named{look: l, hash: l.Hash()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recent) >= maxRemembered {
		clear(s.recent)
	}
	s.recent[merchantID] = remembered[named]{value: n, at: at}
	return n
}
