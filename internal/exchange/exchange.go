// Package exchange sells coins for euro on a merchant's own account at an exchange: a small
// interface and its implementations.
package exchange

import (
	"context"
	"time"

	"chequer/internal/money"
)

// Euro is the euro in amounts of exchanges, which are finer than a cent.
var Euro = money.Currency{Code: "EUR", Decimals: 18}

// Coin returns the currency of a coin in amounts of exchanges.
func Coin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// Exchange is an exchange at which coins are sold for euro. It is safe for concurrent use, but each
// account must be used by only one caller at a time, because its calls are numbered.
type Exchange interface {
	// Name returns the exchange's name, such as "kraken".
	Name() string
	// Coins returns the coins that can be sold, by their rate codes.
	Coins() []string
	// Examine returns the permissions of a key. An error means that they are unknown.
	Examine(ctx context.Context, a Account) (Scope, error)
	// Market returns the rules of the market of a coin in euro, and its current bid.
	Market(ctx context.Context, coin string) (Market, error)
	// Balance returns the account's balance of a coin.
	Balance(ctx context.Context, a Account, coin string) (Balance, error)
	// Window returns the deadline of an order by the local clock, and the time end after which
	// the order cannot be executed even if the exchange's clock differs.
	Window(createdAt time.Time) (deadline, end time.Time)
	// Place sends an order that sells immediately as much as possible at its limit or better, and
	// cancels the rest. The error is *RefusedError if the exchange refused the order. After any other
	// error the order may have been accepted.
	Place(ctx context.Context, a Account, o Order) (ref string, err error)
	// Find returns the outcome of an open or closed order. It searches by ref, or by the order's
	// ID if ref is empty. ErrNotFound means that the order does not exist. ErrContradiction means
	// that its data is impossible.
	Find(ctx context.Context, a Account, o Order, ref string) (Outcome, error)
}

// Account identifies an account at an exchange.
type Account struct {
	Key, Secret string
	// Nonce returns a number higher than all numbers before.
	Nonce func() int64
}

// Scope lists the permissions of a key.
type Scope struct {
	Missing  []string // permissions that selling needs and the key lacks, in the exchange's words
	Withdraw []string // permissions to withdraw money, in the exchange's words
	Unknown  []string // unknown permissions, in the exchange's words
}

// Order is an order to sell an amount of a coin.
type Order struct {
	ID        string // the name that Chequer gives to the order, a UUID
	Coin      string
	Amount    money.Amount // of the coin
	Limit     money.Amount // lowest price of a coin in euro
	CreatedAt time.Time
	// Deadline is zero before the order is sent. For such an order Find searches without an upper
	// limit of the time, because the database may be a restored backup from before it was sent.
	Deadline time.Time
}

// Market is the market of a coin in euro.
type Market struct {
	Open      bool         // false: nothing can be sold now
	Lot       int32        // decimals of an amount
	Tick      money.Amount // of prices, in euro
	MinAmount money.Amount // of an order
	MinValue  money.Amount // of an order, in euro
	Bid       money.Amount // price of a coin in euro
}

// Balance is an account's balance of a coin.
type Balance struct {
	Total     money.Amount // including what open orders reserve
	Available money.Amount
}

// Outcome is the state of an order.
type Outcome struct {
	Ref  string // the exchange's identifier
	Open bool   // the order may still be executed
	Sold money.Amount
	Euro money.Amount // proceeds before the fee
	Fee  money.Amount // in euro
}
