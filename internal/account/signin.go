package account

import (
	"context"
	"errors"

	"chequer/internal/audit"
)

// SignedIn is the result of a sign-in. Token is the session's token, which is not stored.
type SignedIn struct {
	Account Account
	Session Session
	Token   string
	// Ticket is the kind of the link that was used; "" for a sign-in with a passkey or a password.
	Ticket TicketKind
}

// SignInPassword signs in with a name, a password, and a code of the authenticator app or a recovery
// code. former is the hash of the browser's previous session, which ends; "" if there is none. The errors
// are ErrSignIn and *WaitError.
func (s *Service) SignInPassword(ctx context.Context, name, password, code string, client Client, former string) (SignedIn, error) {
	a, method, err := s.authenticate(ctx, name, password, code, client, true)
	if err != nil {
		return SignedIn{}, err
	}
	return s.openSession(ctx, a, method, client, former)
}

// authenticate verifies a name, a password and a code, and uses up the code. For an unknown name it returns the
// error of a wrong password, after the same time. recovery allows a recovery code in place of the app's code.
func (s *Service) authenticate(ctx context.Context, name, password, code string, client Client, recovery bool) (Account, Method, error) {
	byAddress, byName := "address "+client.Address, nameSubject(name)
	for _, subject := range []string{byAddress, byName} {
		err := s.Storage.UpdateAttempts(ctx, subject, s.Now(), func(a *Attempts) error { return a.Begin(s.Now()) })
		if err != nil {
			return Account{}, "", err
		}
	}
	a, method, err := s.verifyPassword(ctx, name, password, code, recovery)
	if errors.Is(err, ErrSignIn) {
		return Account{}, "", errors.Join(err, s.disablePassword(ctx, byName))
	}
	if err != nil {
		return Account{}, "", err
	}
	// An attacker with an account cannot reset the failures of an address by signing in: only the current attempt is
	// removed from them.
	for subject, forget := range map[string]func(*Attempts){byAddress: (*Attempts).Undo, byName: (*Attempts).Reset} {
		if err := s.Storage.UpdateAttempts(ctx, subject, s.Now(), func(a *Attempts) error { forget(a); return nil }); err != nil {
			return Account{}, "", err
		}
	}
	return a, method, nil
}

// nameSubject returns the subject of the attempts with a name.
func nameSubject(name string) string { return "name " + HashToken(NameKey(name)) }

// disablePassword disables the password of a name after too many failures, and then writes one entry of the audit log.
func (s *Service) disablePassword(ctx context.Context, subject string) error {
	disabled := false
	err := s.Storage.UpdateAttempts(ctx, subject, s.Now(), func(a *Attempts) error {
		disabled = a.Disable(s.Now())
		return nil
	})
	if err != nil || !disabled {
		return err
	}
	return s.Storage.Record(ctx, audit.Change{Action: "sign_in.disabled", After: audit.Fields{"for": disabledFor.String()}})
}

// verifyPassword verifies a password and a code, and uses up the code. It returns ErrSignIn if any of
// them is wrong.
func (s *Service) verifyPassword(ctx context.Context, name, password, code string, recovery bool) (Account, Method, error) {
	a, err := s.Storage.AccountNamed(ctx, NameKey(name))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Account{}, "", err
	}
	hash := s.absent
	if err == nil && a.SignIn.Password != nil {
		hash = a.SignIn.Password.Hash
	}
	fits, err := matchesHash(ctx, hash, password)
	if err == nil && !fits {
		err = ErrSignIn
	}
	if err != nil {
		return Account{}, "", err
	}
	var method Method
	a, err = s.Storage.UpdateAccount(ctx, a.ID, func(a *Account) (o Outcome, err error) {
		if a.SignIn.Password == nil || a.SignIn.Password.Hash != hash { // changed in the meantime
			return o, ErrSignIn
		}
		method, err = a.SignIn.Password.use(code, s.Now(), recovery)
		return o, err // the entry of the log is that of the session
	})
	return a, method, notFoundAs(err, ErrSignIn)
}

// OfferSignIn returns the options of the browser's call that signs in with a passkey, and the sealed
// offer. The error is ErrPasskey if the desk has no passkeys.
func (s *Service) OfferSignIn() (options []byte, sealed string, err error) {
	return s.offerAssertion(signInPurpose)
}

const signInPurpose = "sign-in"

func (s *Service) offerAssertion(purpose string) (options []byte, sealed string, err error) {
	if s.passkeys == nil {
		return nil, "", ErrPasskey
	}
	options, data, err := beginAssertion(s.passkeys)
	if err != nil {
		return nil, "", err
	}
	sealed, err = s.sealOffer(offer{Purpose: purpose, Passkey: data})
	return options, sealed, err
}

// SignInPasskey signs in with the response of an authenticator. former is the hash of the browser's
// previous session, which ends; "" if there is none. The errors are ErrOffer and ErrPasskey.
func (s *Service) SignInPasskey(ctx context.Context, sealed string, response []byte, client Client, former string) (SignedIn, error) {
	a, err := s.checkPasskey(ctx, signInPurpose, sealed, response, "")
	if err != nil {
		return SignedIn{}, err
	}
	return s.openSession(ctx, a, ByPasskey, client, former)
}

// checkPasskey verifies the response of an authenticator. If accountID is not "", the passkey must be
// one of that account. The errors are ErrOffer and ErrPasskey.
func (s *Service) checkPasskey(ctx context.Context, purpose, sealed string, response []byte, accountID string) (Account, error) {
	o, err := s.openOffer(purpose, sealed)
	if err != nil {
		return Account{}, err
	}
	if s.passkeys == nil || o.Passkey.Challenge == "" {
		return Account{}, ErrOffer
	}
	id, parsed, err := parseAssertion(response)
	if err != nil {
		return Account{}, err
	}
	if accountID != "" && id != accountID {
		return Account{}, ErrPasskey
	}
	if err := s.useChallenge(ctx, o); err != nil {
		return Account{}, err
	}
	a, err := s.Storage.UpdateAccount(ctx, id, func(a *Account) (Outcome, error) {
		return Outcome{}, a.usePasskey(s.passkeys, o.Passkey, parsed, s.Now()) // the entry of the log is that of the session
	})
	return a, notFoundAs(err, ErrPasskey)
}

// openSession creates a session with a new token, and ends the former session of the browser.
func (s *Service) openSession(ctx context.Context, a Account, method Method, client Client, former string) (SignedIn, error) {
	now, token := s.Now(), newSecret(sessionSize)
	session := Session{Hash: HashToken(token), AccountID: a.ID, Method: method, Client: client, CreatedAt: now, UsedAt: now}
	if method != ByRecovery {
		session.SteppedUpAt = now
	}
	c := accountChange(a, "session.created")
	c.After = audit.Fields{"method": string(method), "browser": client.Browser}
	err := s.Storage.CreateSession(audit.WithActor(ctx, actor(a, client, false)), session, former, c)
	return SignedIn{Account: a, Session: session, Token: token}, operationError("create session", err)
}

// OfferStepUp returns the options of the browser's call that confirms the sign-in of a session with a
// passkey, and the sealed offer.
func (s *Service) OfferStepUp(session Session) (options []byte, sealed string, err error) {
	return s.offerAssertion("step-up " + session.Hash)
}

// StepUpPasskey confirms the sign-in of a session. The errors are ErrOffer and ErrPasskey.
func (s *Service) StepUpPasskey(ctx context.Context, session Session, sealed string, response []byte) error {
	a, err := s.checkPasskey(ctx, "step-up "+session.Hash, sealed, response, session.AccountID)
	if err != nil {
		return err
	}
	return s.stepUp(ctx, a, session, ByPasskey)
}

// StepUpPassword confirms the sign-in of a session with a password and a code of the authenticator
// app. The errors are ErrSignIn and *WaitError. A recovery code is refused.
func (s *Service) StepUpPassword(ctx context.Context, a Account, session Session, password, code string) error {
	a, method, err := s.authenticate(ctx, a.Name, password, code, session.Client, false)
	if err != nil {
		return err
	}
	return s.stepUp(ctx, a, session, method)
}

func (s *Service) stepUp(ctx context.Context, a Account, session Session, method Method) error {
	c := accountChange(a, "session.stepped_up")
	c.After = audit.Fields{"method": string(method)}
	return operationError("confirm sign-in", s.Storage.StepUpSession(ctx, session.Hash, s.Now(), c))
}
