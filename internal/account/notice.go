package account

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"chequer/internal/audit"
)

const (
	// noticeTTL is the time for which a change is shown to the owners of a shop.
	noticeTTL = 7 * 24 * time.Hour
	// maxNotices is the largest number of changes that are shown at the same time.
	maxNotices = 20
	// securityPage is the number of entries that are read at once, and maxSecurityPages bounds the number of reads.
	securityPage, maxSecurityPages = 100, 10
)

// Notices returns the changes of wallets, owners and sign-in methods of a shop in the last 7 days that an owner of the
// shop has not dismissed, newest first, as entries of the audit log. It returns at most 20, the oldest ones, so that
// dismissing them leads to the others. It returns none for another role.
func (s *Service) Notices(ctx context.Context, a Account, merchantID string) ([]audit.Entry, error) {
	if a.Role(merchantID) != Owner {
		return nil, nil
	}
	seen, oldest := a.Preferences.NoticesSeen[merchantID], s.Now().Add(-noticeTTL)
	entries, err := s.securityEntries(ctx, merchantID, seen, oldest)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	team, err := s.Storage.Accounts(ctx)
	if err != nil {
		return nil, operationError("read accounts", err)
	}
	members := map[string]bool{}
	for _, other := range team {
		members[other.Name] = other.Role(merchantID) != ""
	}
	entries = slices.DeleteFunc(entries, func(e audit.Entry) bool {
		isOwn := e.Change.Action == "account."+string(Created) && e.Change.Subject == a.Name
		return isOwn || !concerns(e.Change, merchantID, members)
	})
	return entries[max(0, len(entries)-maxNotices):], nil
}

// securityEntries reads the entries about the wallets of a shop, owners and sign-in methods that are above a number and
// not before a time, newest first.
func (s *Service) securityEntries(ctx context.Context, merchantID string, above int64, oldest time.Time) (all []audit.Entry, err error) {
	below := int64(math.MaxInt64)
	for range maxSecurityPages {
		page, err := s.Storage.SecurityEntries(ctx, merchantID, below, securityPage)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Number > above && !e.At.Before(oldest) {
				all = append(all, e)
			}
		}
		if len(page) < securityPage {
			break
		}
		last := page[len(page)-1]
		if below = last.Number; below <= above || last.At.Before(oldest) {
			break
		}
	}
	return all, nil
}

// testMode is the mode of wallets that receive no money.
const testMode = "test"

// MadeOwner reports whether a change of an account made it an owner of a shop.
func MadeOwner(c audit.Change, merchantID string) bool {
	return Role(c.After[roleField(merchantID)]) == Owner
}

// concerns reports whether a change is one of the shop's wallets, of its owners, or of the sign-in methods of its
// members.
func concerns(c audit.Change, merchantID string, members map[string]bool) bool {
	switch Kind(strings.TrimPrefix(c.Action, "account.")) {
	case Created, Removed, RolesChanged:
		return Role(c.Before[roleField(merchantID)]) == Owner || MadeOwner(c, merchantID)
	}
	if c.MerchantID == merchantID {
		return c.Before["mode"] != testMode && c.After["mode"] != testMode
	}
	return members[c.Subject]
}

// DismissNotices dismisses the notices of a shop up to the entry with a number, for one account. Later ones stay: the
// number is at most that of the newest notice.
func (s *Service) DismissNotices(ctx context.Context, a Account, merchantID string, number int64) error {
	shown, err := s.Notices(ctx, a, merchantID)
	if err != nil || len(shown) == 0 {
		return err
	}
	number = min(number, shown[0].Number)
	return s.setPreferences(ctx, a.ID, func(a *Account) audit.Change {
		if number <= a.Preferences.NoticesSeen[merchantID] {
			return audit.Change{}
		}
		seen := maps.Clone(a.Preferences.NoticesSeen)
		if seen == nil {
			seen = map[string]int64{}
		}
		seen[merchantID] = number
		maps.DeleteFunc(seen, func(id string, _ int64) bool { return a.Role(id) == "" })
		a.Preferences.NoticesSeen = seen
		c := accountChange(*a, "account.notices_dismissed")
		c.MerchantID = merchantID
		return c
	})
}
