package chain

import (
	"time"

	"chequer/internal/money"
)

// Asset is a coin or a token on its network. The differences between assets are data, so that a new asset needs
// no code.
type Asset struct {
	// Code is the wire name: "BTC", "EURC-BASE".
	Code string
	// Symbol and Name are for people: "EURC", "Euro Coin".
	Symbol string
	Name   string
	// Network is the network that is scanned for its transfers; NetworkName is for people.
	Network     ID
	NetworkName string
	Currency    money.Currency
	// Wallet is the kind of wallet that its destinations come from: BTC, LTC, ETH, XMR, or BTC-LN for a connection.
	Wallet string
	// Rate is the code of its exchange rate: EURC on every network has the rate of EURC.
	Rate string
	// BridgeOf is the symbol of the token that a bridged token represents, "USDC" for
	// USDbC. It is empty for every asset that can be offered.
	BridgeOf string
	// Dust is the least amount that is worth sending. A smaller transfer is recorded and
	// changes nothing. Zero if the network has no such limit.
	Dust money.Amount
	// Scheme is the scheme of its payment links: "bitcoin", "litecoin", "ethereum", "monero" or "lightning".
	Scheme string
	// ChainID and Contract are for EVM networks; Contract is empty for the
	// network's native coin.
	ChainID  uint64
	Contract string
	// Volatile assets have quotes of an hour at most.
	Volatile bool
	// Unverified assets are not offered: the decimals of the contract are unknown, or differ
	// from those of Currency.
	Unverified bool
	Policy     Policy
}

// Policy is the rules by which transfers on a network are trusted. It is frozen with an invoice.
type Policy struct {
	// Depth requires more confirmations for larger values; see Confirmations.
	Depth []Depth
	// Coinbase is the least number of confirmations for a coinbase output.
	Coinbase int
	// Mempool is true if unconfirmed transfers are seen on the network. If false, only
	// block times count.
	Mempool bool
	// BlockGrace is added to the end of a quote when Mempool is false.
	BlockGrace time.Duration
	// Balance is true if transfers of the network's native coin are found by the balances of
	// accounts: on EVM networks a contract can send the coin in an internal transaction, for which
	// nodes keep no log.
	Balance bool
	// ZeroConfirmationCents is the zero-confirmation cap: the largest value, in whole euro cents, that may count without
	// a confirmation. 0 = none.
	ZeroConfirmationCents int64
	// Gas is the amount of the network's native coin that may arrive for a fully paid invoice
	// without any effect: the merchant sends it to pay the fee of a sweep. Zero for assets
	// that pay no fees.
	Gas money.Amount
}

// Depth is the number of confirmations required for values below BelowCents. BelowCents is in euro cents.
type Depth struct {
	BelowCents    int64 // 0 = any value
	Confirmations int
}

// Deeper returns a policy in which each range of values needs the confirmations of the range that is the given
// number of ranges higher in p. The largest number of confirmations stays the same, so that the cursors of
// networks are still far enough below the tip.
func (p Policy) Deeper(ranges int) Policy {
	if ranges == 0 {
		return p
	}
	deeper := make([]Depth, len(p.Depth))
	for i, d := range p.Depth {
		deeper[i] = Depth{BelowCents: d.BelowCents, Confirmations: p.Depth[min(i+ranges, len(p.Depth)-1)].Confirmations}
	}
	p.Depth = deeper
	return p
}

// Confirmations returns the number of confirmations that a value in euro cents needs. It panics if p has no Depth for any value.
func (p Policy) Confirmations(cents int64) int {
	for _, d := range p.Depth {
		if d.BelowCents == 0 || cents < d.BelowCents {
			return d.Confirmations
		}
	}
	panic("chain: policy without a Depth for any value")
}
