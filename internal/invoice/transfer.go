package invoice

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Presence tells whether a recorded transfer is on its network.
type Presence string

const (
	// Present is in a block or waiting for one.
	Present Presence = "present"
	// Replaced is gone before a block took it.
	Replaced Presence = "replaced"
	// Reorged was in a block that left the chain, and is nowhere now.
	Reorged Presence = "reorged"
)

// Transfer is money to a destination of the invoice, as recorded. Times are on
// the invoice's own clock.
type Transfer struct {
	ID       string
	Network  chain.ID
	Tx       string
	Asset    string
	Script   string
	Amount   money.Amount
	Spends   []string
	Coinbase bool

	Presence Presence
	// FirstSeen is our first unconfirmed sighting or, without one, the time of
	// its block. It is stored once and never moved.
	FirstSeen time.Time
	// Sighted tells that FirstSeen was before any block.
	Sighted bool
	Block   *chain.Block
	// ConfirmedAt is the time of the first block that held it; zero before.
	ConfirmedAt time.Time
	// Confirmations count up to Required.
	Confirmations int
	// Required is set at the first confirmation and not raised once the invoice
	// is paid.
	Required int
	// Old tells that its block is not younger than the invoice.
	Old bool
	// Unsure tells that its network cannot show that it is younger than the invoice:
	// a person decides.
	Unsure bool
	// Market is its fiat value at first sight, if that was after its quote's end
	// and a rate was known.
	Market *money.Amount
	// Folded is how many small transfers this one stands for, beyond those that are
	// kept one by one; 0 when it is one transfer. See fold.go.
	Folded int
}

// IsRise tells whether t is the rise of a balance.
func (t Transfer) IsRise() bool { return chain.IsRise(t.ID) }

// Confirmed tells whether t is as deep as its policy asks.
func (t Transfer) Confirmed() bool {
	return t.Presence == Present && t.Block != nil && t.Required > 0 && t.Confirmations >= t.Required
}
