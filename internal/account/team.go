package account

import (
	"context"
	"maps"
	"slices"
)

// Team lists all accounts, oldest first.
func (s *Service) Team(ctx context.Context) ([]Account, error) { return s.Storage.Accounts(ctx) }

// SetRoles sets the roles of an account; ErrNotFound, ErrLastOwner and a *FieldError.
func (s *Service) SetRoles(ctx context.Context, accountID string, roles map[string]Role) error {
	if err := checkRoles(roles); err != nil {
		return err
	}
	return s.Storage.ChangeTeam(ctx, "", func(_ Ticket, all []Account) ([]Account, Outcome, error) {
		i := slices.IndexFunc(all, func(a Account) bool { return a.ID == accountID })
		if i < 0 {
			return nil, Outcome{}, ErrNotFound
		}
		before := slices.Clone(all)
		all[i] = all[i].Clone()
		all[i].Roles = maps.Clone(roles)
		o := s.changed(all[i], RolesChanged, before[i].Roles)
		o.Entry = o.Entry.Diff(roleFields(before[i].Roles), roleFields(roles))
		return all, o, keepsOwners(before, all)
	})
}

// Remove removes an account with its sessions. Its entries of the audit log remain. The errors are
// ErrNotFound and ErrLastOwner.
func (s *Service) Remove(ctx context.Context, accountID string) error {
	return s.Storage.ChangeTeam(ctx, "", func(_ Ticket, all []Account) ([]Account, Outcome, error) {
		i := slices.IndexFunc(all, func(a Account) bool { return a.ID == accountID })
		if i < 0 {
			return nil, Outcome{}, ErrNotFound
		}
		o := s.changed(all[i], Removed, nil)
		o.Entry.Before = roleFields(all[i].Roles)
		left := slices.Delete(slices.Clone(all), i, i+1)
		return left, o, keepsOwners(all, left)
	})
}

// keepsOwners returns ErrLastOwner if a shop that had an owner has none any more.
func keepsOwners(before, after []Account) error {
	had, has := owned(before), owned(after)
	for merchantID := range had {
		if !has[merchantID] {
			return ErrLastOwner
		}
	}
	return nil
}

// owned returns the shops that have an owner.
func owned(all []Account) map[string]bool {
	shops := map[string]bool{}
	for _, a := range all {
		for merchantID, r := range a.Roles {
			if r == Owner {
				shops[merchantID] = true
			}
		}
	}
	return shops
}

// Named returns the account with a name; ErrNotFound.
func (s *Service) Named(ctx context.Context, name string) (Account, error) {
	return s.Storage.AccountNamed(ctx, NameKey(name))
}

// Account returns an account; ErrNotFound.
func (s *Service) Account(ctx context.Context, id string) (Account, error) {
	return s.Storage.Account(ctx, id)
}

// Session returns the valid session of a token, and its account; ErrNotFound. It records the use of
// the session.
func (s *Service) Session(ctx context.Context, token string) (Session, Account, error) {
	session, a, err := s.Storage.Session(ctx, HashToken(token))
	if err != nil {
		return session, a, err
	}
	now := s.Now()
	if !session.Valid(now) {
		return Session{}, Account{}, ErrNotFound
	}
	if now.Sub(session.UsedAt) >= touchInterval {
		session.UsedAt = now
		err = s.Storage.UseSession(ctx, session.Hash, now)
	}
	return session, a, doing("record use of session", err)
}

// Sessions lists the valid sessions of an account, last used first.
func (s *Service) Sessions(ctx context.Context, accountID string) ([]Session, error) {
	all, err := s.Storage.Sessions(ctx, accountID)
	return slices.DeleteFunc(all, func(session Session) bool { return !session.Valid(s.Now()) }), err
}

// EndSession ends a session of an account by its ID; ErrNotFound.
func (s *Service) EndSession(ctx context.Context, a Account, id string) error {
	return s.Storage.EndSession(ctx, a.ID, id, about(a, "session.ended"))
}

// EndSessions ends the sessions of an account except that with the hash keep, and returns their number.
func (s *Service) EndSessions(ctx context.Context, a Account, keep string) (int, error) {
	return s.Storage.EndSessions(ctx, a.ID, keep, about(a, "account.sessions_ended"))
}
