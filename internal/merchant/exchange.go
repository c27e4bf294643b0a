package merchant

import (
	"context"
	"errors"
	"time"
)

// ExchangeAccount is a merchant's own account at an exchange, with the settings for selling
// received coins there.
type ExchangeAccount struct {
	ID         string
	MerchantID string
	Exchange   string // "kraken"
	Key        string
	Secret     string   // sealed in storage
	Coins      []string // coins to sell, by the codes of their rates
	Smallest   string   // minimum value of a sale in euro, in plain digits
	Slippage   int64    // hundredths of a percent below an invoice's rate
	Active     bool     // if false, nothing is sold, and waiting sales keep waiting
	CreatedAt  time.Time
	ArchivedAt time.Time // zero while it is not archived
}

// ErrBusy means that an order is in progress, or its outcome is not known yet.
var ErrBusy = errors.New("an order is in progress, or its outcome is not known yet")

// ExchangeStorage stores exchange accounts. Rows are sealed and verified as in Storage. It is safe
// for concurrent use.
type ExchangeStorage interface {
	// CreateExchangeAccount writes an account, or returns ErrExists if the merchant has one.
	CreateExchangeAccount(ctx context.Context, a ExchangeAccount) error
	// ExchangeAccount returns the merchant's current account, or ErrNotFound.
	ExchangeAccount(ctx context.Context, merchantID string) (ExchangeAccount, error)
	// UpdateExchangeAccount locks the current account, calls change, and writes the result. It
	// returns ErrNotFound if there is none, and ErrBusy if change archives an account with an order of unknown
	// outcome.
	UpdateExchangeAccount(ctx context.Context, merchantID string, change func(*ExchangeAccount) error) (ExchangeAccount, error)
}

// Exchange returns the merchant's current exchange account, or ErrNotFound. It is cached like keys.
func (s *Service) Exchange(ctx context.Context, merchantID string) (ExchangeAccount, error) {
	f, err := s.exchange.get(merchantID, func() (exchangeFound, error) {
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

// exchangeFound is an account, or the fact that there is none, which is cached as well since most
// merchants have none.
type exchangeFound struct {
	account ExchangeAccount
	known   bool
}
