package merchant

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
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

// Ended reports whether the link creates no more invoices at a given time.
func (l Link) Ended(now time.Time) bool { return !l.EndsAt.IsZero() && !now.Before(l.EndsAt) }

const (
	// maxLinkDescription bounds the description of a link, in characters.
	maxLinkDescription = 512
	// MaxLinkUses bounds the number of invoices that a link creates.
	MaxLinkUses = 1_000_000
)

// validate returns a *FieldError for a link that cannot create invoices. It writes international
// domain names in the addresses of the link in Punycode.
func (l *Link) validate(prices Prices) error {
	var success, failure, language error
	l.URLSuccess, success = ParseReturnURL(l.URLSuccess)
	l.URLFailure, failure = ParseReturnURL(l.URLFailure)
	if l.Language != "" {
		language = CheckLanguage(l.Language)
	}
	_, price := prices.parseText("amount", cmp.Or(l.Amount, "1"), l.Currency)
	return cmp.Or(
		invalid("slug", checkSlug(l.Slug)),
		invalid("description", CheckText(l.Description, maxLinkDescription)),
		invalid("url_success", success),
		invalid("url_failure", failure),
		invalid("language", language),
		invalid("max_uses", CheckWhole(l.MaxUses, 0, MaxLinkUses)),
		price,
	)
}

// RemovedLink is a link that was removed and can be restored.
type RemovedLink struct {
	Link
	RemovedAt time.Time
}

const (
	// restoreTTL is the time for which a removed link can be restored.
	restoreTTL = 30 * 24 * time.Hour
	// maxRemoved is the largest number of removed links that are listed.
	maxRemoved = 20
)

// LinkStorage stores checkout links. It is safe for concurrent use.
type LinkStorage interface {
	// CreateLink writes a link. It returns ErrExists if its slug is in use, and a *FieldError if the merchant has removed a link
	// with this slug that has invoices of the mode.
	CreateLink(ctx context.Context, l Link) error
	// Link returns a link by its slug, or ErrNotFound.
	Link(ctx context.Context, slug string) (Link, error)
	// Links lists at most limit of a merchant's links of a mode, newest first, that follow a position. The zero position
	// begins with the newest.
	Links(ctx context.Context, merchantID string, mode Mode, after LinkPosition, limit int) ([]Link, error)
	// UpdateLink changes a merchant's link of a mode, or returns ErrNotFound. The link stays unchanged if
	// change returns an error; change may be called more than once.
	UpdateLink(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Link) error) (Link, error)
	// LinkUses returns the number of invoices of a link that are paid or can still be paid.
	LinkUses(ctx context.Context, slug string) (int, error)
	// RemoveLink removes a merchant's link of a mode at a time, or returns ErrNotFound. The link stays if check returns
	// an error; check may be called more than once. The slug can be used again if it has no invoices. It deletes the links of the merchant
	// that were removed before kept.
	RemoveLink(ctx context.Context, merchantID string, mode Mode, slug string, at, kept time.Time, check func(Link) error) error
	// RemovedLinks lists at most limit of the links of a merchant that were removed since a time and whose slugs were not
	// used again, the last one first.
	RemovedLinks(ctx context.Context, merchantID string, since time.Time, limit int) ([]RemovedLink, error)
	// RestoreLink restores one of these links, or returns ErrNotFound.
	RestoreLink(ctx context.Context, merchantID string, mode Mode, slug string, since time.Time) error
}

// LinkPosition is the position of a link in a list, which does not need the link itself.
type LinkPosition struct {
	CreatedAt time.Time
	Slug      string
}

// Position returns the position of a link.
func (l Link) Position() LinkPosition { return LinkPosition{l.CreatedAt, l.Slug} }

// linkPage is the number of links that are read at once.
const linkPage = 500

// All returns the links of a merchant and a mode, newest first, in pages.
func (s *Links) All(ctx context.Context, merchantID string, mode Mode) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		after := LinkPosition{}
		for {
			links, err := s.Links(ctx, merchantID, mode, after, linkPage)
			if err != nil {
				yield(Link{}, err)
				return
			}
			for _, l := range links {
				if !yield(l, nil) {
					return
				}
			}
			if len(links) < linkPage {
				return
			}
			after = links[len(links)-1].Position()
		}
	}
}

// LinksConfig configures Links.
type LinksConfig struct {
	Storage LinkStorage
	Prices  Prices
	Now     func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Links manages checkout links. It is safe for concurrent use.
type Links struct {
	LinkStorage
	prices Prices
	now    func() time.Time
	token  func(length int) string
}

// NewLinks returns a new Links.
func NewLinks(c LinksConfig) *Links {
	return &Links{LinkStorage: c.Storage, prices: c.Prices, now: c.Now, token: c.Token}
}

// Find returns the link of a slug as a shopper typed it, or ErrNotFound.
func (s *Links) Find(ctx context.Context, text string) (Link, error) {
	slug, err := parseSlug(text)
	if err != nil {
		return Link{}, err
	}
	return s.Link(ctx, slug)
}

// Create makes a link, with a random slug if it has none, or returns ErrExists or a *FieldError.
func (s *Links) Create(ctx context.Context, l Link) (Link, error) {
	if l.Slug == "" {
		l.Slug = strings.ToLower(s.token(16))
	}
	l.CreatedAt = s.now()
	if err := l.validate(s.prices); err != nil {
		return Link{}, err
	}
	if err := s.CreateLink(ctx, l); err != nil {
		return Link{}, fmt.Errorf("create link %s: %w", l.Slug, err)
	}
	return l, nil
}

// Change changes a merchant's link of a mode, or returns ErrNotFound or a *FieldError. Existing invoices of the
// link stay unchanged.
func (s *Links) Change(ctx context.Context, merchantID string, mode Mode, slug string, change func(*Link) error) (Link, error) {
	return s.UpdateLink(ctx, merchantID, mode, slug, func(l *Link) error {
		if err := change(l); err != nil {
			return err
		}
		return l.validate(s.prices)
	})
}

// ChangeSeen is Change for a link whose revision the caller has seen. It returns ErrStale if the link has
// changed since.
func (s *Links) ChangeSeen(ctx context.Context, merchantID string, mode Mode, slug, revision string, change func(*Link) error) (Link, error) {
	unchanged := checkRevision[Link](revision)
	return s.Change(ctx, merchantID, mode, slug, func(stored *Link) error {
		if err := unchanged(*stored); err != nil {
			return err
		}
		return change(stored)
	})
}

// Remove removes a merchant's link of a mode, or returns ErrNotFound. Its invoices stay.
func (s *Links) Remove(ctx context.Context, merchantID string, mode Mode, slug string) error {
	return s.remove(ctx, merchantID, mode, slug, unchecked)
}

func (s *Links) remove(ctx context.Context, merchantID string, mode Mode, slug string, check func(Link) error) error {
	now := s.now()
	return s.RemoveLink(ctx, merchantID, mode, slug, now, now.Add(-restoreTTL), check)
}

// Removed lists the links of a merchant that were removed in the last 30 days and can be restored, the last one first.
func (s *Links) Removed(ctx context.Context, merchantID string) ([]RemovedLink, error) {
	return s.RemovedLinks(ctx, merchantID, s.now().Add(-restoreTTL), maxRemoved)
}

// Restore undoes the removal of a link. It returns ErrNotFound after 30 days, and if the slug was used for another link.
func (s *Links) Restore(ctx context.Context, merchantID string, mode Mode, slug string) error {
	return s.RestoreLink(ctx, merchantID, mode, slug, s.now().Add(-restoreTTL))
}

// RemoveSeen is Remove for a link whose revision the caller has seen. It returns ErrStale if the link has
// changed since.
func (s *Links) RemoveSeen(ctx context.Context, merchantID string, mode Mode, slug, revision string) error {
	return s.remove(ctx, merchantID, mode, slug, checkRevision[Link](revision))
}
