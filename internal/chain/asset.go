package chain

import (
	"time"

	"chequer/internal/money"
)

// Asset is something that can be paid with, on its network. Everything here is
// data: nothing else in the program knows one asset from another.
type Asset struct {
	// Code is the wire name: "BTC", "EURC-BASE".
	Code string
	// Symbol and Name are for people: "EURC", "Euro Coin".
	Symbol string
	Name   string
	// Network is where its transfers are looked for; NetworkName is for people.
	Network     ID
	NetworkName string
	Currency    money.Currency
	// Wallet is the kind of key that its destinations come from: BTC, LTC or ETH.
	Wallet string
	// Rate is the code that prices it: every EURC is priced as EURC.
	Rate string
	// BridgeOf is the symbol of the token that a bridged token stands for, "USDC" for
	// USDbC. It is empty for everything that can be offered.
	BridgeOf string
	// Dust is the least amount that is worth sending; less is recorded and
	// changes nothing. Zero where the network has no such limit.
	Dust money.Amount
	// Scheme is the scheme of its payment links: "bitcoin", "ethereum".
	Scheme string
	// ChainID and Contract are for EVM networks; Contract is empty for the
	// network's own coin.
	ChainID  uint64
	Contract string
	// Volatile assets are held for an hour at most.
	Volatile bool
	// Doubted assets are not offered: it is not known, or not so, that the contract
	// scales amounts as Currency does.
	Doubted bool
	Policy  Policy
}

// Policy is how a network's transfers are believed. It is frozen with an
// invoice.
type Policy struct {
	// Depth asks more confirmations of more money; see Confirmations.
	Depth []Depth
	// Coinbase is how many confirmations a mined output needs at least.
	Coinbase int
	// Mempool tells that unconfirmed money is seen on the network. Without it
	// only block times count.
	Mempool bool
	// BlockGrace is added to the end of a quote where only block times count.
	BlockGrace time.Duration
	// Balance tells that the network's own coin is seen by the balances of accounts: on
	// EVM networks contracts send it without a trace that all nodes keep.
	Balance bool
	// Gas is how much of the network's own coin may come to an invoice that is
	// covered and change nothing: the merchant brings it to gather the rest. Zero for
	// assets that pay no fees.
	Gas money.Amount
}

// Depth asks for confirmations below a value in whole euro cents.
type Depth struct {
	BelowCents    int64 // 0 = any value
	Confirmations int
}

// Confirmations is how deep money of a value in euro cents must be.
func (p Policy) Confirmations(cents int64) int {
	for _, d := range p.Depth {
		if d.BelowCents == 0 || cents < d.BelowCents {
			return d.Confirmations
		}
	}
	panic("chain: policy without a last step")
}
