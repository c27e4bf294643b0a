package sale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/exchange"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// DefaultCoins are the coins that are sold by default: those with a varying price.
var DefaultCoins = []string{"BTC", "ETH", "LTC"}

// Default settings, and the maximum slippage in hundredths of a percent.
const (
	DefaultSmallest = "0"
	DefaultSlippage = 200
	maxSlippage     = 2000
)

// ErrUnknownExchange means that there is no exchange with that name.
var ErrUnknownExchange = errors.New("there is no such exchange")

// ScopeError means that a key has too many or too few permissions.
type ScopeError struct{ exchange.Scope }

// Error implements error.
func (e *ScopeError) Error() string {
	switch {
	case len(e.Withdraw) > 0:
		return fmt.Sprintf("the key can withdraw money from the account (%s): create a key without these permissions, which Chequer does not need", strings.Join(e.Withdraw, ", "))
	case len(e.Unknown) > 0:
		return fmt.Sprintf("the key has permissions that Chequer does not know (%s) and may allow withdrawals: create a key without them", strings.Join(e.Unknown, ", "))
	}
	return fmt.Sprintf("the key lacks permissions that selling needs: %s", strings.Join(e.Missing, ", "))
}

// checkScope returns a *ScopeError unless a key has exactly the needed permissions.
func checkScope(s exchange.Scope) error {
	if len(s.Withdraw) > 0 || len(s.Unknown) > 0 || len(s.Missing) > 0 {
		return &ScopeError{s}
	}
	return nil
}

// AccountStorage stores exchange accounts.
type AccountStorage interface {
	merchant.ExchangeStorage
	// NextNonce reserves nonces for calls of a current account.
	NextNonce(ctx context.Context, accountID string, now time.Time) (int64, error)
}

// AccountsConfig holds the dependencies of Accounts.
type AccountsConfig struct {
	Storage   AccountStorage
	Exchanges []exchange.Exchange
	Now       func() time.Time
	// Token returns random letters and digits.
	Token func(length int) string
}

// Accounts changes merchants' exchange accounts. It is safe for concurrent use.
type Accounts struct {
	storage   AccountStorage
	exchanges []exchange.Exchange
	now       func() time.Time
	token     func(length int) string
}

// NewAccounts returns a new Accounts.
func NewAccounts(c AccountsConfig) *Accounts {
	return &Accounts{storage: c.Storage, exchanges: c.Exchanges, now: c.Now, token: c.Token}
}

// Exchanges returns the names of the exchanges.
func (s *Accounts) Exchanges() []string {
	var names []string
	for _, x := range s.exchanges {
		names = append(names, x.Name())
	}
	return names
}

// Settings are the terms of a merchant's sales.
type Settings struct {
	Coins    []string
	Smallest string // in euro, plain digits
	Slippage int64  // in hundredths of a percent
}

// Add adds an account of the merchant. It is inactive at first. If its key may not sell or may
// withdraw, Add returns a *ScopeError. Other errors include ErrUnknownExchange and
// merchant.ErrExists.
func (s *Accounts) Add(ctx context.Context, merchantID, name, key, secret string, set Settings) (merchant.ExchangeAccount, error) {
	x, err := s.exchange(name)
	if err != nil {
		return merchant.ExchangeAccount{}, err
	}
	a := merchant.ExchangeAccount{
		ID: "xch_" + s.token(16), MerchantID: merchantID, Exchange: name, Key: key, Secret: secret, CreatedAt: s.now(),
		Coins: set.Coins, Smallest: set.Smallest, Slippage: set.Slippage,
	}
	if err := checkSettings(x, a); err != nil {
		return a, err
	}
	if _, err := s.storage.ExchangeAccount(ctx, merchantID); !errors.Is(err, merchant.ErrNotFound) {
		return a, errors.Join(err, merchant.ErrExists)
	}
	scope, err := x.Examine(ctx, accountForCalls(a, s.now().UnixMicro()))
	if err != nil {
		return a, fmt.Errorf("ask %s what the key may do: %w", name, err)
	}
	if err := checkScope(scope); err != nil {
		return a, err
	}
	if err := s.storage.CreateExchangeAccount(ctx, a); err != nil {
		return a, fmt.Errorf("add exchange account: %w", err)
	}
	return a, nil
}

// Account returns the merchant's current account, or merchant.ErrNotFound.
func (s *Accounts) Account(ctx context.Context, merchantID string) (merchant.ExchangeAccount, error) {
	return s.storage.ExchangeAccount(ctx, merchantID)
}

// Examine checks the current permissions of the key of the merchant's account.
func (s *Accounts) Examine(ctx context.Context, a merchant.ExchangeAccount) error {
	x, err := s.exchange(a.Exchange)
	if err != nil {
		return err
	}
	nonce, err := s.storage.NextNonce(ctx, a.ID, s.now())
	if err != nil {
		return err
	}
	scope, err := x.Examine(ctx, accountForCalls(a, nonce))
	if err != nil {
		return fmt.Errorf("ask %s what the key may do: %w", a.Exchange, err)
	}
	return checkScope(scope)
}

// Switch turns the sale of new payments on or off.
func (s *Accounts) Switch(ctx context.Context, merchantID string, on bool) (merchant.ExchangeAccount, error) {
	return s.storage.UpdateExchangeAccount(ctx, merchantID, func(a *merchant.ExchangeAccount) error {
		a.Active = on
		return nil
	})
}

// Change changes the terms of sale of new invoices.
func (s *Accounts) Change(ctx context.Context, merchantID string, change func(*Settings)) (merchant.ExchangeAccount, error) {
	return s.storage.UpdateExchangeAccount(ctx, merchantID, func(a *merchant.ExchangeAccount) error {
		set := Settings{Coins: a.Coins, Smallest: a.Smallest, Slippage: a.Slippage}
		change(&set)
		a.Coins, a.Smallest, a.Slippage = set.Coins, set.Smallest, set.Slippage
		x, err := s.exchange(a.Exchange)
		if err != nil {
			return err
		}
		return checkSettings(x, *a)
	})
}

// Remove archives the account and deletes its secret. It returns merchant.ErrBusy while an order is
// open. Waiting sales continue with the next account.
func (s *Accounts) Remove(ctx context.Context, merchantID string) (merchant.ExchangeAccount, error) {
	return s.storage.UpdateExchangeAccount(ctx, merchantID, func(a *merchant.ExchangeAccount) error {
		a.ArchivedAt, a.Secret = s.now(), ""
		return nil
	})
}

func (s *Accounts) exchange(name string) (exchange.Exchange, error) {
	i := slices.IndexFunc(s.exchanges, func(x exchange.Exchange) bool { return x.Name() == name })
	if i < 0 {
		return nil, fmt.Errorf("%w as %q; there are %s", ErrUnknownExchange, name, strings.Join(s.Exchanges(), ", "))
	}
	return s.exchanges[i], nil
}

// checkSettings returns an error if an account's settings are invalid.
func checkSettings(x exchange.Exchange, a merchant.ExchangeAccount) error {
	if a.Key == "" || a.Secret == "" || strings.ContainsFunc(a.Key+a.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the key and its secret must be visible ASCII characters without spaces")
	}
	if len(a.Coins) == 0 {
		return errors.New("no coin is named for sale")
	}
	for i, coin := range a.Coins {
		switch {
		case !invoice.Sellable(coin):
			return fmt.Errorf("%s is euro already, and never sold", coin)
		case !slices.Contains(x.Coins(), coin):
			return fmt.Errorf("%s does not sell %q for euro; it sells %s", x.Name(), coin, strings.Join(x.Coins(), ", "))
		case slices.Contains(a.Coins[:i], coin):
			return fmt.Errorf("%s is named twice", coin)
		}
	}
	if _, err := money.Parse(a.Smallest, money.EUR); err != nil {
		return fmt.Errorf("the smallest sale must be an amount of euro such as 10 or 12.50, not %q", a.Smallest)
	}
	if a.Slippage < 1 || a.Slippage > maxSlippage {
		return fmt.Errorf("the slippage must be from 0.01 to %d percent", maxSlippage/100)
	}
	return nil
}

// ParseSlippage parses a percentage, such as "2" or "0.5", into hundredths of a percent.
func ParseSlippage(text string) (int64, error) {
	a, err := money.Parse(text, money.Currency{Code: "percent", Decimals: 2})
	if err != nil || !a.Minor().IsInt64() {
		return 0, fmt.Errorf("the slippage must be a percentage such as 2 or 0.5, not %q", text)
	}
	return a.Cents(), nil
}

// SlippageText formats hundredths of a percent as ParseSlippage reads them.
func SlippageText(hundredths int64) string {
	return money.FromCents(hundredths, money.Currency{Code: "percent", Decimals: 2}).String()
}
