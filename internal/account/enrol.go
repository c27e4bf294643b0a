package account

import (
	"context"
	"errors"
	"slices"
	"strings"

	"chequer/internal/audit"
)

// PasswordOffer is a prepared sign-in method with a password, which takes effect when the first code
// of the authenticator app is entered.
type PasswordOffer struct {
	Sealed string
	Seed   string // for apps that cannot scan the QR code
	URI    string // text of the QR code
	Codes  []string
}

// offerPassword prepares a password of an account.
func (s *Service) offerPassword(ctx context.Context, purpose string, a Account, password string) (PasswordOffer, error) {
	if err := CheckPassword(password, a.Name); err != nil {
		return PasswordOffer{}, err
	}
	seed, uri, err := newSeed(s.Issuer, a.Name)
	if err != nil {
		return PasswordOffer{}, err
	}
	hash, err := s.cost.hashPassword(ctx, password)
	if err != nil {
		return PasswordOffer{}, err
	}
	codes, hashes := newRecoveryCodes()
	sealed, err := s.sealOffer(offer{Purpose: purpose, Account: a, Password: &Password{
		Hash: hash, Seed: seed, RecoveryCodes: hashes,
	}})
	return PasswordOffer{Sealed: sealed, Seed: seed, URI: uri, Codes: codes}, err
}

// acceptPassword returns the account and the password of an offer, if the code is that of the
// authenticator app. The errors are ErrOffer and ErrCode.
func (s *Service) acceptPassword(purpose, sealed, code string) (Account, *Password, error) {
	o, err := s.openOffer(purpose, sealed)
	if err != nil {
		return Account{}, nil, err
	}
	if o.Password == nil {
		return Account{}, nil, ErrOffer
	}
	if o.Password.LastStep, err = useCode(o.Password.Seed, code, 0, s.Now()); err != nil {
		return Account{}, nil, err
	}
	return o.Account, o.Password, nil
}

// offerPasskey returns the options of the browser's call that creates a passkey, and the sealed offer.
func (s *Service) offerPasskey(purpose string, a Account) (options []byte, sealed string, err error) {
	if s.passkeys == nil {
		return nil, "", ErrPasskey
	}
	options, data, err := beginCreation(s.passkeys, a)
	if err != nil {
		return nil, "", err
	}
	a.SignIn = SignIn{} // not part of the page
	sealed, err = s.sealOffer(offer{Purpose: purpose, Account: a, Passkey: data})
	return options, sealed, err
}

// acceptPasskey returns the account and the passkey that a browser created for an offer. The errors are
// ErrOffer, ErrPasskey and *FieldError.
func (s *Service) acceptPasskey(ctx context.Context, purpose, sealed string, response []byte, name string) (Account, Passkey, error) {
	o, err := s.openOffer(purpose, sealed)
	if err != nil {
		return Account{}, Passkey{}, err
	}
	if s.passkeys == nil || o.Passkey.Challenge == "" {
		return Account{}, Passkey{}, ErrOffer
	}
	if err := s.useChallenge(ctx, o); err != nil {
		return Account{}, Passkey{}, err
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "Passkey"
	}
	if name, err = CheckName(name); err != nil {
		return Account{}, Passkey{}, err
	}
	p, err := finishCreation(s.passkeys, o.Account, o.Passkey, response, name, s.Now())
	return o.Account, p, err
}

// useChallenge uses up the challenge of an offer. It returns ErrPasskey if it was used before.
func (s *Service) useChallenge(ctx context.Context, o offer) error {
	fresh, err := s.Storage.UseNonce(ctx, "desk challenge", o.Passkey.Challenge, s.Now(), offerTTL)
	if err == nil && !fresh {
		err = ErrPasskey
	}
	return operationError("use challenge", err)
}

// The methods below change the sign-in methods of an account that is signed in and has confirmed its
// sign-in.

// accountPurpose returns the purpose of offers to a signed-in account.
func accountPurpose(accountID string) string { return "account " + accountID }

// OfferPassword prepares a password, which replaces the account's password. The error is the *FieldError
// of CheckPassword.
func (s *Service) OfferPassword(ctx context.Context, a Account, password string) (PasswordOffer, error) {
	a.SignIn = SignIn{}
	return s.offerPassword(ctx, accountPurpose(a.ID), a, password)
}

// AcceptPassword sets the password of an offer. The errors are ErrOffer and ErrCode.
func (s *Service) AcceptPassword(ctx context.Context, accountID, sealed, code string) error {
	_, password, err := s.acceptPassword(accountPurpose(accountID), sealed, code)
	if err != nil {
		return err
	}
	_, err = s.Storage.UpdateAccount(ctx, accountID, func(a *Account) (Outcome, error) {
		a.SignIn.Password = password
		return s.changed(*a, PasswordSet, nil), nil
	})
	return operationError("set password", err)
}

// OfferPasskey prepares another passkey of an account. The error is ErrPasskey if the desk has no passkeys.
func (s *Service) OfferPasskey(a Account) (options []byte, sealed string, err error) {
	return s.offerPasskey(accountPurpose(a.ID), a)
}

// AcceptPasskey adds the passkey of an offer to an account. The errors are ErrOffer, ErrPasskey and *FieldError.
func (s *Service) AcceptPasskey(ctx context.Context, accountID, sealed string, response []byte, name string) error {
	_, p, err := s.acceptPasskey(ctx, accountPurpose(accountID), sealed, response, name)
	if err != nil {
		return err
	}
	_, err = s.Storage.UpdateAccount(ctx, accountID, func(a *Account) (Outcome, error) {
		a.SignIn.Passkeys = append(a.SignIn.Passkeys, p)
		o := s.changed(*a, PasskeyAdded, nil)
		o.Entry.After = audit.Fields{"name": p.Name, "host": p.Host}
		return o, nil
	})
	return operationError("add passkey", err)
}

// RemovePassword removes the password of an account. The errors are ErrLastMethod and ErrNotFound.
func (s *Service) RemovePassword(ctx context.Context, accountID string) error {
	return s.removeMethod(ctx, accountID, func(a *Account) (Outcome, error) {
		if a.SignIn.Password == nil {
			return Outcome{}, ErrNotFound
		}
		a.SignIn.Password = nil
		return s.changed(*a, PasswordRemoved, nil), nil
	})
}

// RemovePasskey removes a passkey of an account. The errors are ErrLastMethod and ErrNotFound.
func (s *Service) RemovePasskey(ctx context.Context, accountID, passkeyID string) error {
	return s.removeMethod(ctx, accountID, func(a *Account) (Outcome, error) {
		i := slices.IndexFunc(a.SignIn.Passkeys, func(p Passkey) bool { return p.ID() == passkeyID })
		if i < 0 {
			return Outcome{}, ErrNotFound
		}
		o := s.changed(*a, PasskeyRemoved, nil)
		o.Entry.Before = audit.Fields{"name": a.SignIn.Passkeys[i].Name, "host": a.SignIn.Passkeys[i].Host}
		a.SignIn.Passkeys = slices.Delete(a.SignIn.Passkeys, i, i+1)
		return o, nil
	})
}

// RenamePasskey changes the name of a passkey of an account. The errors are ErrNotFound and *FieldError.
func (s *Service) RenamePasskey(ctx context.Context, accountID, passkeyID, name string) error {
	name, err := CheckName(name)
	if err != nil {
		return err
	}
	_, err = s.Storage.UpdateAccount(ctx, accountID, func(a *Account) (Outcome, error) {
		p := a.SignIn.Passkey(passkeyID)
		if p == nil {
			return Outcome{}, ErrNotFound
		}
		c := accountChange(*a, "account.passkey_renamed").Diff(audit.Fields{"name": p.Name}, audit.Fields{"name": name})
		if p.Name == name {
			c = audit.Change{}
		}
		p.Name = name
		return Outcome{Entry: c}, nil
	})
	return operationError("rename passkey", err)
}

// removeMethod removes a sign-in method. An account keeps a method that works at the current site, if
// it had one.
func (s *Service) removeMethod(ctx context.Context, accountID string, remove func(*Account) (Outcome, error)) error {
	_, err := s.Storage.UpdateAccount(ctx, accountID, func(a *Account) (Outcome, error) {
		before := s.usable(*a)
		o, err := remove(a)
		if err == nil && (a.SignIn.Methods() == 0 || before > 0 && s.usable(*a) == 0) {
			err = ErrLastMethod
		}
		return o, err
	})
	if errors.Is(err, ErrLastMethod) {
		return ErrLastMethod
	}
	return operationError("remove sign-in method", err)
}

// Stranded returns the accounts without a sign-in method that works at the current site, as after a change
// of the base URL.
func (s *Service) Stranded(team []Account) []Account {
	return slices.DeleteFunc(slices.Clone(team), func(a Account) bool { return s.usable(a) > 0 })
}

// usable returns the number of sign-in methods of an account that work at the current site.
func (s *Service) usable(a Account) int {
	a.SignIn.Passkeys = slices.DeleteFunc(slices.Clone(a.SignIn.Passkeys), func(p Passkey) bool { return p.Host != s.Site.Host })
	return a.SignIn.Methods()
}
