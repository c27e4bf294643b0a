package account

import (
	"context"
	"strconv"

	"chequer/internal/audit"
)

// Preferences are the choices of an account for the pages of the desk.
type Preferences struct {
	NoShortcuts bool `json:"no_shortcuts,omitempty"` // single keys do nothing
	// NoticesSeen are the numbers of the entries of the audit log up to which notices are dismissed, by merchant ID.
	NoticesSeen map[string]int64 `json:"notices_seen,omitempty"`
}

// SetShortcuts sets whether single keys open the places of the desk.
func (s *Service) SetShortcuts(ctx context.Context, accountID string, on bool) error {
	return s.setPreferences(ctx, accountID, func(a *Account) audit.Change {
		if a.Preferences.NoShortcuts == !on {
			return audit.Change{}
		}
		a.Preferences.NoShortcuts = !on
		return accountChange(*a, "account.shortcuts_set").Diff(audit.Fields{"on": strconv.FormatBool(!on)}, audit.Fields{"on": strconv.FormatBool(on)})
	})
}

// setPreferences changes the preferences of an account with an entry of the audit log.
func (s *Service) setPreferences(ctx context.Context, accountID string, change func(*Account) audit.Change) error {
	_, err := s.Storage.UpdateAccount(ctx, accountID, func(a *Account) (Outcome, error) { return Outcome{Entry: change(a)}, nil })
	return operationError("set preferences", err)
}
