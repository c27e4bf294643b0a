// Package exchange sells coins for euro on a merchant's own account at an exchange:
// one small interface, and the exchanges behind it.
package exchange

import (
	"context"
	"time"

	"chequer/internal/money"
)

// Euro is euro as exchanges count it, finer than a cent.
var Euro = money.Currency{Code: "EUR", Decimals: 18}

// Coin is a coin as exchanges count it.
func Coin(code string) money.Currency { return money.Currency{Code: code, Decimals: 18} }

// Exchange is a place where coins are sold for euro. It is safe for concurrent use,
// but an account must be used by one caller at a time: its calls are numbered.
type Exchange interface {
	// Name is the word for it: "kraken".
	Name() string
	// Coins are those that are sold here, by the codes of their rates.
	Coins() []string
	// Examine tells what a key may do. An error means that it cannot be told.
	Examine(ctx context.Context, a Account) (Scope, error)
	// Market tells how a coin is sold for euro, and what is bid for it now.
	Market(ctx context.Context, coin string) (Market, error)
	// Balance tells what the account has of a coin.
	Balance(ctx context.Context, a Account, coin string) (Balance, error)
	// Window is how long after it was made an order can be carried out at all:
	// until deadline by a clock like ours, and until over whatever theirs shows.
	Window(made time.Time) (deadline, over time.Time)
	// Place sends an order that sells at once what it can at its limit or better,
	// and nothing later. The error is *Refused when the exchange says that it did not
	// take it; any other error means that it may have.
	Place(ctx context.Context, a Account, o Order) (ref string, err error)
	// Find tells what became of an order: by ref when that is known, else by its ID,
	// among what is open and what is closed. ErrAbsent means that it is nowhere now;
	// ErrContradiction that what is said of it cannot be.
	Find(ctx context.Context, a Account, o Order, ref string) (Outcome, error)
}

// Account says on whose behalf an exchange is called.
type Account struct {
	Key, Secret string
	// Nonce gives a number higher than ever before.
	Nonce func() int64
}

// Scope is what a key may do.
type Scope struct {
	Missing  []string // what selling needs and the key may not, in the exchange's words
	Withdraw []string // what lets money leave the account, in the exchange's words
	Unknown  []string // words that we do not know
}

// Order sells an amount of a coin.
type Order struct {
	ID     string // ours, a UUID
	Coin   string
	Amount money.Amount // of the coin
	Limit  money.Amount // euro for a coin at least
	Made   time.Time
	// Deadline is zero while the order has not been sent: Find then looks for an order
	// that a database put back from a backup does not know, made at any time after Made.
	Deadline time.Time
}

// Market is how a coin is sold for euro.
type Market struct {
	Open      bool         // false: nothing is sold now
	Lot       int32        // decimals of an amount
	Tick      money.Amount // of prices, in euro
	MinAmount money.Amount // of an order
	MinValue  money.Amount // of an order, in euro
	Bid       money.Amount // euro for a coin
}

// Balance is what an account has of a coin.
type Balance struct {
	Total     money.Amount // with what orders reserve
	Available money.Amount
}

// Outcome is what became of an order.
type Outcome struct {
	Ref  string // the exchange's own name for it
	Open bool   // more may come of it
	Sold money.Amount
	Euro money.Amount // for it, before the fee
	Fee  money.Amount // euro
}
