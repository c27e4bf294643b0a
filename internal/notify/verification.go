package notify

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/token"
)

const (
	// linkTTL is the time for which the link that confirms an e-mail address works.
	linkTTL = 24 * time.Hour
	// tokenSize is the number of letters and digits of its token.
	tokenSize = 32
)

// ErrLink means that a link confirms no address: it has expired, was used, was replaced by a newer one, or is that of
// another account.
var ErrLink = errors.New("the link does not confirm an e-mail address of this account")

// Unconfirmed is an e-mail address that receives nothing but the link that confirms it.
type Unconfirmed struct {
	Email string `json:"email,omitempty"`
	// Hash is that of the token of the newest link; "" before it is sent.
	Hash      string    `json:"hash,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // end of the link
	// RequestedAt is the time of the request of the newest link that was sent; zero before.
	RequestedAt time.Time `json:"requested_at,omitzero"`
}

// replaceEmail sets the e-mail address, which waits for its confirmation unless it is confirmed already. It reports
// whether a link must be sent.
func (s *Settings) replaceEmail(email string) bool {
	switch email {
	case "", s.Email:
		s.Email, s.Pending = email, Unconfirmed{}
		return false
	case s.Pending.Email:
		return false
	}
	s.Pending = Unconfirmed{Email: email}
	return true
}

// confirms reports whether a token is that of the link at a time.
func (p Unconfirmed) confirms(token string, now time.Time) bool {
	return p.Hash != "" && now.Before(p.ExpiresAt) && subtle.ConstantTimeCompare([]byte(account.HashToken(token)), []byte(p.Hash)) == 1
}

// verification returns the entry of a message with the link that confirms the pending address of an account.
func verification(a account.Account, now time.Time) Entry {
	item := Item{}
	if shops := a.Shops(); len(shops) > 0 {
		item = Item{MerchantID: shops[0], Path: "/" + shops[0] + "/account/notifications/email"}
	}
	return Entry{AccountID: a.ID, Channel: Mail, Kind: Verification, DueAt: now, Item: item}
}

// Pending returns the address that a token confirms, or ErrLink.
func (s *Service) Pending(ctx context.Context, a account.Account, token string) (string, error) {
	set, err := s.storage.NotificationSettings(ctx, a.ID)
	if err == nil && !set.Pending.confirms(token, s.now()) {
		err = ErrLink
	}
	return set.Pending.Email, err
}

// Verify confirms the pending address of an account with the token of its link, which works once. The address replaces
// the former one. The error is ErrLink.
func (s *Service) Verify(ctx context.Context, a account.Account, token string) error {
	return s.storage.UpdateNotificationSettings(ctx, a.ID, func(set *Settings) (Update, error) {
		if !set.Pending.confirms(token, s.now()) {
			return Update{}, ErrLink
		}
		before := *set
		set.Email, set.Pending = set.Pending.Email, Unconfirmed{}
		return Update{Change: audit.Change{Action: "notifications.email_confirmed", Subject: a.Name}.Diff(before.fields(), set.fields())}, nil
	})
}

// SendLink sends the link of the pending address again. It returns ErrNoDestination if no address waits, or ErrTooMany.
func (s *Service) SendLink(ctx context.Context, a account.Account) error {
	now := s.now()
	return s.storage.UpdateNotificationSettings(ctx, a.ID, func(set *Settings) (Update, error) {
		if set.Pending.Email == "" {
			return Update{}, ErrNoDestination
		}
		return Update{
			Change:  audit.Change{Action: "notifications.link_requested", Subject: a.Name},
			Request: newRequest(now, requestInterval, verification(a, now)),
		}, nil
	})
}

// deliverLink sends a new link to the pending address of an account. The token is made for the attempt, so that only
// its hash is stored. The message is dropped if the link of a later request was sent, so that its attempt does not replace
// that link.
func (w *Worker) deliverLink(ctx context.Context, c Claim, set Settings, at time.Time) (Outcome, error) {
	if set.Pending.Email == "" {
		return Outcome{State: Dropped, At: at}, nil
	}
	secret := token.New(tokenSize)
	err := w.Outbox.UpdateNotificationSettings(ctx, c.AccountID, func(now *Settings) (Update, error) {
		if now.Pending.Email == "" || c.CreatedAt.Before(now.Pending.RequestedAt) {
			return Update{}, errLinkNotNeeded
		}
		now.Pending.Hash, now.Pending.ExpiresAt, now.Pending.RequestedAt = account.HashToken(secret), at.Add(linkTTL), c.CreatedAt
		set = *now
		return Update{}, nil
	})
	if errors.Is(err, errLinkNotNeeded) {
		return Outcome{State: Dropped, At: at}, nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("store link: %w", err)
	}
	l, err := w.writer.letter(ctx, c.Message)
	if err != nil {
		return Outcome{}, err
	}
	for i := range l.lines {
		l.lines[i].url += "?" + url.Values{"token": {secret}}.Encode()
	}
	set.Email = set.Pending.Email
	return outcome(c, w.send(ctx, c, set, l), at, w.Now()), nil
}

// errLinkNotNeeded means that no address waits for a link any more, or that the link of a later request was sent.
var errLinkNotNeeded = errors.New("no address waits for this link")
