package invoice

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Presence is the state of a recorded transfer on its network.
type Presence string

const (
	// Present transfers are in a block or unconfirmed.
	Present Presence = "present"
	// Replaced transfers disappeared before they were in a block.
	Replaced Presence = "replaced"
	// Reorged transfers were in a block that left the chain, and are in no other block.
	Reorged Presence = "reorged"
)

// Transfer is a recorded transfer to a destination of the invoice. Times are on the invoice's own
// clock.
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
	// FirstSeen is our first unconfirmed sighting or, without one, the time of its block. It is
	// stored once and never changed.
	FirstSeen time.Time
	// Sighted is true if the transfer was seen before it was in a block.
	Sighted bool
	Block   *chain.Block
	// ConfirmedAt is the time of the first block that contained it; zero before.
	ConfirmedAt time.Time
	// Confirmations count up to Required.
	Confirmations int
	// Required is set at the first confirmation and not raised once the invoice is paid.
	Required int
	// Old is true if the transfer is older than the invoice.
	Old bool
	// Unsure is true if the network cannot show that the transfer is younger than the invoice, so
	// that the merchant decides.
	Unsure bool
	// Market is the fiat value at first sight, if that was after the quote's end and a rate was
	// known.
	Market *money.Amount
	// Folded is the number of small transfers in an aggregate; 0 for a single transfer. See fold.go.
	Folded int
}

// IsRise reports whether t is the rise of a balance.
func (t Transfer) IsRise() bool { return chain.IsRise(t.ID) }

// Confirmed reports whether t is as deep as its policy requires.
func (t Transfer) Confirmed() bool {
	return t.Presence == Present && t.Block != nil && t.Required > 0 && t.Confirmations >= t.Required
}
