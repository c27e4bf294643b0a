package merchant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Terminal is a phone at a counter: whoever has its secret address makes invoices of
// any amount for the merchant.
type Terminal struct {
	ID         string
	MerchantID string
	Mode       Mode
	Name       string // "Bar"
	Currency   string // code
	Methods    Methods
	Secret     string // only when it is made; its hash is kept
	CreatedAt  time.Time
}

// TerminalStorage keeps terminals. It is safe for concurrent use.
type TerminalStorage interface {
	// CreateTerminal writes a terminal under the hash of its secret.
	CreateTerminal(ctx context.Context, t Terminal, hash string) error
	// Terminal finds a terminal by the hash of its secret; ErrNotFound.
	Terminal(ctx context.Context, hash string) (Terminal, error)
	// Terminals lists a merchant's terminals, oldest first.
	Terminals(ctx context.Context, merchantID string) ([]Terminal, error)
	// RemoveTerminal ends a merchant's terminal; ErrNotFound.
	RemoveTerminal(ctx context.Context, merchantID, id string) error
}

// TerminalsConfig is what Terminals are made of.
type TerminalsConfig struct {
	Storage TerminalStorage
	// Check is an error for a terminal that no invoice could be made by.
	Check func(Terminal) error
	Now   func() time.Time
	// Token makes random letters and digits.
	Token func(length int) string
}

// Terminals makes, finds and ends terminals. It is safe for concurrent use.
type Terminals struct {
	storage TerminalStorage
	check   func(Terminal) error
	now     func() time.Time
	token   func(length int) string
}

// NewTerminals makes Terminals.
func NewTerminals(c TerminalsConfig) *Terminals {
	return &Terminals{storage: c.Storage, check: c.Check, now: c.Now, token: c.Token}
}

// Create makes a terminal; its secret is told only now.
func (s *Terminals) Create(ctx context.Context, t Terminal) (Terminal, error) {
	t.ID, t.Secret, t.CreatedAt = "pos_"+s.token(16), s.token(32), s.now()
	if err := s.check(t); err != nil {
		return Terminal{}, err
	}
	if err := s.storage.CreateTerminal(ctx, t, hashed(t.Secret)); err != nil {
		return Terminal{}, fmt.Errorf("create terminal: %w", err)
	}
	return t, nil
}

// Find finds a terminal by its secret; ErrNotFound.
func (s *Terminals) Find(ctx context.Context, secret string) (Terminal, error) {
	return s.storage.Terminal(ctx, hashed(secret))
}

// List lists a merchant's terminals, oldest first.
func (s *Terminals) List(ctx context.Context, merchantID string) ([]Terminal, error) {
	return s.storage.Terminals(ctx, merchantID)
}

// Remove ends a merchant's terminal; ErrNotFound. Invoices that it made stay.
func (s *Terminals) Remove(ctx context.Context, merchantID, id string) error {
	return s.storage.RemoveTerminal(ctx, merchantID, id)
}

// hashed is what is kept of a secret. It is long and random, so a plain hash is as
// good as a slow one.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
