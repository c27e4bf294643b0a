package exchange

import "errors"

var (
	// ErrAbsent means that an exchange has no such order, neither open nor closed.
	ErrAbsent = errors.New("there is no such order")
	// ErrAlike means that there is an order that may be ours and does not say so, or that
	// several do.
	ErrAlike = errors.New("it cannot be told from another order")
	// ErrContradiction means that an exchange said what cannot be.
	ErrContradiction = errors.New("the exchange contradicts itself")
	// ErrUnreachable means that there was no answer that could be understood.
	ErrUnreachable = errors.New("no answer")
	// ErrNoMarket means that a coin is not sold for euro here.
	ErrNoMarket = errors.New("no market")
)

// Kind says in a word why an exchange refused a call.
type Kind string

// The kinds of a refusal.
const (
	KindFunds       Kind = "funds"       // too little on the account
	KindMinimum     Kind = "minimum"     // an order too small
	KindPrice       Kind = "price"       // a price out of range
	KindBusy        Kind = "busy"        // asked too often
	KindMaintenance Kind = "maintenance" // the exchange or the market is closed
	KindNonce       Kind = "nonce"
	KindKey         Kind = "key" // not valid, or without permission
	KindOther       Kind = "other"
)

// Refused means that an exchange refused a call and did nothing.
type Refused struct {
	Kind Kind
	Says string // the exchange's words
}

// Error implements error.
func (r *Refused) Error() string { return "refused: " + r.Says }
