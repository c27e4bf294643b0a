package account

import (
	"context"
	"maps"
	"slices"
)

// Team lists all accounts, oldest first.
func (s *Service) Team(ctx context.Context) ([]Account, error) { return s.Storage.Accounts(ctx) }

// ChangeRoles lets change modify the roles of an account, by merchant ID, unless change returns an error.
// The errors are ErrNotFound, ErrLastOwner, *FieldError and those of change.
func (s *Service) ChangeRoles(ctx context.Context, accountID string, change func(roles map[string]Role) error) error {
	return s.Storage.ChangeTeam(ctx, "", func(_ Ticket, accounts []Account) ([]Account, Outcome, error) {
		i, err := indexOf(accounts, accountID)
		if err != nil {
			return nil, Outcome{}, err
		}
		roles := maps.Clone(accounts[i].Roles)
		if err := change(roles); err != nil {
			return nil, Outcome{}, err
		}
		if err := checkRoles(roles); err != nil {
			return nil, Outcome{}, err
		}
		return s.withRoles(accounts, i, roles)
	})
}

// RemoveFrom removes an account from a shop: its role there, or the whole account with its sessions if it
// has no role elsewhere. It reports whether the account was removed. The errors are ErrNotFound, also for
// an account without a role in the shop, and ErrLastOwner.
func (s *Service) RemoveFrom(ctx context.Context, accountID, merchantID string) (removed bool, err error) {
	err = s.Storage.ChangeTeam(ctx, "", func(_ Ticket, accounts []Account) ([]Account, Outcome, error) {
		i, err := indexOf(accounts, accountID)
		if err != nil {
			return nil, Outcome{}, err
		}
		roles := maps.Clone(accounts[i].Roles)
		if roles[merchantID] == "" {
			return nil, Outcome{}, ErrNotFound
		}
		delete(roles, merchantID)
		if removed = len(roles) == 0; removed {
			return s.removeAccount(accounts, i)
		}
		return s.withRoles(accounts, i, roles)
	})
	return removed && err == nil, err
}

// Remove removes an account with its sessions. Its entries of the audit log remain. The errors are
// ErrNotFound and ErrLastOwner.
func (s *Service) Remove(ctx context.Context, accountID string) error {
	return s.Storage.ChangeTeam(ctx, "", func(_ Ticket, accounts []Account) ([]Account, Outcome, error) {
		i, err := indexOf(accounts, accountID)
		if err != nil {
			return nil, Outcome{}, err
		}
		return s.removeAccount(accounts, i)
	})
}

// indexOf returns the index of an account, or ErrNotFound.
func indexOf(accounts []Account, accountID string) (int, error) {
	i := slices.IndexFunc(accounts, func(a Account) bool { return a.ID == accountID })
	if i < 0 {
		return 0, ErrNotFound
	}
	return i, nil
}

// withRoles returns the accounts after the account with an index has other roles.
func (s *Service) withRoles(accounts []Account, i int, roles map[string]Role) ([]Account, Outcome, error) {
	after := slices.Clone(accounts)
	after[i] = after[i].Clone()
	after[i].Roles = roles
	o := s.changed(after[i], RolesChanged, accounts[i].Roles)
	o.Entry = o.Entry.Diff(roleFields(accounts[i].Roles), roleFields(roles))
	return after, o, checkOwners(accounts, after)
}

// removeAccount returns the accounts without the account with an index.
func (s *Service) removeAccount(accounts []Account, i int) ([]Account, Outcome, error) {
	o := s.changed(accounts[i], Removed, nil)
	o.Entry.Before = roleFields(accounts[i].Roles)
	after := slices.Delete(slices.Clone(accounts), i, i+1)
	return after, o, checkOwners(accounts, after)
}

// checkOwners returns ErrLastOwner if a shop that had an owner has none any more.
func checkOwners(before, after []Account) error {
	had, has := shopsWithOwner(before), shopsWithOwner(after)
	for merchantID := range had {
		if !has[merchantID] {
			return ErrLastOwner
		}
	}
	return nil
}

// shopsWithOwner returns the shops that have an owner.
func shopsWithOwner(accounts []Account) map[string]bool {
	shops := map[string]bool{}
	for _, a := range accounts {
		for merchantID, r := range a.Roles {
			if r == Owner {
				shops[merchantID] = true
			}
		}
	}
	return shops
}

// Named returns the account with a name, or ErrNotFound.
func (s *Service) Named(ctx context.Context, name string) (Account, error) {
	return s.Storage.AccountNamed(ctx, NameKey(name))
}

// Account returns an account, or ErrNotFound.
func (s *Service) Account(ctx context.Context, id string) (Account, error) {
	return s.Storage.Account(ctx, id)
}

// Session returns the valid session of a token and its account, or ErrNotFound. It records the use of
// the session.
func (s *Service) Session(ctx context.Context, token string) (Session, Account, error) {
	session, a, err := s.PeekSession(ctx, token)
	if now := s.Now(); err == nil && now.Sub(session.UsedAt) >= touchInterval {
		session.UsedAt = now
		err = operationError("record use of session", s.Storage.UseSession(ctx, session.Hash, now))
	}
	return session, a, err
}

// PeekSession returns what Session returns and records no use: an open page that updates itself does not prolong
// the session.
func (s *Service) PeekSession(ctx context.Context, token string) (Session, Account, error) {
	session, a, err := s.Storage.Session(ctx, HashToken(token))
	if err == nil && !session.Valid(s.Now()) {
		return Session{}, Account{}, ErrNotFound
	}
	return session, a, err
}

// Sessions lists the valid sessions of an account, last used first.
func (s *Service) Sessions(ctx context.Context, accountID string) ([]Session, error) {
	sessions, err := s.Storage.Sessions(ctx, accountID)
	return slices.DeleteFunc(sessions, func(session Session) bool { return !session.Valid(s.Now()) }), err
}

// EndSession ends a session of an account by its ID. It returns ErrNotFound if there is no such session.
func (s *Service) EndSession(ctx context.Context, a Account, id string) error {
	return s.Storage.EndSession(ctx, a.ID, id, accountChange(a, "session.ended"))
}

// EndSessions ends the sessions of an account except that with keptHash, and returns the number of ended sessions.
func (s *Service) EndSessions(ctx context.Context, a Account, keptHash string) (int, error) {
	return s.Storage.EndSessions(ctx, a.ID, keptHash, accountChange(a, "account.sessions_ended"))
}
