package merchant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"
)

// Terminal is a counter terminal: every user of its secret URL can create invoices of any amount
// for the merchant.
type Terminal struct {
	ID         string
	MerchantID string
	Mode       Mode
	Name       string // "Bar"
	Currency   string // code
	Methods    Methods
	Secret     string // set only by Create; storage has its hash
	CreatedAt  time.Time
}

// maxTerminalName bounds the name of a terminal, in characters.
const maxTerminalName = 64

// validate returns a *FieldError for a terminal that cannot create invoices.
func (t Terminal) validate(prices Prices) error {
	_, currency := prices.Parse("1", t.Currency)
	return cmp.Or(invalid("name", CheckLine(t.Name, maxTerminalName)), currency)
}

// TerminalStorage stores terminals. It is safe for concurrent use.
type TerminalStorage interface {
	// CreateTerminal writes a terminal with the hash of its secret.
	CreateTerminal(ctx context.Context, t Terminal, hash string) error
	// Terminal returns a terminal by the hash of its secret, or ErrNotFound.
	Terminal(ctx context.Context, hash string) (Terminal, error)
	// Terminals lists a merchant's terminals, oldest first.
	Terminals(ctx context.Context, merchantID string) ([]Terminal, error)
	// RemoveTerminal deletes a merchant's terminal, or returns ErrNotFound.
	RemoveTerminal(ctx context.Context, merchantID, id string) error
}

// TerminalsConfig configures Terminals.
type TerminalsConfig struct {
	Storage TerminalStorage
	Prices  Prices
	Now     func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Terminals manages terminals. It is safe for concurrent use.
type Terminals struct {
	storage TerminalStorage
	prices  Prices
	now     func() time.Time
	token   func(length int) string
}

// NewTerminals returns a new Terminals.
func NewTerminals(c TerminalsConfig) *Terminals {
	return &Terminals{storage: c.Storage, prices: c.Prices, now: c.Now, token: c.Token}
}

// Create makes a terminal. Only the returned Terminal contains the secret. The error may be a
// *FieldError.
func (s *Terminals) Create(ctx context.Context, t Terminal) (Terminal, error) {
	t.ID, t.Secret, t.CreatedAt = "pos_"+s.token(16), s.token(32), s.now()
	if err := t.validate(s.prices); err != nil {
		return Terminal{}, err
	}
	if err := s.storage.CreateTerminal(ctx, t, hashSecret(t.Secret)); err != nil {
		return Terminal{}, fmt.Errorf("create terminal: %w", err)
	}
	return t, nil
}

// terminalSecret matches the secret of a terminal; other texts are never looked up.
var terminalSecret = regexp.MustCompile(`^[A-Za-z0-9]{32}$`)

// Find returns a terminal by its secret, or ErrNotFound.
func (s *Terminals) Find(ctx context.Context, secret string) (Terminal, error) {
	if !terminalSecret.MatchString(secret) {
		return Terminal{}, ErrNotFound
	}
	return s.storage.Terminal(ctx, hashSecret(secret))
}

// List lists a merchant's terminals, oldest first.
func (s *Terminals) List(ctx context.Context, merchantID string) ([]Terminal, error) {
	return s.storage.Terminals(ctx, merchantID)
}

// Remove deletes a merchant's terminal, or returns ErrNotFound. Its invoices are kept.
func (s *Terminals) Remove(ctx context.Context, merchantID, id string) error {
	return s.storage.RemoveTerminal(ctx, merchantID, id)
}

// hashSecret returns the hash of a secret for storage. The secret is long and random, so a fast hash is
// sufficient.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
