package account_test

import (
	"context"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
)

// securityLog is a log of changes of accounts.
type securityLog struct {
	account.Storage
	entries []audit.Entry // newest first, all about accounts
	team    []account.Account
}

func (l securityLog) SecurityEntries(_ context.Context, _ string, below int64, limit int) (page []audit.Entry, err error) {
	for _, e := range l.entries {
		if e.Number < below && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

func (l securityLog) Accounts(context.Context) ([]account.Account, error) { return l.team, nil }

// Many changes of passkeys in other shops do not hide the notice of a new owner.
func TestNotices_are_found_among_those_of_other_shops(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	l := securityLog{team: []account.Account{
		{ID: "1", Name: "Maren", Roles: map[string]account.Role{"shop": account.Owner}},
		{ID: "2", Name: "Kai", Roles: map[string]account.Role{"bakery": account.Seller}},
	}}
	for n := int64(300); n > 1; n-- {
		l.entries = append(l.entries, audit.Entry{Number: n, At: now, Change: audit.Change{Action: "account.passkey_added", Subject: "Kai"}})
	}
	l.entries = append(l.entries, audit.Entry{Number: 1, At: now, Change: audit.Change{Action: "account.roles_changed", Subject: "Eve", After: audit.Fields{"role in shop": "owner"}}})
	s, err := account.NewService(account.Config{Storage: l, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Notices(t.Context(), l.team[0], "shop")
	if err != nil || len(got) != 1 {
		t.Errorf("%d notices, error %v, want that of the new owner", len(got), err)
	}
}
