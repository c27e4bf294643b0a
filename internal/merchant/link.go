package merchant

import (
	"context"
	"fmt"
	"strings"
	"time"

	"chequer/internal/idn"
)

// Link is a checkout link: every shopper who follows it can create an invoice.
type Link struct {
	Slug        string // last part of its URL
	MerchantID  string
	Mode        Mode
	Amount      string // in plain digits; "" = the shopper enters it
	Currency    string // code
	Description string
	Language    string
	URLSuccess  string
	URLFailure  string
	Methods     Methods
	EndsAt      time.Time // zero = never
	MaxUses     int       // largest number of invoices; 0 = no limit
	CreatedAt   time.Time
}

// Ended reports whether the link makes no more invoices at a given time.
func (l Link) Ended(now time.Time) bool { return !l.EndsAt.IsZero() && !now.Before(l.EndsAt) }

// LinkStorage stores checkout links. It is safe for concurrent use.
type LinkStorage interface {
	// CreateLink writes a link; ErrExists if its slug is in use.
	CreateLink(ctx context.Context, l Link) error
	// Link returns a link by its slug; ErrNotFound.
	Link(ctx context.Context, slug string) (Link, error)
	// Links lists a merchant's links, oldest first.
	Links(ctx context.Context, merchantID string) ([]Link, error)
	// UpdateLink changes a merchant's link of a mode; ErrNotFound. The link stays unchanged if
	// change returns an error; change may be called more than once.
	UpdateLink(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Link) error) (Link, error)
	// LinkUses returns the number of invoices of a link that are paid or can still be paid.
	LinkUses(ctx context.Context, slug string) (int, error)
	// RemoveLink deletes a merchant's link of a mode; ErrNotFound. Its slug can be used again.
	RemoveLink(ctx context.Context, merchantID string, mode Mode, slug string) error
}

// LinksConfig configures Links.
type LinksConfig struct {
	Storage LinkStorage
	// Check returns an error for a link that cannot create invoices.
	Check func(Link) error
	Now   func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Links manages checkout links. It is safe for concurrent use.
type Links struct {
	LinkStorage
	check func(Link) error
	now   func() time.Time
	token func(length int) string
}

// NewLinks returns a new Links.
func NewLinks(c LinksConfig) *Links {
	return &Links{LinkStorage: c.Storage, check: c.Check, now: c.Now, token: c.Token}
}

// Create makes a link, with a random slug if it has none; ErrExists.
func (s *Links) Create(ctx context.Context, l Link) (Link, error) {
	if l.Slug == "" {
		l.Slug = strings.ToLower(s.token(16))
	}
	l.CreatedAt, l.URLSuccess, l.URLFailure = s.now(), idn.URL(l.URLSuccess), idn.URL(l.URLFailure)
	if err := s.check(l); err != nil {
		return Link{}, err
	}
	if err := s.CreateLink(ctx, l); err != nil {
		return Link{}, fmt.Errorf("create link %s: %w", l.Slug, err)
	}
	return l, nil
}

// Change changes a merchant's link of a mode; ErrNotFound. Existing invoices of the link stay
// unchanged.
func (s *Links) Change(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Link) error) (Link, error) {
	return s.UpdateLink(ctx, merchantID, mode, slug, func(l *Link) error {
		if err := change(l); err != nil {
			return err
		}
		l.URLSuccess, l.URLFailure = idn.URL(l.URLSuccess), idn.URL(l.URLFailure)
		return s.check(*l)
	})
}
