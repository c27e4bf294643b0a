package invoice

import (
	"time"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// Method is one way of paying: an asset and where it must go.
type Method struct {
	Asset       chain.Asset
	Destination chain.Destination
	Index       uint32 // of the destination under its wallet's key
	// Birth is the network's tip when the invoice was made: money in it or below
	// is older than the invoice and never counts. Zero when no tip was known.
	Birth chain.Cursor
	// Forked tells that the birth block left the chain and Birth is a place below
	// the fork, so that the time of blocks above it must be looked at, too.
	Forked bool
	// Watched is false when nobody looked for money here at creation.
	Watched bool
}

// Elsewhere is a network that is not offered, where a destination is the merchant's
// all the same, as on all EVM networks: money that is sent there by mistake is
// seen. The invoice waits for no such network.
type Elsewhere struct {
	Network chain.ID
	Script  string
	Index   uint32
}

// Quote is one frozen offer of prices for what was due when it was made.
type Quote struct {
	Number int
	From   time.Time
	Until  time.Time
	Due    money.Amount // fiat
	Prices []Price
	Source string // where the rates came from
	// Evidence names what they rest on, see Service.Evidence; "" for fixed ones.
	Evidence string
}

// Price is what one method costs under a quote.
type Price struct {
	Asset    string
	Expected money.Amount
	EUR      money.Rate
	USD      money.Rate
	Other    money.Rate // in the invoice's currency, where that is neither
}

// Rate is the price in fiat, which is euro, dollar or the invoice's currency.
func (p Price) Rate(fiat money.Currency) money.Rate {
	switch fiat {
	case money.EUR:
		return p.EUR
	case money.USD:
		return p.USD
	}
	return p.Other
}

// Price finds the price of an asset.
func (q Quote) Price(asset string) (Price, bool) {
	for _, p := range q.Prices {
		if p.Asset == asset {
			return p, true
		}
	}
	return Price{}, false
}

// Rest is what is still to be sent by a method: its expected amount less the
// share that is already counted, rounded up as the amount itself was, and never
// below what the network carries. Zero when nothing is due.
func (inv *Invoice) Rest(m Method) money.Amount {
	return inv.rest(m, inv.ledger())
}

// shownDecimals is how many decimals of a coin are offered at most.
const shownDecimals = 8
