package exchange

import "errors"

var (
	// ErrNotFound means that an exchange has no such order, neither open nor closed.
	ErrNotFound = errors.New("there is no such order")
	// ErrAmbiguous means that an order without a name may be the order that is searched, or that
	// several orders have its name.
	ErrAmbiguous = errors.New("it cannot be distinguished from another order")
	// ErrContradiction means that an exchange returned impossible data.
	ErrContradiction = errors.New("the exchange contradicts itself")
	// ErrNoAnswer means that there was no valid answer.
	ErrNoAnswer = errors.New("no answer")
	// ErrNoMarket means that the exchange does not trade a coin for euro.
	ErrNoMarket = errors.New("no market")
)

// Kind is the kind of reason for which an exchange refused a call.
type Kind string

// The kinds of a refusal.
const (
	KindFunds       Kind = "funds"       // insufficient funds on the account
	KindMinimum     Kind = "minimum"     // the order is too small
	KindPrice       Kind = "price"       // the price is out of range
	KindBusy        Kind = "busy"        // the rate limit was reached
	KindMaintenance Kind = "maintenance" // the exchange or the market is closed
	KindNonce       Kind = "nonce"
	KindKey         Kind = "key" // the key is invalid or lacks a permission
	KindOther       Kind = "other"
)

// RefusedError means that an exchange refused a call and did nothing.
type RefusedError struct {
	Kind    Kind
	Message string // text of the exchange
}

// Error implements error.
func (e *RefusedError) Error() string { return "refused: " + e.Message }
