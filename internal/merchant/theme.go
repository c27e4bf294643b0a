package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chequer/internal/theme"
)

// ThemeStorage stores the themes of merchants. It is safe for concurrent use.
type ThemeStorage interface {
	// SetTheme sets the current theme. The zero Theme is the default theme. The error is ErrStale if the hash
	// of the current theme is not replaces.
	SetTheme(ctx context.Context, merchantID, replaces string, t theme.Theme, at time.Time) error
	// Theme returns the current theme, or ErrNotFound if none was ever set.
	Theme(ctx context.Context, merchantID string) (theme.Theme, error)
	// ThemeByHash returns the current theme of a merchant or a recent one by its hash, or ErrNotFound. The
	// theme may be that of any merchant if merchantID is "".
	ThemeByHash(ctx context.Context, merchantID, hash string) (theme.Theme, error)
}

// Themes manages the themes of merchants' pages. It is safe for concurrent use.
type Themes struct {
	storage ThemeStorage
	now     func() time.Time
	current *cache[hashedTheme]
}

// hashedTheme is a theme with its hash, which is too expensive to compute for every page.
type hashedTheme struct {
	theme theme.Theme
	hash  string
}

// NewThemes returns a new Themes.
func NewThemes(storage ThemeStorage, now func() time.Time) *Themes {
	return &Themes{storage: storage, now: now, current: newCache[hashedTheme](now)}
}

// Theme returns the current theme, or the zero Theme if there is none. It is cached for cacheTTL.
func (s *Themes) Theme(ctx context.Context, merchantID string) (theme.Theme, error) {
	n, err := s.cached(ctx, merchantID)
	return n.theme, err
}

// Hash returns the hash of the current theme, or "" if there is none.
func (s *Themes) Hash(ctx context.Context, merchantID string) (string, error) {
	n, err := s.cached(ctx, merchantID)
	return n.hash, err
}

func (s *Themes) cached(ctx context.Context, merchantID string) (hashedTheme, error) {
	return s.current.get(merchantID, func() (hashedTheme, error) {
		t, err := s.Current(ctx, merchantID)
		return hashedTheme{theme: t, hash: t.Hash()}, err
	})
}

// Current returns the current theme without the cache.
func (s *Themes) Current(ctx context.Context, merchantID string) (theme.Theme, error) {
	t, err := s.storage.Theme(ctx, merchantID)
	if errors.Is(err, ErrNotFound) {
		return theme.Theme{}, nil
	}
	if err != nil {
		return theme.Theme{}, fmt.Errorf("read theme: %w", err)
	}
	return t, nil
}

// ByHash returns the current theme of a merchant or a recent one by its hash, or ErrNotFound. The theme may be
// that of any merchant if merchantID is "".
func (s *Themes) ByHash(ctx context.Context, merchantID, hash string) (theme.Theme, error) {
	return s.storage.ThemeByHash(ctx, merchantID, hash)
}

// Set sets the current theme, with a logo made from the file logo. The current logo is kept if the file is
// the current logo, and there is no logo if the file is empty. The error may be a
// *theme.FieldError.
func (s *Themes) Set(ctx context.Context, merchantID string, t theme.Theme, logo []byte) (theme.Theme, error) {
	for {
		old, err := s.Current(ctx, merchantID)
		if err != nil {
			return theme.Theme{}, err
		}
		set, err := s.replace(ctx, merchantID, old, t, logo)
		if !errors.Is(err, ErrStale) {
			return set, err
		}
	}
}

// Replace is Set for a caller that has seen the theme that it replaces, by its hash. The error is ErrStale if
// another theme is current.
func (s *Themes) Replace(ctx context.Context, merchantID, replaces string, t theme.Theme, logo []byte) (theme.Theme, error) {
	old, err := s.Current(ctx, merchantID)
	if err != nil {
		return theme.Theme{}, err
	}
	if old.Hash() != replaces {
		return theme.Theme{}, ErrStale
	}
	return s.replace(ctx, merchantID, old, t, logo)
}

// replace sets the current theme in place of old.
func (s *Themes) replace(ctx context.Context, merchantID string, old, t theme.Theme, logo []byte) (theme.Theme, error) {
	t, err := theme.New(t, old.Logo, logo)
	if err != nil {
		return theme.Theme{}, err
	}
	now := s.now()
	if t.Hash() != old.Hash() {
		if err := s.storage.SetTheme(ctx, merchantID, old.Hash(), t, now); err != nil {
			return theme.Theme{}, fmt.Errorf("set theme: %w", err)
		}
	}
	s.current.put(merchantID, hashedTheme{theme: t, hash: t.Hash()}, now)
	return t, nil
}

// Reset restores the default theme.
func (s *Themes) Reset(ctx context.Context, merchantID string) error {
	_, err := s.Set(ctx, merchantID, theme.Theme{}, nil)
	return err
}
