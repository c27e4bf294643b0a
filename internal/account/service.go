package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"chequer/internal/audit"
	"chequer/internal/seal"
)

// Config configures a Service.
type Config struct {
	Storage Storage
	Box     *seal.Box
	Site    Site
	// Issuer is the name that authenticator apps and passkeys show.
	Issuer string
	// HashMemory is the memory in KiB that the hash of a password takes; 0 means that of RFC 9106. Tests
	// use a small value.
	HashMemory uint32
	// Encode returns the body of an event.
	Encode func(Event) []byte
	Now    func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Service manages accounts. It is safe for concurrent use.
type Service struct {
	Config
	passkeys *webauthn.WebAuthn // nil if the site allows none
	cost     cost
	absent   string // hash that no password has, for names without an account
}

// NewService returns a new Service.
func NewService(c Config) (*Service, error) {
	passkeys, err := relyingParty(c.Site, c.Issuer)
	if err != nil {
		return nil, err
	}
	cost := defaultCost
	if c.HashMemory > 0 {
		cost.memory = c.HashMemory
	}
	return &Service{Config: c, passkeys: passkeys, cost: cost, absent: cost.absent()}, nil
}

// absent returns a hash that takes as long to compare as others, and equals that of no password.
func (c cost) absent() string {
	return c.text(make([]byte, saltSize), make([]byte, hashSize))
}

// HasPasskeys reports whether browsers allow passkeys at the site.
func (s *Service) HasPasskeys() bool { return s.passkeys != nil }

// SetUp reports whether there is an account.
func (s *Service) SetUp(ctx context.Context) (bool, error) {
	accounts, err := s.Storage.Accounts(ctx)
	return len(accounts) > 0, err
}

// actor returns the actor of changes that an account makes.
func actor(a Account, c Client, steppedUp bool) audit.Actor {
	return audit.Actor{Kind: audit.Account, ID: a.ID, Name: a.Name, Address: c.Address, SteppedUp: steppedUp}
}

// Actor returns the actor of changes that an account makes in a session.
func (s *Service) Actor(a Account, session Session) audit.Actor {
	return actor(a, session.Client, session.SteppedUp(s.Now()))
}

// newAccount returns a new account.
func (s *Service) newAccount(name string, roles map[string]Role) Account {
	return Account{ID: "acc_" + s.Token(16), Name: name, Roles: roles, CreatedAt: s.Now()}
}

// notFoundAs returns replacement if err is ErrNotFound, which would reveal whether an account exists; otherwise err.
func notFoundAs(err, replacement error) error {
	if errors.Is(err, ErrNotFound) {
		return replacement
	}
	return err
}

// operationError adds the failed operation to an error.
func operationError(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
