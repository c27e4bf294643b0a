package account

import (
	"context"
	"maps"
	"slices"
	"strings"

	"chequer/internal/audit"
)

// Link is a new ticket with its token, which is shown once.
type Link struct {
	Ticket Ticket
	Token  string
}

// URL returns the address of a link. The token is its fragment, which browsers do not send, so that it
// is in no log of a proxy. The error is ErrInsecure if the desk has no site.
func (s *Service) URL(l Link) (string, error) {
	if s.Site == (Site{}) {
		return "", ErrInsecure
	}
	return s.Site.URL("/desk/start") + "#" + l.Token, nil
}

// NewStart returns a link that creates the owner of the given shops. It returns ErrSetUp if there is an
// account.
func (s *Service) NewStart(ctx context.Context, merchantIDs ...string) (Link, error) {
	exists, err := s.SetUp(ctx)
	if err != nil {
		return Link{}, err
	}
	if exists {
		return Link{}, ErrSetUp
	}
	roles := map[string]Role{}
	for _, id := range merchantIDs {
		roles[id] = Owner
	}
	return s.newTicket(ctx, Ticket{Kind: StartTicket, Roles: roles}, audit.Change{Action: "desk.link_created"})
}

// Invite returns a link that creates an account with fixed roles. The error is a *FieldError if a role is wrong.
func (s *Service) Invite(ctx context.Context, roles map[string]Role) (Link, error) {
	if err := checkRoles(roles); err != nil {
		return Link{}, err
	}
	return s.newTicket(ctx, Ticket{Kind: InvitationTicket, Roles: maps.Clone(roles)}, audit.Change{Action: "account.invited", After: roleFields(roles)})
}

// Recover ends the sessions of the account with the given name, and returns a link that adds a sign-in
// method to it. It returns ErrNotFound if there is no such account.
func (s *Service) Recover(ctx context.Context, name string) (Link, error) {
	a, err := s.Storage.AccountNamed(ctx, NameKey(name))
	if err != nil {
		return Link{}, err
	}
	link, err := s.newTicket(ctx, Ticket{Kind: RecoveryTicket, AccountID: a.ID}, accountChange(a, "account."+string(RecoveryCreated)))
	if err != nil {
		return Link{}, err
	}
	_, err = s.Storage.EndSessions(ctx, a.ID, "", accountChange(a, "account.sessions_ended"))
	return link, operationError("end sessions", err)
}

func (s *Service) newTicket(ctx context.Context, t Ticket, c audit.Change) (Link, error) {
	token := newSecret(ticketSize)
	t.Hash, t.ID, t.CreatedBy, t.CreatedAt = HashToken(token), "tkt_"+s.Token(12), audit.ActorOf(ctx).String(), s.Now()
	t.ExpiresAt = t.CreatedAt.Add(lifetimes[t.Kind])
	return Link{Ticket: t, Token: token}, operationError("create link", s.Storage.CreateTicket(ctx, t, c))
}

// Invitations lists the valid invitations, oldest first.
func (s *Service) Invitations(ctx context.Context) ([]Ticket, error) {
	return s.Storage.Tickets(ctx, InvitationTicket, s.Now())
}

// Withdraw removes an invitation. It returns ErrNotFound if there is no such invitation.
func (s *Service) Withdraw(ctx context.Context, id string) error {
	return s.Storage.RemoveTicket(ctx, id, audit.Change{Action: "account.invitation_withdrawn", Subject: id})
}

// Ticket returns the valid ticket of a token, and the account of a recovery. For a ticket of another kind, the account
// has only the roles of the ticket. The error is ErrTicket.
func (s *Service) Ticket(ctx context.Context, token string) (Ticket, Account, error) {
	t, err := s.Storage.Ticket(ctx, HashToken(token))
	if err != nil {
		return t, Account{}, err
	}
	if !t.Valid(s.Now()) {
		return t, Account{}, ErrTicket
	}
	if t.Kind != RecoveryTicket {
		return t, Account{Roles: t.Roles}, nil
	}
	a, err := s.Storage.Account(ctx, t.AccountID)
	return t, a, notFoundAs(err, ErrTicket)
}

// joiningAccount returns the account that a ticket recovers, or a new account with the given name and the
// roles of the ticket. purpose binds offers to the ticket.
func (s *Service) joiningAccount(ctx context.Context, token, name string) (a Account, purpose string, err error) {
	t, a, err := s.Ticket(ctx, token)
	if err != nil || t.Kind == RecoveryTicket {
		return a, "ticket " + t.Hash, err
	}
	if name, err = CheckName(name); err != nil {
		return a, "", err
	}
	accounts, err := s.Storage.Accounts(ctx)
	if err != nil {
		return a, "", err
	}
	if slices.ContainsFunc(accounts, func(other Account) bool { return NameKey(other.Name) == NameKey(name) }) {
		return a, "", ErrExists
	}
	return s.newAccount(name, t.Roles), "ticket " + t.Hash, nil
}

// OfferJoinPassword prepares a password for the account of a link. name is the name of the new account; it
// is ignored for a recovery. The errors are ErrTicket, ErrExists and *FieldError.
func (s *Service) OfferJoinPassword(ctx context.Context, token, name, password string) (PasswordOffer, error) {
	a, purpose, err := s.joiningAccount(ctx, token, name)
	if err != nil {
		return PasswordOffer{}, err
	}
	a.SignIn = SignIn{}
	return s.offerPassword(ctx, purpose, a, password)
}

// JoinPassword uses up a link with a prepared password, and signs in. The errors are ErrTicket,
// ErrExists, ErrOffer and ErrCode.
func (s *Service) JoinPassword(ctx context.Context, token, sealed, code string, client Client, former string) (SignedIn, error) {
	a, password, err := s.acceptPassword("ticket "+HashToken(token), sealed, code)
	if err != nil {
		return SignedIn{}, err
	}
	return s.join(ctx, token, a, client, former, func(in *SignIn) { in.Password = password })
}

// OfferJoinPasskey prepares a passkey for the account of a link. name is the name of the new account; it is
// ignored for a recovery. The errors are ErrTicket, ErrExists, ErrPasskey and *FieldError.
func (s *Service) OfferJoinPasskey(ctx context.Context, token, name string) (options []byte, sealed string, err error) {
	a, purpose, err := s.joiningAccount(ctx, token, name)
	if err != nil {
		return nil, "", err
	}
	return s.offerPasskey(purpose, a)
}

// JoinPasskey uses up a link with the passkey that a browser created, and signs in. The errors are
// ErrTicket, ErrExists, ErrOffer, ErrPasskey and *FieldError.
func (s *Service) JoinPasskey(ctx context.Context, token, sealed string, response []byte, passkeyName string, client Client, former string) (SignedIn, error) {
	a, p, err := s.acceptPasskey(ctx, "ticket "+HashToken(token), sealed, response, passkeyName)
	if err != nil {
		return SignedIn{}, err
	}
	return s.join(ctx, token, a, client, former, func(in *SignIn) { in.Passkeys = append(in.Passkeys, p) })
}

// join writes the account of a link with its sign-in method, uses up the link and signs in.
func (s *Service) join(ctx context.Context, token string, a Account, client Client, former string, add func(*SignIn)) (SignedIn, error) {
	ctx = audit.WithActor(ctx, actor(a, client, false))
	var kind TicketKind
	err := s.Storage.ChangeTeam(ctx, HashToken(token), func(t Ticket, accounts []Account) ([]Account, Outcome, error) {
		if !t.Valid(s.Now()) || t.Kind == StartTicket && len(accounts) > 0 {
			return nil, Outcome{}, ErrTicket
		}
		kind = t.Kind
		if t.Kind == RecoveryTicket {
			return s.recoverAccount(t, accounts, add)
		}
		joined := a.Clone()
		joined.Roles, joined.SignIn = t.Roles, SignIn{}
		add(&joined.SignIn)
		o := s.changed(joined, Created, nil)
		o.Entry.After = roleFields(t.Roles)
		return append(accounts, joined), o, nil
	})
	if err != nil {
		return SignedIn{}, operationError("use link", err)
	}
	if kind == RecoveryTicket {
		if _, err := s.Storage.EndSessions(ctx, a.ID, "", accountChange(a, "account.sessions_ended")); err != nil {
			return SignedIn{}, operationError("end sessions", err)
		}
	}
	if err := s.Storage.UpdateAttempts(ctx, nameSubject(a.Name), s.Now(), func(a *Attempts) error { a.Reset(); return nil }); err != nil {
		return SignedIn{}, err
	}
	in, err := s.openSession(ctx, a, ByTicket, client, former)
	in.Ticket = kind
	return in, err
}

// recoverAccount adds a sign-in method to the account of a recovery.
func (s *Service) recoverAccount(t Ticket, accounts []Account, add func(*SignIn)) ([]Account, Outcome, error) {
	for i := range accounts {
		if accounts[i].ID == t.AccountID {
			accounts[i] = accounts[i].Clone()
			add(&accounts[i].SignIn)
			return accounts, s.changed(accounts[i], Recovered, nil), nil
		}
	}
	return nil, Outcome{}, ErrTicket
}

// checkRoles returns a *FieldError if there is no role, or an unknown one.
func checkRoles(roles map[string]Role) error {
	if len(roles) == 0 {
		return &FieldError{"role", "must be given for at least one shop"}
	}
	for _, r := range roles {
		if !r.Known() {
			return &FieldError{"role", "must be one of " + strings.Join(roleNames(), ", ")}
		}
	}
	return nil
}

func roleNames() (names []string) {
	for _, r := range Roles {
		names = append(names, string(r))
	}
	return names
}

// roleFields returns roles as audit fields.
func roleFields(roles map[string]Role) audit.Fields {
	f := audit.Fields{}
	for merchantID, r := range roles {
		f[roleField(merchantID)] = string(r)
	}
	return f
}

// roleField returns the name of the audit field with the role in a shop.
func roleField(merchantID string) string { return "role in " + merchantID }
