package merchant

import (
	"context"
	"errors"
	"time"
)

// ExchangeAccount is a merchant's own account at an exchange, and what is sold
// there of what his invoices bring.
type ExchangeAccount struct {
	ID         string
	MerchantID string
	Exchange   string // "kraken"
	Key        string
	Secret     string   // sealed where it is stored
	Coins      []string // that are sold, by the codes of their rates
	Smallest   string   // euro value of a sale, in plain digits
	Slippage   int64    // hundredths of a percent below an invoice's rate
	Active     bool     // off: nothing is sold, and what waits goes on waiting
	CreatedAt  time.Time
	ArchivedAt time.Time // zero while it is in force
}

// ErrBusy means that an order is on its way, or nobody knows yet what became of one.
var ErrBusy = errors.New("an order is on its way, or it is not known yet what became of one")

// ExchangeStorage keeps exchange accounts. Rows are sealed and checked as in
// Storage. It is safe for concurrent use.
type ExchangeStorage interface {
	// CreateExchangeAccount writes an account; ErrExists when one is in force.
	CreateExchangeAccount(ctx context.Context, a ExchangeAccount) error
	// ExchangeAccount reads the merchant's account in force; ErrNotFound.
	ExchangeAccount(ctx context.Context, merchantID string) (ExchangeAccount, error)
	// UpdateExchangeAccount locks the account in force, lets change decide, and writes
	// it; ErrNotFound. ErrBusy when change archives one that has an order of unknown
	// outcome.
	UpdateExchangeAccount(ctx context.Context, merchantID string, change func(*ExchangeAccount) error) (ExchangeAccount, error)
}

// Exchange reads the merchant's exchange account in force; ErrNotFound. It is as
// fresh as keys are.
func (s *Service) Exchange(ctx context.Context, merchantID string) (ExchangeAccount, error) {
	f, err := recall(s, s.exchange, merchantID, func() (exchangeFound, error) {
		a, err := s.storage.ExchangeAccount(ctx, merchantID)
		if errors.Is(err, ErrNotFound) {
			return exchangeFound{}, nil
		}
		return exchangeFound{a, true}, err
	})
	if err == nil && !f.known {
		err = ErrNotFound
	}
	return f.account, err
}

// exchangeFound is an account, or that there is none: nearly every merchant has
// none, and that is remembered as well.
type exchangeFound struct {
	account ExchangeAccount
	known   bool
}
